"""The base class of the estimators."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kafnets.data.scaling import RobustScaling, Scaling
from kafnets.data.splits import Part, Task
from kafnets.networks import Activation
from kafnets.sklearn.importances import importances
from kafnets.sklearn.validation import Weights, checked_rows, outputs_for, weighted
from kafnets.train.architecture import Architecture, columns_to_embed, embeddings_of, link_of
from kafnets.train.loop import Training, fit
from kafnets.train.losses import SQUARED_ERROR
from kafnets.train.members import fit_members
from kafnets.train.predictor import Predictor
from kafnets.train.progress import FitProgress, Verbose
from kafnets.train.recipe import DROPOUT, HIDDEN, MEMBERS, RECIPE, STARTS
from kafnets.train.settings import Settings

DECAY_OF_PASSES = 0.01
"""AdamW's usual one, for ``partial_fit``."""

Checked = tuple[NDArray[np.float64], NDArray[Any], Weights, dict[str, Any]]
"""Features as numbers, the target that networks learn, weights, and what a predictor has to know."""


class Kafnet(BaseEstimator):  # type: ignore[misc]
    """A network of learned activations; see :class:`kafnets.sklearn.KafnetClassifier`."""

    predictor_: Predictor

    def __init__(
        self,
        hidden: Sequence[int] = HIDDEN,
        activation: Activation = "kaf",
        *,
        activation_options: dict[str, Any] | None = None,
        n_members: int = MEMBERS,
        share_weights: bool = False,
        embedding: str | Sequence[str | None] | None = "auto",
        epochs: int = RECIPE.epochs,
        batch_size: int | Literal["auto"] = RECIPE.batch_size,
        learning_rate: float | Literal["auto"] = RECIPE.learning_rate,
        weight_decay: float | Literal["auto"] = "auto",
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
        verbose: Verbose = "auto",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.hidden = hidden
        self.activation = activation
        self.activation_options = activation_options
        self.n_members = n_members
        self.share_weights = share_weights
        self.embedding = embedding
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
        tags.target_tags.multi_output = True
        return tags

    @property
    def module_(self) -> torch.nn.Module:
        """The network, or the average of several."""
        return self.predictor_.model

    @property
    def scaling_(self) -> Scaling:
        """Of the features."""
        return self.predictor_.scaling

    def to_predictor(self) -> Predictor:
        """A copy of the network with its preprocessing, which can be saved and shared safely."""
        check_is_fitted(self)
        return copy.deepcopy(self.predictor_)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most likely class, the labels with a probability above one half, or the number."""
        check_is_fitted(self)
        return self.predictor_.predict(checked_rows(self, X, self.predictor_))

    def feature_importances(
        self,
        X: Any,
        y: Any,
        *,
        scoring: Any = None,
        n_repeats: int = 5,
        sample_weight: Any = None,
        n_jobs: int | None = None,
    ) -> Any:
        """The decrease of the score if one column is shuffled: a DataFrame, most important first.

        Args:
            X: rows, preferably not used for training.
            y: their true values.
            scoring: as in ``sklearn.inspection.permutation_importance``; default: ``score``.
            n_repeats: number of times each column is shuffled.
            sample_weight: weight of each row.
            n_jobs: number of processes.

        Returns:
            For each column, the ``mean`` and standard deviation ``std`` of the decrease.
        """
        check_is_fitted(self)
        return importances(
            self, X, y, scoring=scoring, n_repeats=n_repeats, sample_weight=sample_weight, n_jobs=n_jobs
        )

    def _known(self, *, goes_on: bool) -> Predictor | None:
        """The current network, if training continues from it."""
        return getattr(self, "predictor_", None) if goes_on else None

    def _settings(self, **changes: Any) -> Settings:
        return Settings(
            **{
                "batch_size": self.batch_size,
                "epochs": self.epochs,
                "patience": None,
                "learning_rate": self.learning_rate,
                "weight_decay": RECIPE.weight_decay if self.weight_decay == "auto" else self.weight_decay,
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

    def _built(
        self, X: NDArray[np.float64], outputs: int, seed: int, members: int, task: Task, **what: Any
    ) -> tuple[Architecture, torch.nn.Module]:
        """A network, or several that are averaged, with initial weights."""
        options = self.activation_options
        if not isinstance(options, Mapping | None):
            raise TypeError(f"activation_options must be a dictionary, or None, got {options!r}")
        if options is None:
            options = STARTS.get(self.activation, {}) if isinstance(self.activation, str) else {}
        hidden = tuple(np.atleast_1d(self.hidden).tolist())  # as a saved one is
        # partial_fit trains the first of the networks.
        embeddings = embeddings_of(self.embedding, self.n_members, shared=self.share_weights)[:members]
        shared = members if self.share_weights else 1
        embedded = columns_to_embed(X) if any(embeddings) else ()
        link = link_of(task, what.get("loss", SQUARED_ERROR))
        first = X.shape[1], hidden, outputs, self.activation, options, self.dropout
        shape = Architecture(*first, embeddings, embedded, link, shared)
        return shape, shape.build(torch.Generator().manual_seed(seed))

    def _ready(
        self, X: Any, target: Any, seed: int, known: Predictor | None, task: Task, **what: Any
    ) -> tuple[Architecture, torch.nn.Module, Settings]:
        """What ``fit`` trains, and how. Mistakes in the estimator's arguments are told now."""
        outputs = outputs_for(target, task, what["classes"], known)
        settings = self._settings(
            patience=self.patience if self.early_stopping else None,
            keep=RECIPE.keep,
            schedule=RECIPE.schedule,
            regularization_schedule=RECIPE.regularization_schedule,
        )
        settings.deciding(task)
        if known is not None:
            return known.architecture, self.module_, settings
        return *self._built(X, outputs, seed, self.n_members, task, **what), settings

    def _learn(
        self,
        X: NDArray[np.float64],
        target: NDArray[Any],
        weight: Weights,
        task: Task,
        *,
        calibrate: bool | Literal["auto"] = False,
        **what: Any,
    ) -> None:
        """Train the network, or those that are averaged, with the recipe."""
        seed, known = seed_of(self.random_state), self._known(goes_on=self.warm_start)
        X, target, weight = weighted(X, target, weight)
        shape, module, settings = self._ready(X, target, seed, known, task, **what)
        shown = FitProgress(self.verbose)
        trained, scaling = fit_members(
            module,
            X,
            target,
            settings,
            task=task,
            classes=shape.outputs,
            weight=weight,
            scaling=None if known is None else known.scaling,
            validation_fraction=self.validation_fraction,
            refit=self.refit,
            calibrate=calibrate,
            seed=seed,
            progress=shown,
        )
        shown.end()
        what["temperature"] = trained.temperature
        self.predictor_ = Predictor(module.cpu().eval(), shape, scaling=scaling, task=task, **what)
        self._state_: dict[str, Any] | None = None  # what partial_fit did before is over
        self._take(trained)

    def _learn_a_little(
        self,
        X: NDArray[np.float64],
        target: NDArray[Any],
        weight: Weights,
        task: Task,
        **what: Any,
    ) -> None:
        """One pass through these rows, from where the last one ended."""
        outputs = outputs_for(target, task, what["classes"], self._known(goes_on=True))
        if not hasattr(self, "predictor_"):
            if len(X) < 2:
                raise ValueError(
                    "the first partial_fit needs more rows to compute the scaling of features, got "
                    "n_samples=1"
                )
            self._seed_ = seed_of(self.random_state)
            shape, module = self._built(X, outputs, self._seed_, 1, task, **what)
            scaling = RobustScaling.of(X)
            self.predictor_ = Predictor(module.eval(), shape, scaling=scaling, task=task, **what)
        before = getattr(self, "_state_", None)
        passes = 1 if before is None else len(before["log"]) + 1
        states: list[dict[str, Any]] = []
        trained = fit(
            self.module_,
            Part(self.scaling_.apply(X), target, weight),
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
            progress=FitProgress(2 if self.verbose not in ("auto", 0) else 0)("pass", passes),
        )
        self._take(trained)
        self._state_ = states[-1]

    def _take(self, trained: Training) -> None:
        self.module_.cpu()
        self.history_ = trained.epochs
        self.n_epochs_ = max((row["epoch"] for row in trained.epochs), default=0)
        self.best_epoch_ = trained.best_epoch


def seed_of(random_state: Any) -> int:
    """A number that a seed or a generator gives."""
    return int(check_random_state(random_state).randint(2**31 - 1))
