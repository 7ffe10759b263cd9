"""What ``fit`` is given, checked: tables and arrays as numbers, weights of rows, joined signatures."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_X_y
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import _check_sample_weight, validate_data

from kafnets.checks import is_number
from kafnets.data.encoding import Encoding
from kafnets.data.reading import frame_of
from kafnets.data.splits import Task
from kafnets.train.inputs import numbers_of_rows
from kafnets.train.predictor import Predictor

NUMBERS: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
"""What features of an array have to be: NaN is a gap."""

Weights = NDArray[np.floating] | None
"""Of rows; None if all are the same."""

REMEDIES = {
    "could not convert string to float": "in X: give numbers, or a DataFrame, whose columns may be text",
    "must be in the same order": "X[model.feature_names_in_] has them in that order.",
}
"""By a part of scikit-learn's messages."""


def is_frame(X: Any) -> bool:
    """Of pandas or polars."""
    return hasattr(X, "columns") and hasattr(X, "shape")


def checked_pair(
    estimator: Any, X: Any, y: Any, known: Predictor | None, *, y_numeric: bool
) -> tuple[NDArray[np.float64], Any, Encoding | None]:
    """Features as numbers, the target, and how columns of a table became numbers: None for an array.

    Args:
        estimator: remembers the number and the names of columns.
        X: an array, or a table with columns of any kind.
        y: the target, with two axes if there are several per row.
        known: what has been learned from other rows, which these must fit; None at first.
        y_numeric: whether the target must be numbers.
    """
    options: dict[str, Any] = {**NUMBERS, "multi_output": True, "y_numeric": y_numeric}
    _check_target(y, numeric=y_numeric)
    if not is_frame(X) or (known is not None and known.encoding is None):
        with _remedies():
            features, y = validate_data(estimator, X, y, reset=known is None, **options)
        return features, y, None if known is None else known.encoding
    with _remedies():
        validate_data(estimator, X, y, reset=known is None, skip_check_array=True)
    frame = frame_of(X)
    if 0 in frame.shape:
        raise ValueError(f"X must have rows and columns, got the shape {frame.shape}")
    encoding = Encoding.of(frame, "X")[0] if known is None else known.encoding
    features = numbers_of_rows(frame, encoding, tuple(frame.columns))
    features, y = check_X_y(features, y, estimator=estimator, **options)
    return features, y, encoding


def checked_rows(estimator: Any, X: Any, known: Predictor) -> Any:
    """Rows to predict: a table as it is, or an array of numbers."""
    table = is_frame(X) and known.encoding is not None
    with _remedies():
        return validate_data(estimator, X, reset=False, **({"skip_check_array": True} if table else NUMBERS))


def outputs_for(target: NDArray[Any], task: Task, classes: Any, known: Predictor | None) -> int:
    """Of a network, which must be those of the one that there is."""
    single = len(classes) if task == "multiclass" else 1
    found = single if target.ndim == 1 else target.shape[1]
    if known is not None and (known.task, known.architecture.outputs) != (task, found):
        raise ValueError(
            f"y must be as it was before, for {known.task} with {known.architecture.outputs} outputs, got "
            f"{task} with {found}"
        )
    return found


def _check_target(y: Any, *, numeric: bool) -> None:
    """Raise for names of columns, gaps, and text in place of numbers, of which scikit-learn's messages tell
    neither row nor remedy. All other mistakes are left to it.
    """
    if y is None or hasattr(y, "toarray"):
        return
    given = np.asarray(y)
    if given.ndim == 0:
        raise ValueError(f"y must be a sequence with the target of each row, got {y!r}")
    gaps = np.argwhere(_is_gap(given))
    if gaps.size:
        raise ValueError(f"Input y contains NaN, first in row {gaps[0][0]}: omit rows without a target")
    if numeric and given.dtype.kind in "OUS":
        try:
            given.astype(np.float64)
        except ValueError as error:
            raise ValueError(f"y must be numbers; for classes, use KafnetClassifier ({error})") from error


def _is_gap(values: NDArray[Any]) -> NDArray[np.bool_]:
    """None, NaN and pandas' NA."""
    import pandas as pd

    return np.asarray(pd.isna(values))


@contextmanager
def _remedies() -> Iterator[None]:
    """Add to scikit-learn's messages what would work."""
    try:
        yield
    except ValueError as error:
        for said, remedy in REMEDIES.items():
            if said in str(error):
                raise ValueError(f"{str(error).rstrip()} {remedy}") from error
        raise


def weights_of(
    sample_weight: Any, features: NDArray[np.float64], class_weight: Any = None, labels: Any = None
) -> NDArray[np.float64] | None:
    """Of rows, both kinds multiplied; None if all are the same."""
    if isinstance(class_weight, Mapping | None) or class_weight == "balanced":
        for label, weight in class_weight.items() if isinstance(class_weight, Mapping) else ():
            if not (is_number(weight) and weight >= 0):
                raise ValueError(f"class_weight must be numbers ≥ 0, got {weight!r} for the class {label!r}")
        found = _checked_sample_weight(sample_weight, features)
        if class_weight is not None:
            found = found * compute_sample_weight(class_weight, labels)
        if not found.any():
            raise ValueError(
                "class_weight, multiplied by sample_weight, is 0 for all rows: give some a weight"
            )
        return None if (found == found[0]).all() else found
    raise ValueError(f"class_weight must be 'balanced', a dictionary or None, got {class_weight!r}")


def weighted(
    features: NDArray[np.float64], target: NDArray[Any], weight: Weights
) -> tuple[NDArray[np.float64], NDArray[Any], Weights]:
    """The rows with a weight, which is 1 on average."""
    if weight is None:
        return features, target, None
    counted = weight > 0
    weight = weight[counted]
    return features[counted], target[counted], (weight / weight.mean()).astype(np.float32)


def _checked_sample_weight(given: Any, features: NDArray[np.float64]) -> NDArray[np.float64]:
    """One per row; errors add what is expected to scikit-learn's messages."""
    try:
        return _check_sample_weight(given, features, dtype=np.float64, ensure_non_negative=True)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"sample_weight must be one number ≥ 0 for each of the {len(features)} rows of X, and not 0 for "
            f"all: {error}"
        ) from error


def with_arguments_of(other: Callable[..., None]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Show the arguments that a constructor passes on as its own, as scikit-learn looks for them."""

    def joined(own: Callable[..., None]) -> Callable[..., None]:
        named = {**inspect.signature(other).parameters, **inspect.signature(own).parameters}
        kept = [each for each in named.values() if each.kind is not each.VAR_KEYWORD]
        own.__signature__ = inspect.Signature(kept, return_annotation=None)  # type: ignore[attr-defined]
        return own

    return joined
