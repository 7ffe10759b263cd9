"""Estimators for scikit-learn: networks of learned activations for tables."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from kafnets.networks import Activation
from kafnets.sklearn.base import Checked, Kafnet
from kafnets.sklearn.validation import checked_pair, checked_rows, weights_of, with_arguments_of
from kafnets.train.losses import Loss
from kafnets.train.predictor import Predictor
from kafnets.train.recipe import HIDDEN, RECIPE
from kafnets.train.settings import Settings


class KafnetClassifier(ClassifierMixin, Kafnet):  # type: ignore[misc]
    """A network of learned activations for classification.

    Features are scaled by medians and quartiles, and missing values (NaN) filled with medians, both computed
    from the training rows. The defaults are the recipe of ``kafnets.train.recipe``: six networks whose
    predictions are averaged, KAFs with Mish as their base function, AdamW with a learning rate that follows
    several cosines, and the number of epochs that is best on held-out rows::

        from kafnets.sklearn import KafnetClassifier

        KafnetClassifier(random_state=0).fit(X_train, y_train).score(X_test, y_test)

    Args:
        hidden: widths of the hidden layers.
        activation: a registered name (see ``kafnets.names()``), optionally with arguments in parentheses,
            such as ``"kaf(base=silu,tails=linear)"``, or a function that creates a module from the number of
            features.
        activation_options: arguments of the activation, such as ``{"dictionary_size": 30}``. If None, KAFs
            have Mish as their base function, 2D-KAFs are initialized like ELU, and others use their defaults.
        n_members: number of networks whose predictions are averaged. Each has its own initial weights and
            holds out a different part of the rows to choose its best epoch. One network is several times
            faster.
        share_weights: whether the members are one network, whose linear weights they share; they differ in
            their activations, scales and biases, see :class:`kafnets.nn.SharedMembers`. That is faster, most
            of all for larger ``n_members``.
        embedding: learned functions of single features as additional inputs: "kaf" for those of
            :class:`kafnets.nn.KAFEmbedding`, "periodic" for cosines, None for no embedding; "auto": "kaf" for
            every second network; or a sequence of these with one for each network.
        epochs: maximum number of epochs.
        batch_size: batch size; "auto": rows / 32, clipped to 32-256.
        learning_rate: maximum learning rate of AdamW: in ``fit`` it starts at 0 and follows several cosines.
            "auto": 3e-3 for a batch size of 32, growing with its square root.
        weight_decay: of weights and of those parameters of activations to which weight decay applies; "auto":
            0.5, and 0.01 in ``partial_fit``.
        dropout: probability of dropout after each hidden layer in the first epoch.
        label_smoothing: the share of each label that is spread evenly over all classes, which improves the
            accuracy at the expense of the probabilities. "auto": 0.1 if ``metric`` is "accuracy", and 0 for
            other metrics and for several labels per row.
        metric: the score on held-out rows that determines the best epoch: "accuracy", "auc" for two classes,
            or "loss", the log-loss. ``score`` is the accuracy in any case.
        class_weight: weight of the rows of each class, such as ``{"ill": 5}``; "balanced": equal total
            weight for all classes.
        calibrate_probabilities: divide the network's outputs by a temperature fitted to the held-out rows,
            so that ``predict_proba`` is better calibrated; if they do not tell it from 1, it is 1. Predicted
            classes do not change. "auto": if labels are smoothed and rows are held out.
        activation_lr: factor on the learning rate for the parameters of activations.
        initialize_biases: draw the initial biases from training rows, so that the inputs of KAFs lie within
            their dictionaries.
        calibrate_after: number of epochs after which the dictionaries of KAFs are moved to the range of their
            inputs. None: they are not moved.
        refine: larger dictionaries in the course of training, such as ``{20: 40}`` for 40 elements after 20
            epochs. None: their size does not change.
        monitor: monitor KAFs during training: ``history_`` then has statistics of each layer, such as the
            share of inputs outside its dictionary, and a warning names layers with problems.
        early_stopping: stop when the score on held-out rows no longer improves. If False, all epochs are
            run.
        validation_fraction: the share of rows that one network holds out to choose its best epoch; several
            networks hold out equal parts. None, or fewer than 10 rows: no rows are held out, and all epochs
            are run.
        refit: for one network: when its best epoch is known, train again on all rows for that number of
            epochs. If False, the weights of the best epoch are kept, and the held-out rows are not used for
            training.
        patience: number of epochs without improvement after which ``early_stopping`` stops.
        warm_start: ``fit`` continues from the current weights.
        device: "cpu", "cuda", or "auto" for "cuda" if available.
        verbose: "auto" shows a progress bar in terminals and notebooks if ``fit`` takes more than a few
            seconds; True or 1 shows it immediately, or prints a line per epoch elsewhere; 2 prints a line per
            epoch; False or 0 shows nothing.
        random_state: seed of the initial weights, the held-out rows, and the order of rows.

    Attributes:
        classes_: the labels.
        predictor_: the network with its preprocessing; see :meth:`to_predictor`.
        module_: the network, a ``torch.nn.Module``; several are its ``members``.
        scaling_: medians and quartiles of the features.
        history_: a dictionary per epoch, with scores on the held-out rows; for several networks, those of
            all, with the network's index as "member".
        n_epochs_: number of epochs that were run.
        best_epoch_: the best epoch; for several networks, the mean.
        n_features_in_: the number of features.
        feature_names_in_: their names, if ``fit`` was given a table.
    """

    classes_: NDArray[Any]

    @with_arguments_of(Kafnet.__init__)
    def __init__(
        self,
        hidden: Sequence[int] = HIDDEN,
        activation: Activation = "kaf",
        *,
        metric: Literal["accuracy", "auc", "loss"] = "accuracy",
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        calibrate_probabilities: bool | Literal["auto"] = "auto",
        **others: Any,
    ) -> None:
        super().__init__(hidden, activation, **others)
        self.metric = metric
        self.class_weight = class_weight
        self.calibrate_probabilities = calibrate_probabilities

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows and their labels.

        Args:
            X: an array, or a table of pandas or polars with columns of any kind.
            y: one label per row; or, if a row may have several labels, 0 or 1 for each, ``(rows, labels)``.
            sample_weight: weight of each row, in training and in the choice of the best epoch.
        """
        known = self._known(goes_on=self.warm_start)
        features, target, weight, what = self._checked(X, y, sample_weight, known)
        self._learn(features, target, weight, **what, calibrate=self.calibrate_probabilities)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """One pass through these rows. The first call needs all ``classes``, unless ``y`` has them all."""
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all rows at once: for partial_fit, give a dictionary"
            )
        known = self._known(goes_on=True)
        features, target, weight, what = self._checked(X, y, sample_weight, known, classes, "classes")
        self._learn_a_little(features, target, weight, **what)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of each class, in the order of ``classes_``; for several labels, of each label."""
        check_is_fitted(self)
        return self.predictor_.predict_proba(checked_rows(self, X, self.predictor_))

    def _settings(self, **changes: Any) -> Settings:
        return super()._settings(metric=self.metric, **changes)

    def _checked(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        known: Predictor | None,
        classes: Any = None,
        told: str = "y",
    ) -> Checked:
        features, labels, encoding = self._labels(X, y, known)
        if known is None:
            given = labels if classes is None else np.asarray(classes)
            self.classes_ = np.arange(labels.shape[1]) if labels.ndim == 2 else np.unique(given)
        if len(self.classes_) < 2 and labels.ndim == 1:
            only = self.classes_.tolist()[0]
            raise ValueError(f"{told} must have two classes or more, got one class: {only!r}")
        weight = weights_of(sample_weight, features, self.class_weight, labels)
        task = "multilabel" if labels.ndim == 2 else "binary" if len(self.classes_) == 2 else "multiclass"
        what = {"task": task, "classes": tuple(self.classes_.tolist()), "encoding": encoding}
        return features, self._numbers(labels), weight, what

    def _labels(self, X: Any, y: Any, known: Predictor | None) -> tuple[Any, NDArray[Any], Any]:
        features, y, encoding = checked_pair(self, X, y, known, y_numeric=False)
        kind = type_of_target(y, input_name="y")
        if kind == "multilabel-indicator":
            if self.class_weight is not None:
                raise ValueError("class_weight is for one label per row: give sample_weight")
            return (
                features,
                (y.toarray() if hasattr(y, "toarray") else np.asarray(y)).astype(np.int64),
                encoding,
            )
        if kind == "multiclass-multioutput":
            raise ValueError(
                "y must have one column of classes, or columns of 0 and 1: fit one classifier per column, by "
                "sklearn.multioutput.MultiOutputClassifier"
            )
        check_classification_targets(y)
        return features, column_or_1d(y, warn=True), encoding

    def _numbers(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        if labels.ndim == 2:
            return labels
        unknown = np.setdiff1d(labels, self.classes_)
        if unknown.size:
            raise ValueError(
                f"y holds {unknown.tolist()[0]!r}, which is not among the classes {self.classes_.tolist()}"
            )
        return np.searchsorted(self.classes_, labels).astype(np.int64)


class KafnetRegressor(RegressorMixin, Kafnet):  # type: ignore[misc]
    """A network of learned activations for regression.

    The target is one number per row, or several, ``(rows, outputs)``. It is scaled to mean 0 and standard
    deviation 1 for training.

    Args:
        hidden: see :class:`KafnetClassifier`, as for all arguments but ``loss`` and ``quantile``.
        activation: see :class:`KafnetClassifier`.
        loss: "squared_error" to predict means, "absolute_error" medians, "quantile" a quantile, and "poisson"
            means of counts (numbers ≥ 0), whose logarithm the network computes. The best epoch is the one
            with the smallest loss or, for the squared error, the largest R².
        quantile: the quantile to predict with the loss "quantile", between 0 and 1.
    """

    @with_arguments_of(Kafnet.__init__)
    def __init__(
        self,
        hidden: Sequence[int] = HIDDEN,
        activation: Activation = "kaf",
        *,
        loss: str = "squared_error",
        quantile: float | None = None,
        **others: Any,
    ) -> None:
        super().__init__(hidden, activation, **others)
        self.loss = loss
        self.quantile = quantile

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows and their targets.

        Args:
            X: an array, or a table of pandas or polars with columns of any kind.
            y: one number per row, or several, ``(rows, outputs)``.
            sample_weight: weight of each row, in training and in the choice of the best epoch.
        """
        known = self._known(goes_on=self.warm_start)
        features, target, weight, what = self._checked(X, y, sample_weight, known)
        self._learn(features, target, weight, **what)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """One pass through these rows. The target of the first call determines the scaling of targets."""
        features, target, weight, what = self._checked(X, y, sample_weight, self._known(goes_on=True))
        self._learn_a_little(features, target, weight, **what)
        self.predictor_ = replace(self.predictor_, target_range=what["target_range"])
        return self

    def _settings(self, **changes: Any) -> Settings:
        return super()._settings(loss=self.loss, quantile=self.quantile, **changes)

    def _checked(self, X: Any, y: Any, sample_weight: Any, known: Predictor | None) -> Checked:
        loss = Loss(self.loss, self.quantile)
        features, y, encoding = checked_pair(self, X, y, known, y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        if loss.logarithmic and not ((y >= 0).all() and (y.sum(0) > 0).all()):
            raise ValueError("y must be numbers ≥ 0, not all of them 0, for loss='poisson'")
        weight = weights_of(sample_weight, features)
        mean = np.average(y, axis=0, weights=weight)
        deviation = np.sqrt(np.average((y - mean) ** 2, axis=0, weights=weight))
        scale = (0 * mean, mean) if loss.logarithmic else (mean, np.where(deviation > 0, deviation, 1.0))
        if known is not None:
            scale, loss = known.target_scale, known.loss
        target = ((y - scale[0]) / scale[1]).astype(np.float32)
        what = {
            "task": "regression",
            "classes": (),
            "encoding": encoding,
            "target_scale": (np.asarray(scale[0]).tolist(), np.asarray(scale[1]).tolist()),
            "target_range": _range_with(y, known) if RECIPE.clamp_outputs else None,
            "loss": loss,
        }
        return features, target, weight, what


def _range_with(y: NDArray[np.float64], known: Predictor | None) -> tuple[Any, Any]:
    """Of all targets that were learned from, these among them."""
    low, high = (known and known.target_range) or (math.inf, -math.inf)
    return np.minimum(low, y.min(0)).tolist(), np.maximum(high, y.max(0)).tolist()
