"""Data divided into three parts, scaled by the training part."""

import hashlib
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from kafnets.data.encoding import Encoding
from kafnets.data.scaling import Scaling, scaling_called

Task = Literal["binary", "multiclass", "multilabel", "regression"]


@dataclass(frozen=True)
class Part:
    """Some rows: features in float32, and a class number (int64) or a number (float32) for each.

    With several labels or numbers per row, the target has the shape ``(rows, outputs)``. ``weight`` is the
    weight of each row, 1 on average; None: equal weights.
    """

    features: NDArray[np.float32]
    target: NDArray[np.int64] | NDArray[np.float32]
    weight: NDArray[np.floating] | None = None

    def __post_init__(self) -> None:
        features, target = np.asarray(self.features), np.asarray(self.target)
        if target.ndim not in (1, 2):
            raise ValueError(f"target must have the shape (rows,) or (rows, outputs), got {target.shape}")
        if len(features) != len(target):
            raise ValueError(f"features have {len(features)} rows, but target has {len(target)}")
        for name, values in (("features", features), ("target", target)):
            if values.dtype.kind not in "fiub":
                raise TypeError(f"{name} must be numbers, got {values.dtype}")
        kind = np.float32 if target.dtype.kind == "f" else np.int64
        # As they are, if they are so already.
        object.__setattr__(self, "features", features.astype(np.float32, copy=False))
        object.__setattr__(self, "target", target.astype(kind, copy=False))
        if self.weight is not None:
            weight = np.asarray(self.weight, dtype=np.float32)
            if weight.shape != (len(target),) or not (weight >= 0).all():
                raise ValueError(f"weight must be {len(target)} numbers from 0, one per row")
            object.__setattr__(self, "weight", weight)

    def __len__(self) -> int:
        return len(self.target)

    def __getitem__(self, rows: slice) -> "Part":
        weight = None if self.weight is None else self.weight[rows]
        return Part(self.features[rows], self.target[rows], weight)


@dataclass(frozen=True)
class Splits:
    """A data set for supervised learning.

    Attributes:
        name: of the data set, which indicates a sample.
        task: "binary", "multiclass", "multilabel" or "regression".
        train: the rows for training and for fitting the preprocessing.
        validation: the rows that determine when to stop.
        test: the rows for the final scores.
        classes: names of the classes, or of labels, by their number in the targets; their numbers if not
            given. None for regression.
        class_values: the classes as in the data: integers, booleans or text; default: their names.
        target_scale: for regression, mean and standard deviation of the training part: the target is (value -
            mean) / deviation.
        digest: SHA-256 of the original data.
        notes: remarks on how the data were prepared.
        scaling: of the features, fitted to the training part.
        encoding: of a table's columns.
    """

    name: str
    task: Task
    train: Part
    validation: Part
    test: Part
    classes: tuple[str, ...] = ()
    target_scale: tuple[float, float] = (0.0, 1.0)
    digest: str = ""
    notes: tuple[str, ...] = ()
    scaling: Scaling | None = None
    encoding: Encoding | None = None
    class_values: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        if self.task not in (tasks := get_args(Task)):
            raise ValueError(f"task must be {', '.join(tasks[:-1])} or {tasks[-1]}, got {self.task!r}")
        if self.task != "regression":
            self._check_classes()

    def _check_classes(self) -> None:
        parts = {"train": self.train, "validation": self.validation, "test": self.test}
        for name, part in parts.items():
            if part.target.dtype != np.int64:
                raise TypeError(
                    f"target of {name} must be class numbers, integers ≥ 0, got {part.target.dtype}"
                )
            if (part.target.ndim == 2) != (self.task == "multilabel"):
                shape = "(rows, labels)" if self.task == "multilabel" else "(rows,)"
                raise ValueError(
                    f"target of {name} must have the shape {shape} for a {self.task} task, got "
                    f"{part.target.shape}"
                )
        most = max((int(part.target.max()) for part in parts.values() if len(part)), default=-1)
        labels = self.train.target.shape[1] if self.task == "multilabel" else 0
        named = 0 if labels else len(self.classes or self.class_values)
        count = named or (most + 1 if self.task == "multiclass" else 2)
        if self.task == "binary" and count != 2:
            raise ValueError(f"classes must be two for task='binary', got {count}")
        for name, part in parts.items():
            if len(part) and not (part.target.min() >= 0 and part.target.max() < count):
                raise ValueError(
                    f"target of {name} must be class numbers from 0 to {count - 1}, got {part.target.min()} "
                    f"to {part.target.max()}"
                )
        wanted = labels or count
        values = self.class_values or self.classes or tuple(range(wanted))
        if len(values) != wanted:
            raise ValueError(f"class_values must have one value per class, {wanted}, got {len(values)}")
        object.__setattr__(self, "classes", self.classes or tuple(map(_name, values)))
        object.__setattr__(self, "class_values", values)

    @property
    def inputs(self) -> int:
        """The number of features."""
        return int(np.prod(self.train.features.shape[1:]))

    @property
    def outputs(self) -> int:
        """The number of outputs of a network: one per target, or one per class if there are more than two."""
        if self.task == "multiclass":
            return len(self.classes)
        return 1 if self.train.target.ndim == 1 else self.train.target.shape[1]


def splits_of(
    train: Part, validation: Part | None, test: Part | None, task: Task | None, classes: int | None
) -> Splits:
    """Of rows that are prepared already; parts that are not given are empty."""
    if task is None and train.target.dtype.kind == "f":
        task = "regression"
    elif task is None and train.target.ndim == 2:
        task = "multilabel"
    elif task is None:
        task = "multiclass" if (classes or train.target.max() + 1) > 2 else "binary"
    none = train[:0]
    names = tuple(map(str, range(classes))) if classes and task == "multiclass" else ()
    return Splits("rows", task, train, validation or none, test or none, classes=names)


def digest_of(*arrays: NDArray[np.generic]) -> str:
    """SHA-256 of the arrays' bytes, one after the other."""
    total = hashlib.sha256()
    for array in arrays:
        total.update(np.ascontiguousarray(array).data)
    return total.hexdigest()


def random_rows(
    count: int, shares: tuple[float, float, float], generator: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Row numbers of three parts, at random."""
    order = generator.permutation(count)
    first = round(shares[0] * count)
    second = first + round(shares[1] * count)
    return [order[:first], order[first:second], order[second:]]


def stratified_rows(
    target: NDArray[np.int64], shares: tuple[float, float, float], generator: np.random.Generator
) -> list[NDArray[np.int64]]:
    """As :func:`random_rows`, with each class divided in these shares as well as its rows allow."""
    parts: list[list[NDArray[np.int64]]] = [[], [], []]
    for label in np.unique(target):
        own = np.flatnonzero(target == label)
        for part, rows in zip(parts, random_rows(len(own), shares, generator), strict=True):
            part.append(own[rows])
    return [generator.permutation(np.concatenate(part)) for part in parts]


def held_out_rows(
    target: NDArray[np.int64] | NDArray[np.float32], task: Task, share: float, generator: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row numbers to learn from, and those of a share to validate by: of each class, if there are classes."""
    shares = (1 - share, share, 0.0)
    if task in ("regression", "multilabel"):
        rows, held_out, rest = random_rows(len(target), shares, generator)
    else:
        rows, held_out, rest = stratified_rows(target.astype(np.int64, copy=False), shares, generator)
    return np.concatenate([rows, rest]), held_out


def classification_splits(
    name: str,
    features: NDArray[np.floating],
    target: NDArray[np.int64],
    rows: list[NDArray[np.int64]],
    classes: tuple[Any, ...],
    **about: Any,
) -> Splits:
    """Scale by the training part and put together. Classes are given as what they were.

    ``about`` are a digest, notes, an encoding, and the kind of scaling.
    """
    missing = sorted(set(np.unique(target).tolist()) - set(np.unique(target[rows[0]]).tolist()))
    if missing:
        raise ValueError(
            f"{name}: no row of the training part has {_listed(classes, missing)}, so it cannot be "
            f"learned: add rows of it, or omit it"
        )
    if len(classes) == 2:  # there is no AUC of one class
        _check_parts(name, target, rows, "rows of both classes")
    _check_parts(name, np.arange(len(target)), rows, "rows", least=1)
    task: Task = "binary" if len(classes) == 2 else "multiclass"
    return _scaled(name, task, features, target, rows, class_values=classes, **about)


def regression_splits(
    name: str,
    features: NDArray[np.floating],
    target: NDArray[np.float64],
    rows: list[NDArray[np.int64]],
    **about: Any,
) -> Splits:
    """Likewise, the target scaled to mean 0 and deviation 1."""
    mean, deviation = float(target[rows[0]].mean()), float(target[rows[0]].std())
    if not deviation > 0:
        raise ValueError(f"{name}: the target is {mean:g} in all rows of the training part: nothing to learn")
    _check_parts(name, target, rows, "different targets")  # nor an R² of one number
    scaled = ((target - mean) / deviation).astype(np.float32)
    return _scaled(name, "regression", features, scaled, rows, target_scale=(mean, deviation), **about)


def _scaled(
    name: str,
    task: Task,
    features: NDArray[np.floating],
    target: NDArray[np.int64] | NDArray[np.float32],
    rows: list[NDArray[np.int64]],
    scaling: str = "range",
    **about: Any,
) -> Splits:
    learned = scaling_called(scaling).of(features[rows[0]])
    train, validation, test = (Part(learned.apply(features[own]), target[own]) for own in rows)
    return Splits(name, task, train, validation, test, scaling=learned, **about)


def _check_parts(
    name: str, values: NDArray[np.generic], rows: list[NDArray[np.int64]], what: str, least: int = 2
) -> None:
    for part, own in zip(("validation", "test"), rows[1:], strict=True):
        if len(np.unique(values[own])) < least:
            raise ValueError(
                f"{name}: the {part} part, {len(own)} of {len(values)} rows, does not have {what}: give more "
                "rows"
            )


def _name(value: Any) -> str:
    """Of a class. A number without a fraction is told as an integer."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _listed(classes: tuple[Any, ...], labels: list[int]) -> str:
    names = ", ".join(repr(_name(classes[label])) for label in labels)
    return f"the class {names}" if len(labels) == 1 else f"the classes {names}"
