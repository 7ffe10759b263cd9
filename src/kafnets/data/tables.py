"""Users' tables, with columns of any kind and missing values: read once, divided for each seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kafnets.data.encoding import Column, Encoding, hint_for, raise_all
from kafnets.data.numbers import comma_note, number_form, numbers_of, stripped
from kafnets.data.reading import frame_of
from kafnets.data.splits import (
    Splits,
    classification_splits,
    digest_of,
    random_rows,
    regression_splits,
    stratified_rows,
)

SHARES = (0.70, 0.15, 0.15)
MOST_CLASSES = 20
"""A whole-number target with up to so many values is a class, with more a number."""

ROWS_A_CLASS = 5
"""A target with fewer rows for each of many values is a name or an identifier."""

NAMELESS = "Unnamed: 0"
"""What pandas calls a column without a name, such as the index that ``DataFrame.to_csv`` writes."""


@dataclass(frozen=True)
class Table:
    """A table that has been read: all columns are numbers, or numbers of categories.

    Attributes:
        name: of the table.
        columns: a description of each feature's column; categories are those of all rows.
        values: of each of them, see :meth:`Column.values`.
        target: class numbers (int64), or numbers (float64).
        class_values: the classes as in the table: integers, booleans or text. None for regression.
        digest: SHA-256 of the table as it was read.
        notes: remarks on how it was read.
    """

    name: str
    columns: tuple[Column, ...]
    values: tuple[NDArray[Any], ...]
    target: NDArray[np.int64] | NDArray[np.float64]
    class_values: tuple[Any, ...]
    digest: str
    notes: tuple[str, ...]

    def divide(self, seed: int = 0, scaling: str = "range") -> Splits:
        """Divide 70/15/15 randomly, stratified by class, with preprocessing fitted to the training part.

        Args:
            seed: of the division.
            scaling: of numbers: "range" or "robust", see ``kafnets.data.load``.
        """
        target, rows = self.target, self.rows(seed)
        encoding, features = self._features(rows[0])
        about = dict[str, Any](digest=self.digest, notes=self.notes, encoding=encoding, scaling=scaling)
        if self.class_values:
            return classification_splits(
                self.name, features, target.astype(np.int64, copy=False), rows, self.class_values, **about
            )
        return regression_splits(self.name, features, target.astype(np.float64, copy=False), rows, **about)

    def rows(self, seed: int = 0) -> list[NDArray[np.int64]]:
        """Row numbers of the training, validation and test part."""
        generator = np.random.default_rng(seed)
        if self.class_values:
            return stratified_rows(self.target.astype(np.int64, copy=False), SHARES, generator)
        return random_rows(len(self.target), SHARES, generator)

    def frame(self) -> Any:
        """All features as a pandas DataFrame: numbers, with NaN for missing values, and categories."""
        import pandas as pd

        columns: dict[str, Any] = {}
        for column, values in zip(self.columns, self.values, strict=True):
            if column.categories is not None:
                columns[column.name] = pd.Categorical.from_codes(values, list(column.categories))
            else:
                columns |= dict(zip(column.features, values.T, strict=True))
        return pd.DataFrame(columns)

    def _features(self, train: NDArray[np.int64]) -> tuple[Encoding, NDArray[np.float64]]:
        narrowed, refused = [], {}
        for column, values in zip(self.columns, self.values, strict=True):
            try:
                narrowed.append(column.narrowed(values, train))
            except ValueError as error:
                refused[column.name] = str(error)
        raise_all(self.name, refused)
        columns, parts = zip(*narrowed, strict=True)
        return Encoding(columns), np.concatenate(parts, axis=1)


def read(
    source: Any,
    target: Any,
    *,
    task: Literal["classification", "regression"] | None = None,
    drop: Sequence[str] = (),
    name: str = "table",
) -> Table:
    """Read a table and encode its columns, once for all divisions.

    Missing numbers are filled with the median later; text is one-hot encoded, with a category for missing
    values, and categories that a training part does not contain are encoded as zeros. Dates become numbers.

    Args:
        source: the path of a .csv (also .csv.gz or .zip), .parquet or .xlsx file with a header; a DataFrame
            of pandas or polars; a dictionary of columns; or an array ``(rows, features)``.
        target: the column to predict, or its values.
        task: None: numbers with fractions or with more than 20 values are regression, all else
            classification.
        drop: columns to leave out.
        name: of the table, unless it is a file.
    """
    path = isinstance(source, str | Path)
    name, origin = (Path(source).name, str(source)) if path else (name, name)
    frame = frame_of(source)
    drop = list(map(str, drop))  # as columns are called
    if not isinstance(target, str):
        frame, target = _with_target(frame, target, drop)
    _check_columns(frame, target, drop, origin)
    if frame[target].dtype.kind == "O":  # text, perhaps with white space around, or nothing else
        frame = frame.assign(**{target: frame[target].map(stripped)})
    frame, notes = _without_row_numbers(frame.drop(columns=list(drop)), target)
    if gaps := int(frame[target].isna().sum()):
        frame = frame[frame[target].notna()].reset_index(drop=True)
        notes.append(f"{gaps} rows without a value of {target} were omitted")
    if len(frame) < 10:
        raise ValueError(f"{origin} has {len(frame)} rows with a value of {target}: at least 10 are needed")
    digest = digest_of_frame(frame)
    values, class_values = _target(frame[target], task, gaps > 0, notes, origin)
    encoding, more = Encoding.of(frame.drop(columns=target), origin)
    encoded = tuple(column.values(frame[column.name], origin) for column in encoding.columns)
    return Table(name, encoding.columns, encoded, values, class_values, digest, (*notes, *more))


def load(
    path: str | Path,
    target: str,
    seed: int = 0,
    *,
    task: Literal["classification", "regression"] | None = None,
    drop: Sequence[str] = (),
    scaling: str = "range",
) -> Splits:
    """:func:`read` and :meth:`Table.divide` in one."""
    return read(path, target, task=task, drop=drop).divide(seed, scaling)


def digest_of_frame(frame: Any) -> str:
    """Of a pandas DataFrame: SHA-256 of all its values, column by column."""
    import pandas as pd

    hashes = (pd.util.hash_pandas_object(frame[each], index=False) for each in frame.columns)
    return digest_of(*(each.to_numpy() for each in hashes))


def _with_target(frame: Any, target: Any, drop: Sequence[str]) -> tuple[Any, str]:
    values = np.asarray(target)
    if values.shape != (len(frame),):
        raise ValueError(
            f"target must be the name of a column, or one value per row, {len(frame)} of them, "
            f"got the shape {values.shape}"
        )
    name = str(getattr(target, "name", None) or "target")
    if name in frame.columns and name not in drop:  # which would be learned from
        raise ValueError(f"target is called {name!r}, as a column is: give target={name!r}, or drop that")
    while name in frame.columns:
        name += "_"
    return frame.assign(**{name: getattr(target, "array", values)}), name


def _target(
    values: Any, task: str | None, had_gaps: bool, notes: list[str], origin: str
) -> tuple[NDArray[np.int64] | NDArray[np.float64], tuple[Any, ...]]:
    """Each row's number and no classes, or its class number and the classes."""
    target = values.name
    values = values.infer_objects()
    try:
        form = number_form(values)
    except ValueError as error:
        if task != "classification":
            raise ValueError(f"{origin}: {error}") from None
        form = ""
    chosen = task or _likely_task(values, form, origin)
    if chosen == "regression":
        if not form:
            raise ValueError(f"{origin}: {target!r} is not all numbers, so it cannot be regression")
        notes += filter(None, [comma_note(values, form)])
        return numbers_of(values, origin, form), ()
    classes, labels = _classes(values, form, had_gaps)
    if len(classes) < 2:
        raise ValueError(
            f"{origin}: all rows have {target} = {classes[0]!r}: there must be two classes or more"
        )
    if not task and len(classes) > max(MOST_CLASSES, len(labels) // ROWS_A_CLASS):
        raise ValueError(
            f"{origin}: {target} has {len(classes)} different values in {len(labels)} rows, too many for "
            f"classes: give another target, or set the task to classification"
        )
    return labels, classes


def _likely_task(values: Any, form: str, origin: str) -> str:
    from pandas.api import types

    if not form or types.is_bool_dtype(values):
        return "classification"
    numbers = numbers_of(values, origin, form)
    whole = (numbers == numbers.round()).all()
    return "classification" if whole and len(np.unique(numbers)) <= MOST_CLASSES else "regression"


def _classes(values: Any, form: str, had_gaps: bool) -> tuple[tuple[Any, ...], NDArray[np.int64]]:
    """The classes in order, as what they were, and each row's number. Numbers go by size.

    Integers in a column with gaps are floating-point numbers to pandas.
    """
    import pandas as pd
    from pandas.api import types

    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(values.dtype.categories.dtype)
    if types.is_bool_dtype(values) or types.is_numeric_dtype(values):
        kind = {"b": "bool", "f": "float64", "u": "uint64"}.get(values.dtype.kind, "int64")
        found, labels = np.unique(values.to_numpy(dtype=kind), return_inverse=True)
        if kind == "float64" and had_gaps and (found == found.round()).all():
            found = found.astype(np.int64)
        return tuple(found.tolist()), labels.astype(np.int64)
    texts, labels = np.unique(values.astype(str).to_numpy(dtype=str), return_inverse=True)
    if form:
        order = np.argsort(numbers_of(pd.Series(texts), "classes", form), kind="stable")
        return tuple(texts[order].tolist()), np.argsort(order)[labels].astype(np.int64)
    return tuple(texts.tolist()), labels.astype(np.int64)


def _without_row_numbers(frame: Any, target: str) -> tuple[Any, list[str]]:
    """The table without an index that was stored with it. Other columns that count the rows are told of.

    In tables that are sorted, the number of a row may tell its class.
    """
    notes = []
    for name in [name for name in frame.columns if name != target and _counts_rows(frame[name])]:
        if name == NAMELESS:
            frame = frame.drop(columns=name)
            notes.append("the first column, which has no name and counts the rows, was omitted")
        else:
            notes.append(f"the column {name!r} counts the rows: if it carries no information, drop it")
    return frame, notes


def _counts_rows(values: Any) -> bool:
    """From any number, in any order."""
    if values.dtype.kind not in "iu" or len(values) < 2 or values.isna().any():
        return False
    return int(values.max()) - int(values.min()) == len(values) - 1 and bool(values.is_unique)


def _check_columns(frame: Any, target: str, drop: Sequence[str], origin: str) -> None:
    from pandas.api import types

    if target in drop:
        raise ValueError(f"{target!r} cannot be both the target and dropped")
    for name in (target, *drop):
        if name not in frame.columns:
            raise ValueError(f"{origin} has no column {name!r}: {hint_for(name, frame)}")
    if len(frame) == 0:
        raise ValueError(f"{origin} has a header but no rows")
    if len(frame.columns) - len(set(drop)) < 2:
        raise ValueError(f"{origin} has no column to predict {target!r} from")
    for name in frame.columns.drop(list(drop)):
        if types.is_complex_dtype(frame[name]):
            raise ValueError(
                f"{origin}: the column {name!r} holds complex numbers: split it into two columns"
            )
        if types.is_object_dtype(frame[name]):
            lists = frame[name].map(lambda each: isinstance(each, list | tuple | dict | set | np.ndarray))
            if lists.any():
                raise ValueError(
                    f"{origin}: the column {name!r} holds lists, the first in row {int(lists.argmax()) + 1}: "
                    "use one column per element, or drop it"
                )
