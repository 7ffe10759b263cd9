"""Edge-wise networks as estimators for features that are scaled already, beside other packages' methods."""

from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from torch import nn

from kafnets.data.scaling import CLIPPED_AT
from kafnets.data.splits import Part, Task, held_out_rows
from kafnets.networks import edgewise_mlp
from kafnets.train.evaluation import outputs_of
from kafnets.train.loop import fit
from kafnets.train.processes import OneProcess
from kafnets.train.recipe import RECIPE

HELD_OUT = 0.15
"""Share of the rows that chooses the best epoch."""

BOUNDARY = 1.1 * CLIPPED_AT
"""Of the first layer's dictionaries, slightly beyond the features."""


class Edgewise(BaseEstimator):  # type: ignore[misc]
    """A network whose connections are learned functions, trained with the estimators' recipe.

    Args:
        hidden: widths of the hidden layers.
        dictionary_size: elements of each function's expansion.
        random_state: seed of the initial weights and the order of rows.
    """

    network_: nn.Module

    def __init__(
        self, hidden: tuple[int, ...] = (32,), dictionary_size: int = 8, random_state: int = 0
    ) -> None:
        self.hidden = hidden
        self.dictionary_size = dictionary_size
        self.random_state = random_state

    def _learn(self, features: Any, target: NDArray[Any], task: Task, outputs: int) -> Self:
        features = np.asarray(features, dtype=np.float32)
        rows, held_out = held_out_rows(target, task, HELD_OUT, np.random.default_rng(self.random_state))
        self.network_ = edgewise_mlp(
            features.shape[1],
            self.hidden,
            outputs,
            dictionary_size=self.dictionary_size,
            input_boundary=BOUNDARY,
            generator=torch.Generator().manual_seed(self.random_state),
        )
        train, validation = (Part(features[own], target[own]) for own in (rows, held_out))
        about: dict[str, Any] = {"task": task, "classes": outputs, "seed": self.random_state}
        fit(self.network_, train, RECIPE, validation=validation, **about)
        return self

    def _outputs(self, features: Any) -> torch.Tensor:
        return outputs_of(
            self.network_, torch.from_numpy(np.asarray(features, dtype=np.float32)), OneProcess()
        )


class EdgewiseClassifier(ClassifierMixin, Edgewise):  # type: ignore[misc]
    """For classes that are numbers from 0."""

    classes_: NDArray[np.int64]

    def fit(self, features: Any, target: Any) -> Self:
        """From features between -3 and 3."""
        target = np.asarray(target, dtype=np.int64)
        self.classes_ = np.arange(target.max() + 1)
        two = len(self.classes_) == 2
        return self._learn(
            features, target, "binary" if two else "multiclass", 1 if two else len(self.classes_)
        )

    def predict_proba(self, features: Any) -> NDArray[np.float32]:
        """``(rows, classes)``."""
        outputs = self._outputs(features)
        if outputs.shape[1] == 1:
            outputs = torch.cat([torch.zeros_like(outputs), outputs], 1)
        return outputs.softmax(1).numpy()

    def predict(self, features: Any) -> NDArray[np.int64]:
        """The most likely class."""
        return self.predict_proba(features).argmax(1)


class EdgewiseRegressor(RegressorMixin, Edgewise):  # type: ignore[misc]
    """For numbers with mean 0 and standard deviation 1."""

    def fit(self, features: Any, target: Any) -> Self:
        """From features between -3 and 3."""
        return self._learn(features, np.asarray(target, dtype=np.float32), "regression", 1)

    def predict(self, features: Any) -> NDArray[np.float32]:
        """One number per row."""
        return self._outputs(features)[:, 0].numpy()
