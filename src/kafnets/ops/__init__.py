"""One entry point an expansion. How it runs is decided in :mod:`kafnets.ops.dispatch` and nowhere else."""

from kafnets.ops.backends import Backend as Backend
from kafnets.ops.backends import backend as backend
from kafnets.ops.backends import set_backend as set_backend
from kafnets.ops.backends import use_backend as use_backend
from kafnets.ops.dispatch import can_be_fused as can_be_fused
from kafnets.ops.dispatch import kaf as kaf
from kafnets.ops.dispatch import kaf2d as kaf2d
from kafnets.ops.grid import Grid as Grid
from kafnets.ops.hinges import hinge_sum as hinge_sum
from kafnets.ops.recurrences import hermite_sum as hermite_sum
from kafnets.ops.recurrences import power_sum as power_sum
from kafnets.ops.splines import piecewise_cubic as piecewise_cubic
