"""Preparation of features as in the paper: gaps to the median, then linearly to [-1, 1]."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FARTHEST = 1e30


@dataclass(frozen=True)
class Scaling:
    """What was learned from the training part, column by column."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    median: NDArray[np.float64]

    @classmethod
    def of(cls, features: NDArray[np.floating]) -> "Scaling":
        """From the training part, and it alone. NaN is a gap; a column of nothing but gaps is refused."""
        flat = features.reshape(len(features), -1)
        infinite = np.flatnonzero([np.isinf(column).any() for column in flat.T])
        if infinite.size:
            raise ValueError(f"infinite values in column number {_listed(infinite)}: replace them")
        empty = np.flatnonzero([np.isnan(column).all() for column in flat.T])
        if empty.size:
            raise ValueError(f"column number {_listed(empty)} holds only gaps in the training part: drop it")
        # Column by column: millions of rows in float64, all at once, would take gigabytes.
        low, high, median = (
            np.array([function(column.astype(np.float64)) for column in flat.T])
            for function in (np.nanmin, np.nanmax, np.nanmedian)
        )
        return cls(low, high, median)

    def apply(self, features: NDArray[np.floating]) -> NDArray[np.float32]:
        """Scaled, without gaps. A column that was constant becomes 0; new extremes go beyond -1 and 1."""
        flat = features.reshape(len(features), math.prod(features.shape[1:]))
        scaled = np.empty(flat.shape, dtype=np.float32)
        for number, (low, high, median) in enumerate(zip(self.low, self.high, self.median, strict=True)):
            column = flat[:, number].astype(np.float64)
            column[np.isnan(column)] = median
            if high > low:
                # What is far beyond all that was seen stays finite.
                scaled[:, number] = (2 * (column - low) / (high - low) - 1).clip(-FARTHEST, FARTHEST)
            else:
                scaled[:, number] = 0.0
        return scaled.reshape(features.shape)


def _listed(numbers: NDArray[np.intp]) -> str:
    return ", ".join(map(str, numbers))
