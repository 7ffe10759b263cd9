"""Preparation of features: gaps to the median, then all columns to one scale."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from kafnets.data.numbers import LARGEST

FARTHEST = 1e30
"""What is far beyond all that was seen stays finite."""

CLIPPED_AT = 3.0
"""Robustly scaled features stay between minus this and this."""


@dataclass(frozen=True)
class Scaling(ABC):
    """What was learned from the training part, column by column."""

    median: NDArray[np.float64]

    kind: ClassVar[str]

    @classmethod
    def of(cls, features: NDArray[np.floating]) -> Self:
        """From the training part, and it alone. NaN is a gap; a column of nothing but gaps is refused."""
        flat = features.reshape(len(features), -1)
        huge = np.flatnonzero([(np.abs(column) > np.float64(LARGEST)).any() for column in flat.T])
        if huge.size:
            raise ValueError(
                f"values are infinite or beyond ±{LARGEST:g} in column number {_listed(huge)}: replace them"
            )
        empty = np.flatnonzero([np.isnan(column).all() for column in flat.T])
        if empty.size:
            raise ValueError(
                f"column number {_listed(empty)} has missing values only in the training part: drop it"
            )
        # Column by column: millions of rows in float64, all at once, would take gigabytes.
        learned = [cls._learned(column[~np.isnan(column)].astype(np.float64)) for column in flat.T]
        return cls(**{each.name: np.array([own[each.name] for own in learned]) for each in fields(cls)})

    def apply(self, features: NDArray[np.floating]) -> NDArray[np.float32]:
        """Scaled, without gaps. A column that was constant becomes 0."""
        flat = features.reshape(len(features), math.prod(features.shape[1:]))
        scaled = np.empty(flat.shape, dtype=np.float32)
        for number, median in enumerate(self.median):
            column = flat[:, number].astype(np.float64)
            column[np.isnan(column)] = median
            scaled[:, number] = self._scaled(column, number)
        return scaled.reshape(features.shape)

    def original(self, number: int, scaled: NDArray[np.float64]) -> NDArray[np.float64]:
        """What values of one column were before they were scaled. A constant column is its median."""
        return np.asarray(self._original(np.asarray(scaled, dtype=np.float64), number))

    def describe(self) -> dict[str, Any]:
        """In numbers and text, for a file; :func:`described` takes it back."""
        return {"kind": self.kind} | {each.name: getattr(self, each.name).tolist() for each in fields(self)}

    @staticmethod
    @abstractmethod
    def _learned(column: NDArray[np.float64]) -> dict[str, float]:
        """The fields, from the values of a column that are no gaps."""

    @abstractmethod
    def _scaled(self, column: NDArray[np.float64], number: int) -> NDArray[np.float64]:
        """The values of a column, none of them a gap."""

    @abstractmethod
    def _original(self, column: NDArray[np.float64], number: int) -> NDArray[np.float64]:
        """The inverse of :meth:`_scaled`."""


@dataclass(frozen=True)
class RangeScaling(Scaling):
    """Linearly to [-1, 1], as in the paper; new extremes go beyond."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    kind = "range"

    @staticmethod
    def _learned(column: NDArray[np.float64]) -> dict[str, float]:
        return {"median": float(np.median(column)), "low": float(column.min()), "high": float(column.max())}

    def _scaled(self, column: NDArray[np.float64], number: int) -> NDArray[np.float64]:
        low, high = self.low[number], self.high[number]
        if not high > low:
            return np.zeros_like(column)
        return np.asarray((2 * (column - low) / (high - low) - 1).clip(-FARTHEST, FARTHEST))

    def _original(self, column: NDArray[np.float64], number: int) -> NDArray[np.float64]:
        return np.asarray(self.low[number] + (column + 1) / 2 * (self.high[number] - self.low[number]))


@dataclass(frozen=True)
class RobustScaling(Scaling):
    """By median and quartiles, so that a few far values do not squeeze all others together.

    z = (x - median) / spread, then z / sqrt(1 + (z / 3)²), which is z near 0 and never beyond -3 and 3. The
    spread is the distance between the quartiles; where that is 0, as in a sparse column, half the range.
    """

    spread: NDArray[np.float64]

    kind = "robust"

    @staticmethod
    def _learned(column: NDArray[np.float64]) -> dict[str, float]:
        first, median, third = np.quantile(column, (0.25, 0.5, 0.75))
        spread = third - first if third > first else (column.max() - column.min()) / 2
        return {"median": float(median), "spread": float(spread)}

    def _scaled(self, column: NDArray[np.float64], number: int) -> NDArray[np.float64]:
        spread = self.spread[number]
        if not spread > 0:
            return np.zeros_like(column)
        with np.errstate(over="ignore"):
            far = ((column - self.median[number]) / spread).clip(-FARTHEST, FARTHEST)
        return np.asarray(far / np.sqrt(1 + (far / CLIPPED_AT) ** 2))

    def _original(self, column: NDArray[np.float64], number: int) -> NDArray[np.float64]:
        near = 1 - (column / CLIPPED_AT) ** 2
        far = column / np.sqrt(near.clip(np.finfo(np.float32).eps))  # what is rounded to the edge: far away
        return np.asarray(self.median[number] + far * self.spread[number])


SCALINGS: dict[str, type[Scaling]] = {each.kind: each for each in (RangeScaling, RobustScaling)}
"""By name."""


def scaling_called(kind: str) -> type[Scaling]:
    """The one of that name."""
    if kind not in SCALINGS:
        raise ValueError(f"scaling must be {' or '.join(map(repr, SCALINGS))}, got {kind!r}")
    return SCALINGS[kind]


def described(content: Mapping[str, Any]) -> Scaling:
    """From what :meth:`Scaling.describe` gave. Files from before there were several name no kind."""
    values = {name: np.array(each) for name, each in content.items() if name != "kind"}
    return scaling_called(content.get("kind", RangeScaling.kind))(**values)


def _listed(numbers: NDArray[np.intp]) -> str:
    return ", ".join(map(str, numbers))
