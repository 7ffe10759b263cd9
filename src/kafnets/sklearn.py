"""Estimators for scikit-learn: networks of learned activations for tables.

They go wherever scikit-learn's own do: pipelines, grid search, cross-validation, pickles.
"""

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from kafnets.data.encoding import Column, Encoding
from kafnets.data.scaling import RobustScaling, Scaling
from kafnets.data.splits import Part, Task
from kafnets.networks import Activation
from kafnets.train.loop import Training, fit
from kafnets.train.predictor import Architecture, Predictor
from kafnets.train.recipe import DROPOUT, HIDDEN, RECIPE, STARTS
from kafnets.train.rows import division_of, fit_rows
from kafnets.train.settings import Settings

DECAY_OF_PASSES = 0.01
"""AdamW's usual one, for ``partial_fit``."""

_NUMBERS: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
"""What features have to be: NaN is a gap."""


class _Kafnet(BaseEstimator):  # type: ignore[misc]
    predictor_: Predictor
    _metric: ClassVar[str | None] = None
    """What decides which epoch is best: what ``score`` gives."""

    def __init__(
        self,
        hidden: Sequence[int] = HIDDEN,
        activation: Activation = "kaf",
        *,
        activation_options: dict[str, Any] | None = None,
        epochs: int = RECIPE.epochs,
        batch_size: int | Literal["auto"] = RECIPE.batch_size,
        learning_rate: float | Literal["auto"] = RECIPE.learning_rate,
        weight_decay: float | Literal["auto"] = RECIPE.weight_decay,
        dropout: float = DROPOUT,
        label_smoothing: float | Literal["auto"] = RECIPE.label_smoothing,
        activation_lr: float = RECIPE.activation_lr,
        initialize_biases: bool = RECIPE.initialize_biases,
        calibrate_after: int | None = RECIPE.calibrate_after,
        refine: Mapping[int, int] | None = RECIPE.refine,
        monitor: bool = False,
        early_stopping: bool = False,
        validation_fraction: float | None = 0.15,
        refit: bool = True,
        patience: int = 15,
        warm_start: bool = False,
        device: str = "auto",
        verbose: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.hidden = hidden
        self.activation = activation
        self.activation_options = activation_options
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.label_smoothing = label_smoothing
        self.activation_lr = activation_lr
        self.initialize_biases = initialize_biases
        self.calibrate_after = calibrate_after
        self.refine = refine
        self.monitor = monitor
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.patience = patience
        self.warm_start = warm_start
        self.device = device
        self.verbose = verbose
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @property
    def module_(self) -> torch.nn.Sequential:
        """The network."""
        return cast(torch.nn.Sequential, self.predictor_.model)

    @property
    def scaling_(self) -> Scaling:
        """Of the features."""
        return self.predictor_.scaling

    def to_predictor(self) -> Predictor:
        """A copy of the network with its preprocessing, which can be saved and shared safely."""
        check_is_fitted(self)
        return copy.deepcopy(self.predictor_)

    def _checked_rows(self, X: Any) -> NDArray[np.float64]:
        return validate_data(self, X, reset=False, **_NUMBERS)

    def _checked_pair(self, X: Any, y: Any, *, reset: bool, y_numeric: bool = False) -> tuple[Any, Any]:
        return validate_data(self, X, y, reset=reset, y_numeric=y_numeric, **_NUMBERS)

    def _goes_on(self) -> bool:
        """Whether ``fit`` takes the network that there is."""
        return bool(self.warm_start) and hasattr(self, "predictor_")

    def _settings(self, **changes: Any) -> Settings:
        return Settings(
            **{
                "batch_size": self.batch_size,
                "epochs": self.epochs,
                "patience": None,
                "learning_rate": self.learning_rate,
                "weight_decay": self.weight_decay,
                "metric": self._metric,
                "optimizer": RECIPE.optimizer,
                "betas": RECIPE.betas,
                "label_smoothing": self.label_smoothing,
                "clamp_outputs": RECIPE.clamp_outputs,
                "activation_lr": self.activation_lr,
                "initialize_biases": self.initialize_biases,
                "calibrate_after": self.calibrate_after,
                "refine": self.refine,
                "monitor": self.monitor,
                "device": self.device,
            }
            | changes
        )

    def _made(self, model: torch.nn.Module, shape: Architecture, scaling: Scaling, **what: Any) -> Predictor:
        names = getattr(self, "feature_names_in_", None)
        encoding = None if names is None else Encoding(tuple(Column(name) for name in names))
        return Predictor(model.cpu().eval(), shape, scaling=scaling, encoding=encoding, **what)

    def _architecture(self, inputs: int, outputs: int) -> Architecture:
        options = self.activation_options
        if not isinstance(options, Mapping | None):
            raise TypeError(f"activation_options must be a dictionary, or None, got {options!r}")
        if options is None:
            options = STARTS.get(self.activation, {}) if isinstance(self.activation, str) else {}
        return Architecture(inputs, self.hidden, outputs, self.activation, options, self.dropout)

    def _learn(self, X: NDArray[np.float64], target: NDArray[Any], task: Task, **what: Any) -> None:
        """From all rows but those that decide which epoch is best; then from all of them."""
        seed, goes_on = _seed(self.random_state), self._goes_on()
        outputs = len(what["classes"]) if task == "multiclass" else 1
        shape = self.predictor_.architecture if goes_on else self._architecture(X.shape[1], outputs)
        module = self.module_ if goes_on else shape.build(torch.Generator().manual_seed(seed))
        division = division_of(
            target, task, self.validation_fraction, seed, early_stopping=self.early_stopping
        )
        settings = self._settings(
            patience=self.patience if self.early_stopping else None,
            keep=RECIPE.keep,
            schedule=RECIPE.schedule,
            regularization_schedule=RECIPE.regularization_schedule,
        )
        trained, scaling = fit_rows(
            module,
            X,
            target,
            division,
            settings,
            task=task,
            classes=outputs,
            scaling=self.scaling_ if goes_on else None,
            refit=self.refit,
            seed=seed,
            progress=self._say,
        )
        self.predictor_ = self._made(module, shape, scaling, task=task, **what)
        self._state_: dict[str, Any] | None = None  # what partial_fit did before is over
        self._take(trained)

    def _learn_a_little(self, X: NDArray[np.float64], target: NDArray[Any], task: Task, **what: Any) -> None:
        """One pass through these rows, from where the last one ended."""
        outputs = len(what["classes"]) if task == "multiclass" else 1
        if not hasattr(self, "predictor_"):
            if len(X) < 2:
                raise ValueError(
                    "the first partial_fit needs more rows to scale features by, got n_samples=1"
                )
            self._seed_ = _seed(self.random_state)
            shape = self._architecture(X.shape[1], outputs)
            module = shape.build(torch.Generator().manual_seed(self._seed_))
            self.predictor_ = self._made(module, shape, RobustScaling.of(X), task=task, **what)
        before = getattr(self, "_state_", None)
        passes = 1 if before is None else len(before["log"]) + 1
        states: list[dict[str, Any]] = []
        trained = fit(
            self.module_,
            Part(self.scaling_.apply(X), target),
            self._settings(
                epochs=passes,
                # How many passes there will be, which "auto" goes by, nobody knows.
                weight_decay=DECAY_OF_PASSES if self.weight_decay == "auto" else self.weight_decay,
            ),
            task=task,
            classes=outputs,
            seed=getattr(self, "_seed_", 0),
            resume=before,
            save=states.append,
            progress=self._say,
        )
        self._take(trained)
        self._state_ = states[-1]

    def _take(self, trained: Training) -> None:
        self.module_.cpu()
        self.history_ = trained.epochs
        self.n_epochs_ = len(trained.epochs)
        self.best_epoch_ = trained.best_epoch

    def _say(self, row: dict[str, Any]) -> None:
        if self.verbose:
            shown = {name: value for name, value in row.items() if "/" not in name}
            print(", ".join(f"{name} {value:.5g}" for name, value in shown.items()))


class KafnetClassifier(ClassifierMixin, _Kafnet):  # type: ignore[misc]
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


class KafnetRegressor(RegressorMixin, _Kafnet):  # type: ignore[misc]
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


def _seed(random_state: Any) -> int:
    return int(check_random_state(random_state).randint(2**31 - 1))
