"""Our estimators without an ingredient of their recipe that no argument of theirs switches off."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from kafnets.data.scaling import FARTHEST, RobustScaling, Scaling
from kafnets.sklearn import KafnetClassifier, KafnetRegressor
from kafnets.sklearn.base import Kafnet
from kafnets.train import members
from kafnets.train.settings import Settings


@dataclass(frozen=True)
class Standardization(Scaling):
    """To mean 0 and standard deviation 1. Gaps are filled with medians, and a constant column becomes 0."""

    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]

    kind = "standard"

    @staticmethod
    def _learned(column: NDArray[np.float64]) -> dict[str, float]:
        return {
            "median": float(np.median(column)),
            "mean": float(column.mean()),
            "deviation": float(column.std()),
        }

    def _scaled(self, column: NDArray[np.float64], number: int) -> NDArray[np.float64]:
        if not self.deviation[number] > 0:
            return np.zeros_like(column)
        scaled = (column - self.mean[number]) / self.deviation[number]
        return np.asarray(scaled.clip(-FARTHEST, FARTHEST))

    def _original(self, column: NDArray[np.float64], number: int) -> NDArray[np.float64]:
        return np.asarray(self.mean[number] + column * self.deviation[number])


class Variant(Kafnet):
    """An estimator whose recipe is changed."""

    changes: Mapping[str, Any]
    """Of its settings, by name."""

    standardized: bool
    """Whether features are standardized; by default they are scaled robustly. For several networks."""

    def _settings(self, **changes: Any) -> Settings:
        return super()._settings(**{**changes, **self.changes})

    def _learn(self, *given: Any, **what: Any) -> None:
        scaling = Standardization if self.standardized else RobustScaling
        with mock.patch.object(members, "RobustScaling", scaling):
            super()._learn(*given, **what)


class VariantClassifier(Variant, KafnetClassifier):
    """For classification."""


class VariantRegressor(Variant, KafnetRegressor):
    """For regression."""
