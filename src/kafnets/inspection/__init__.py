"""What was learned: records of functions, snapshots of them, descriptions in words, and pictures."""

from kafnets.inspection.curves import LearnedFunctions as LearnedFunctions
from kafnets.inspection.curves import from_arrays as from_arrays
from kafnets.inspection.describe import describe as describe
from kafnets.inspection.recorder import learned_functions as learned_functions
