"""Estimators for scikit-learn: networks of learned activations for tables."""

import math
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from kafnets.sklearn.base import Kafnet
from kafnets.train.recipe import RECIPE


class KafnetClassifier(ClassifierMixin, Kafnet):  # type: ignore[misc]
    """A network of learned activations for classification.

    Features are scaled by medians and quartiles, and gaps (NaN) filled with medians, both learned from the
    training rows. The defaults are the recipe of ``kafnets.train.recipe``: AdamW, whose learning rate falls
    to 0 along a cosine, as weight decay and dropout do, and as many epochs as held-out rows like best::

        from kafnets.sklearn import KafnetClassifier

        KafnetClassifier(hidden=(100, 100), random_state=0).fit(X_train, y_train).score(X_test, y_test)

    Args:
        hidden: widths of the hidden layers.
        activation: a registered name (see ``kafnets.names()``), with options in parentheses if you like, such
            as ``"kaf(base=silu,tails=linear)"``, or a function that makes a module from the number of
            features.
        activation_options: for the activation, such as ``{"dictionary_size": 30}``. If None, KAFs start as
            ELU and others take their defaults.
        epochs: the most there may be.
        batch_size: rows a step; "auto" takes a 32nd of them, but from 32 to 256.
        learning_rate: AdamW's, at the start; "auto" grows with the root of the batch size, from 3e-3 at 32.
        weight_decay: of weights and of activations' parameters that may decay; "auto" decays so that what no
            gradient holds shrinks to 1/e over all epochs, but by no more than 1; 0.01 in ``partial_fit``.
        dropout: behind the hidden layers, in the first epoch.
        label_smoothing: the share of each label that is spread evenly over all classes, which serves the
            accuracy and harms probabilities. "auto": 0.1.
        activation_lr: factor on the learning rate for the parameters of activations.
        initialize_biases: draw the first biases from training rows, so that inputs meet dictionaries.
        calibrate_after: epochs after which the dictionaries of KAFs move to where their inputs are. None:
            they stay.
        refine: longer dictionaries in the course of training, such as ``{20: 40}`` for 40 elements after 20
            epochs. None: they stay.
        monitor: watch KAFs while they learn: ``history_`` then has each layer's share of inputs outside its
            dictionary and the like, and a warning names layers that are in trouble.
        early_stopping: stop when held-out rows are not predicted better any more. If False, all epochs are
            tried.
        validation_fraction: the share of rows that is held out to find the best epoch by. None, or if that
            share is less than 10 rows: all rows are learned from for all epochs.
        refit: when the best epoch is known, train again on all rows, for as many epochs. If False, the
            weights of the best epoch are kept, and the held-out rows are not learned from.
        patience: epochs that ``early_stopping`` waits for an improvement.
        warm_start: ``fit`` goes on from the weights that there are.
        device: "cpu", "cuda", or "auto" for the latter where there is one.
        verbose: print each epoch.
        random_state: decides the first weights, the rows held out, and the order of rows.

    Attributes:
        classes_: the labels.
        predictor_: the network with its preprocessing; see :meth:`to_predictor`.
        module_: the network, a ``torch.nn.Module``.
        scaling_: what was learned about the features' medians and quartiles.
        history_: a row of numbers for each epoch, with scores of the held-out rows.
        n_epochs_: how many there were.
        best_epoch_: the best of them.
        n_features_in_: the number of features.
        feature_names_in_: their names, where ``fit`` was given some.
    """

    classes_: NDArray[Any]

    _metric = "accuracy"

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from rows and their labels."""
        X, y = self._checked_pair(X, y, reset=not self._goes_on())
        labels = self._labels(y)
        if not self._goes_on():
            self.classes_ = np.unique(labels)
        if len(self.classes_) < 2:
            raise ValueError(f"y must have two classes or more, got one class: {self.classes_[0]!r}")
        self._learn(X, self._numbers(labels), **self._what())
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """One pass through these rows. The first call needs all ``classes``, unless ``y`` has them all."""
        first = not hasattr(self, "predictor_")
        X, y = self._checked_pair(X, y, reset=first)
        labels = self._labels(y)
        if first:
            self.classes_ = np.unique(labels if classes is None else np.asarray(classes))
            if len(self.classes_) < 2:
                raise ValueError(f"classes must be two or more, got one class: {self.classes_[0]!r}")
        self._learn_a_little(X, self._numbers(labels), **self._what())
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """How likely each class is, in the order of ``classes_``."""
        check_is_fitted(self)
        return self.predictor_.predict_proba(self._checked_rows(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class."""
        likely = self.predict_proba(X).argmax(1)
        return self.classes_[likely]

    def _labels(self, y: Any) -> NDArray[Any]:
        check_classification_targets(y)
        return np.asarray(y)

    def _numbers(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        unknown = np.setdiff1d(labels, self.classes_)
        if unknown.size:
            raise ValueError(f"y holds {unknown[0]!r}, which is not among the classes {list(self.classes_)}")
        return np.searchsorted(self.classes_, labels).astype(np.int64)

    def _what(self) -> dict[str, Any]:
        classes = tuple(self.classes_.tolist())
        return {"task": "binary" if len(classes) == 2 else "multiclass", "classes": classes}


class KafnetRegressor(RegressorMixin, Kafnet):  # type: ignore[misc]
    """A network of learned activations for regression.

    As :class:`KafnetClassifier`, with the squared error; the target is scaled to mean 0 and deviation 1 while
    it is learned.
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from rows and their numbers."""
        X, y = self._checked_pair(X, y, reset=not self._goes_on(), y_numeric=True)
        scale = self.predictor_.target_scale if self._goes_on() else _scale_of(y)
        ends = None
        if RECIPE.clamp_outputs:
            ends = self._range_with(y) if self._goes_on() else (float(np.min(y)), float(np.max(y)))
        self._learn(X, _scaled(y, scale), "regression", classes=(), target_scale=scale, target_range=ends)
        return self

    def partial_fit(self, X: Any, y: Any) -> Self:
        """One pass through these rows. The first call's target decides how targets are scaled."""
        first = not hasattr(self, "predictor_")
        X, y = self._checked_pair(X, y, reset=first, y_numeric=True)
        scale = _scale_of(y) if first else self.predictor_.target_scale
        self._learn_a_little(X, _scaled(y, scale), "regression", classes=(), target_scale=scale)
        if RECIPE.clamp_outputs:
            self.predictor_ = replace(self.predictor_, target_range=self._range_with(y))
        return self

    def _range_with(self, y: Any) -> tuple[float, float]:
        """Of all targets that it has learned from, these among them."""
        low, high = self.predictor_.target_range or (math.inf, -math.inf)
        return min(low, float(np.min(y))), max(high, float(np.max(y)))

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The number that is expected."""
        check_is_fitted(self)
        return self.predictor_.predict(self._checked_rows(X))


def _scale_of(y: Any) -> tuple[float, float]:
    numbers = np.asarray(y, dtype=np.float64)
    return float(numbers.mean()), float(numbers.std()) or 1.0


def _scaled(y: Any, scale: tuple[float, float]) -> NDArray[np.float32]:
    return ((np.asarray(y, dtype=np.float64) - scale[0]) / scale[1]).astype(np.float32)
