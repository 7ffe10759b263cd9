"""The oracle: every formula of the package once more, in NumPy and float64, written to be read.

Nothing here is fast. The tests compare everything that is fast, gradients included, with these
functions, which share no code with the package. The channel axis is always the last one.
"""

from tests.oracle import activations as activations
from tests.oracle.dictionaries import (
    bandwidth_rule_of_thumb as bandwidth_rule_of_thumb,
)
from tests.oracle.dictionaries import equispaced as equispaced
from tests.oracle.dictionaries import spacing as spacing
from tests.oracle.expansions import edgewise_kaf as edgewise_kaf
from tests.oracle.expansions import edgewise_kaf_gradients as edgewise_kaf_gradients
from tests.oracle.expansions import kaf as kaf
from tests.oracle.expansions import kaf2d as kaf2d
from tests.oracle.expansions import kaf2d_gradients as kaf2d_gradients
from tests.oracle.expansions import kaf_gradients as kaf_gradients
from tests.oracle.initializers import kernel_matrix as kernel_matrix
from tests.oracle.initializers import kernel_matrix2d as kernel_matrix2d
from tests.oracle.initializers import kernel_ridge as kernel_ridge
from tests.oracle.initializers import least_squares_ridge as least_squares_ridge
from tests.oracle.kernels import Gaussian as Gaussian
from tests.oracle.kernels import GaussianDerivative as GaussianDerivative
from tests.oracle.kernels import Kernel as Kernel
from tests.oracle.kernels import Kernel2D as Kernel2D
from tests.oracle.kernels import Periodic as Periodic
from tests.oracle.kernels import Polynomial as Polynomial
from tests.oracle.kernels import ReLUKernel as ReLUKernel
from tests.oracle.kernels import Softplus as Softplus
from tests.oracle.kernels import twin as twin
