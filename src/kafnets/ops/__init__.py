"""One entry point an expansion. How it runs is decided here and nowhere else."""

from kafnets.ops.dispatch import kaf as kaf
from kafnets.ops.dispatch import kaf2d as kaf2d
