"""Preparation of features as in the paper: gaps to the median, then linearly to [-1, 1]."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Scaling:
    """What was learned from the training part, column by column."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    median: NDArray[np.float64]

    @classmethod
    def of(cls, features: NDArray[np.floating]) -> "Scaling":
        """From the training part, and it alone. NaN is a gap; a column of nothing but gaps is refused."""
        flat = features.reshape(len(features), -1).astype(np.float64)
        if np.isinf(flat).any():
            columns = np.flatnonzero(np.isinf(flat).any(0))
            raise ValueError(f"infinite values in column number {', '.join(map(str, columns))}: replace them")
        empty = np.flatnonzero(np.isnan(flat).all(0))
        if empty.size:
            raise ValueError(
                f"column number {', '.join(map(str, empty))} holds only gaps in the training part: drop it"
            )
        return cls(np.nanmin(flat, 0), np.nanmax(flat, 0), np.nanmedian(flat, 0))

    def apply(self, features: NDArray[np.floating]) -> NDArray[np.float32]:
        """Scaled, without gaps. A column that was constant becomes 0; new extremes go beyond -1 and 1."""
        flat = features.reshape(len(features), -1).astype(np.float64)
        filled = np.where(np.isnan(flat), self.median, flat)
        span = self.high - self.low
        scaled = np.where(span > 0, 2 * (filled - self.low) / np.where(span > 0, span, 1.0) - 1, 0.0)
        return scaled.astype(np.float32).reshape(features.shape)
