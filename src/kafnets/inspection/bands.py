"""Means over runs, epoch by epoch."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def band(series: Sequence[Sequence[float]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and deviation at each epoch.

    Runs that stopped early go on with their last value, so that the mean does not jump where one ends.
    """
    longest = max(map(len, series))
    table = np.array([[*values, *[values[-1]] * (longest - len(values))] for values in series], dtype=float)
    deviation = table.std(0, ddof=1) if len(table) > 1 else np.zeros(longest)
    return table.mean(0), deviation
