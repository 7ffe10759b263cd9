"""Columns of a table as numbers: what the training part teaches about them, and how it is applied."""

import difflib
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_CATEGORIES = 100
"""A text column with more values is no category but a name or an identifier."""

MOSTLY = 0.9
"""A text column of which that share are numbers was meant to be numbers."""

GAP = ""
"""The category of a gap in text."""


@dataclass(frozen=True)
class Column:
    """A column of numbers, or of the categories that the training part has."""

    name: str
    categories: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Encoding:
    """All columns in their order: numbers as they are, text one-hot, NaN for gaps in numbers."""

    columns: tuple[Column, ...]

    @classmethod
    def of(cls, frame: Any, train: NDArray[np.int64], called: str) -> "Encoding":
        """Learn categories from the rows ``train``. Errors name the table as ``called``."""
        columns, refused = [], {}
        for name in frame.columns:
            try:
                columns.append(_learned(frame[name], train))
            except ValueError as error:
                refused[name] = str(error)
        if refused:
            drop = f". To drop: {', '.join(map(str, refused))}" if len(refused) > 1 else ""
            raise ValueError(f"{called}: {'; '.join(refused.values())}{drop}")
        return cls(tuple(columns))

    def apply(self, frame: Any, called: str) -> NDArray[np.float64]:
        """One column of numbers for each of numbers, and one for each category of text.

        Categories that the training part did not have count as none. Other columns of ``frame`` are left
        alone.
        """
        missing = [column.name for column in self.columns if column.name not in frame.columns]
        if missing:
            hint = hint_for(missing[0], frame)
            raise ValueError(f"{called} has no column {', '.join(map(repr, missing))}: {hint}")
        return np.concatenate([_encoded(frame[each.name], each, called) for each in self.columns], axis=1)


def hint_for(name: str, frame: Any) -> str:
    """What may be meant by a column that a table does not have."""
    known = [str(column) for column in frame.columns]
    if len(known) == 1 and (near := [mark for mark in ";\t|" if mark in known[0]]):
        return f"columns seem to be separated by {near[0]!r}, save it with commas"
    same = [each for each in known if each.lower() == name.lower()]
    near = same or difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known[:20])}"


def numbers_of(values: Any, called: str) -> NDArray[np.float64]:
    """A column as numbers, NaN for gaps; infinities are refused."""
    try:
        numbers = values.astype("float64").to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{called}: the column {values.name!r} should hold numbers: {error}") from error
    infinite = np.flatnonzero(np.isinf(numbers))
    if infinite.size:
        raise ValueError(
            f"{called}: the column {values.name!r} is infinite in row {infinite[0] + 1}"
            f"{f' and {infinite.size - 1} more' if infinite.size > 1 else ''}: replace or drop"
        )
    return np.asarray(numbers)


def _learned(values: Any, train: NDArray[np.int64]) -> Column:
    from pandas.api import types

    name = str(values.name)
    if values.iloc[train].isna().all():
        raise ValueError(f"the column {name!r} holds nothing but gaps in the training part: drop it")
    if types.is_datetime64_any_dtype(values):
        raise ValueError(f"the column {name!r} holds dates: drop it, or make numbers of them")
    if types.is_bool_dtype(values) or types.is_numeric_dtype(values):
        return Column(name)
    if are_numbers(values):
        return Column(name)
    text = _text(values)
    known = sorted(set(text[train]) - {GAP})
    if len(known) > MOST_CATEGORIES:
        if np.mean([_has_decimal_comma(each) for each in known]) > MOSTLY:
            raise ValueError(
                f"the column {name!r} has commas in place of decimal points, as in {known[0]}: write points"
            )
        raise ValueError(
            f"the column {name!r} has {len(known)} different texts in the training part, too many for "
            "categories: drop it"
        )
    if GAP in text[train]:
        known.append(GAP)
    return Column(name, tuple(map(str, known)))


def _encoded(values: Any, column: Column, called: str) -> NDArray[np.float64]:
    """In float64: what is large but differs little, such as seconds since 1970, is still to be scaled."""
    if column.categories is None:
        return numbers_of(values, called)[:, None]
    return (_text(values)[:, None] == np.array(column.categories)[None, :]).astype(np.float64)


def _text(values: Any) -> NDArray[np.str_]:
    return np.array(
        [GAP if gap else _canonical(str(each)) for each, gap in zip(values, values.isna(), strict=True)]
    )


def _canonical(text: str) -> str:
    """The same for what a reader may take as text in one file and as numbers or truth values in another."""
    text = text.strip()
    if text.lower() in ("true", "false"):
        return text.lower()
    if "_" in text:  # which Python takes for a separator of thousands, and no reader of tables does
        return text
    try:
        return str(int(text))  # exact, however long
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() else repr(number)


def _has_decimal_comma(text: str) -> bool:
    return re.fullmatch(r"[+-]?\d+,\d+", text) is not None


def are_numbers(values: Any) -> bool:
    """Whether all that is no gap is a number, or true or false. A few words among numbers are a mistake."""
    import pandas as pd

    rows = np.flatnonzero(values.notna().to_numpy())
    given = values.iloc[rows]
    numbers = pd.to_numeric(given, errors="coerce").notna().to_numpy()
    if numbers.all():
        return True
    if numbers.mean() >= MOSTLY:
        first = int(numbers.argmin())
        raise ValueError(
            f"the column {values.name!r} holds numbers but for {given.iloc[first]!r} in row "
            f"{rows[first] + 1}: correct it, leave it empty, or drop the column"
        )
    return False
