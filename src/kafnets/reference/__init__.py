"""The oracle: every formula of the package once, in NumPy and float64, written to be read.

Nothing here is fast. The tests compare everything that is fast, gradients included, with these
functions. The channel axis is always the last one.
"""

from kafnets.reference import activations as activations
from kafnets.reference.dictionaries import (
    bandwidth_rule_of_thumb as bandwidth_rule_of_thumb,
)
from kafnets.reference.dictionaries import equispaced as equispaced
from kafnets.reference.dictionaries import spacing as spacing
from kafnets.reference.expansions import edgewise_kaf as edgewise_kaf
from kafnets.reference.expansions import edgewise_kaf_gradients as edgewise_kaf_gradients
from kafnets.reference.expansions import kaf as kaf
from kafnets.reference.expansions import kaf2d as kaf2d
from kafnets.reference.expansions import kaf2d_gradients as kaf2d_gradients
from kafnets.reference.expansions import kaf_gradients as kaf_gradients
from kafnets.reference.initializers import kernel_matrix as kernel_matrix
from kafnets.reference.initializers import kernel_matrix2d as kernel_matrix2d
from kafnets.reference.initializers import kernel_ridge as kernel_ridge
from kafnets.reference.initializers import least_squares_ridge as least_squares_ridge
from kafnets.reference.kernels import Gaussian as Gaussian
from kafnets.reference.kernels import Kernel as Kernel
from kafnets.reference.kernels import Kernel2D as Kernel2D
from kafnets.reference.kernels import Periodic as Periodic
from kafnets.reference.kernels import Polynomial as Polynomial
from kafnets.reference.kernels import ReLUKernel as ReLUKernel
from kafnets.reference.kernels import Softplus as Softplus
