"""Neural networks whose activation functions are learned."""

from kafnets.kernels import Gaussian as Gaussian
from kafnets.kernels import Kernel as Kernel
from kafnets.kernels import Periodic as Periodic
from kafnets.kernels import Polynomial as Polynomial
from kafnets.kernels import ReLUKernel as ReLUKernel
from kafnets.kernels import Softplus as Softplus
from kafnets.nn.expansions import KAF as KAF
from kafnets.nn.expansions import KAF2D as KAF2D
from kafnets.nn.initializers import Initializer as Initializer
from kafnets.nn.initializers import Normal as Normal
from kafnets.nn.initializers import Ridge as Ridge
from kafnets.nn.regularization import param_groups as param_groups
from kafnets.nn.regularization import penalty as penalty
from kafnets.ops import Backend as Backend
from kafnets.ops import backend as backend
from kafnets.ops import set_backend as set_backend
from kafnets.ops import use_backend as use_backend

__version__ = "0.1.0"
