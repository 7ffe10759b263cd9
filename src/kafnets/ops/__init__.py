"""Formulas on torch tensors. How they run is decided in :mod:`kafnets.ops.dispatch` and nowhere else."""

from kafnets.ops.backends import Backend as Backend
from kafnets.ops.backends import backend as backend
from kafnets.ops.backends import set_backend as set_backend
from kafnets.ops.backends import use_backend as use_backend
from kafnets.ops.bells import bell_sum as bell_sum
from kafnets.ops.cubics import piecewise_cubic as piecewise_cubic
from kafnets.ops.dispatch import apply as apply
from kafnets.ops.hermite import hermite_sum as hermite_sum
from kafnets.ops.hinges import hinge_sum as hinge_sum
from kafnets.ops.kaf2d import formula_of as formula_of
from kafnets.ops.powers import power_sum as power_sum
