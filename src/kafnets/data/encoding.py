"""Encoding the columns of a table as numbers."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kafnets.checks import did_you_mean
from kafnets.data.dates import date_format, date_numbers, varying_parts
from kafnets.data.numbers import MOSTLY, but_for, comma_note, distinct_texts, number_form, numbers_of
from kafnets.data.reading import CODE

MOST_CATEGORIES = 100
"""A text column with more distinct values is treated as a name or an identifier."""

GAP = ""
"""The category of a missing text."""


@dataclass(frozen=True)
class Column:
    """A column of numbers, dates or categories.

    Attributes:
        name: in the table.
        categories: of text; None for numbers and dates.
        form: how text is read as numbers: "number", "thousands" (20,376 is 20376) or "decimal comma" (0,5 is
            0.5); for dates, their format.
        parts: of dates: the numbers that they become. Empty for all else.
    """

    name: str
    categories: tuple[str, ...] | None = None
    form: str = "number"
    parts: tuple[str, ...] = ()

    @property
    def features(self) -> tuple[str, ...]:
        """A name for each number that a row's value becomes."""
        if self.categories is not None:
            return tuple(f"{self.name} = {each or 'missing'}" for each in self.categories)
        return tuple(f"{self.name}: {part}" for part in self.parts) or (self.name,)

    def values(self, given: Any, called: str) -> NDArray[Any]:
        """Category numbers ``(rows,)``, -1 for unknown ones; else numbers ``(rows, parts)``, NaN for gaps.

        In float64: what is large but differs little, such as seconds since 1970, is still to be scaled.
        """
        if self.categories is not None:
            numbers, texts = distinct_texts(given)
            known = {each: number for number, each in enumerate(self.categories)}
            return np.array([known.get(each, -1) for each in [*texts, GAP]], dtype=np.int64)[numbers]
        if self.parts:
            dates = date_numbers(given, self.form)
            missing = np.flatnonzero(np.isnan(dates["year"]) & given.notna().to_numpy())
            if missing.size:
                raise ValueError(f"{called}: {but_for(given, 'dates', missing[0])}")
            return np.stack([dates[part] for part in self.parts], axis=1)
        return numbers_of(given, called, self.form)[:, None]

    def one_hot(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """What :meth:`values` gave as numbers, one per category."""
        if self.categories is None:
            return values
        return (values[:, None] == np.arange(len(self.categories))).astype(np.float64)

    def narrowed(self, values: NDArray[Any], train: NDArray[np.int64]) -> tuple[Self, NDArray[np.float64]]:
        """With the categories of the rows ``train`` alone, and what all rows become."""
        if self.categories is None:
            if np.isnan(values[train]).all():
                raise ValueError(
                    f"the column {self.name!r} has missing values only in the training part: drop it"
                )
            return self, values
        used = np.unique(values[train])
        narrow = replace(self, categories=tuple(self.categories[each] for each in used))
        return narrow, (values[:, None] == used).astype(np.float64)


@dataclass(frozen=True)
class Encoding:
    """All columns in their order: numbers as they are, text one-hot, NaN for gaps in numbers."""

    columns: tuple[Column, ...]

    @classmethod
    def of(cls, frame: Any, called: str) -> tuple[Self, list[str]]:
        """What all columns of a table are, and notes on what may surprise. All that are refused are named."""
        columns, notes, refused = [], list[str](), dict[str, str]()
        for name in frame.columns:
            try:
                column, note = learned(frame[name])
                columns.append(column)
                notes += [note] if note else []
            except ValueError as error:
                refused[name] = str(error)
        raise_all(called, refused)
        return cls(tuple(columns)), notes

    @classmethod
    def described(cls, content: Mapping[str, Any]) -> Self:
        """From what :meth:`describe` gave."""
        columns = [dict[str, Any](one) for one in content["columns"]]
        for one in columns:
            one |= {name: tuple(each) for name, each in one.items() if isinstance(each, list)}
        return cls(tuple(Column(**one) for one in columns))

    def describe(self) -> dict[str, Any]:
        """In numbers and text, for a file."""
        return asdict(self)

    @property
    def features(self) -> tuple[str, ...]:
        """A name for each number that a row becomes."""
        return tuple(name for column in self.columns for name in column.features)

    def apply(self, frame: Any, called: str) -> NDArray[np.float64]:
        """One column of numbers for each of numbers, and one for each category of text.

        Categories that the training part did not have count as none. Other columns of ``frame`` are left
        alone.
        """
        missing = [column.name for column in self.columns if column.name not in frame.columns]
        if missing:
            hint = hint_for(missing[0], frame)
            columns = f"column{'s' if len(missing) > 1 else ''} {', '.join(map(repr, missing))}"
            raise ValueError(f"{called} has no {columns}: {hint}")
        return np.concatenate(
            [each.one_hot(each.values(frame[each.name], called)) for each in self.columns], axis=1
        )

    def unseen(self, frame: Any) -> dict[str, list[str]]:
        """By column: categories that the training part did not have."""
        texts = {
            each.name: sorted({*distinct_texts(frame[each.name])[1]} - {*each.categories})
            for each in self.columns
            if each.categories is not None
        }
        return {name: each for name, each in texts.items() if each}


def learned(given: Any) -> tuple[Column, str]:
    """What a column is, with all categories that it has, and a note on what may surprise, or none."""
    import pandas as pd

    name = str(given.name)
    if given.isna().all():
        raise ValueError(f"the column {name!r} has missing values only: drop it")
    if pd.api.types.is_datetime64_any_dtype(given):
        return _date(given, "ISO8601")
    if form := number_form(given):
        return Column(name, form=form), comma_note(given, form)
    if form := _date_form(given):
        return _date(given, form)
    numbers, texts = distinct_texts(given)
    known = sorted(set(texts))
    codes = [each for each in known if re.fullmatch(CODE, each)]
    if len(known) > MOST_CATEGORIES:
        zeros = f" (it is text because of leading zeros, as in {codes[0]})" if codes else ""
        raise ValueError(
            f"the column {name!r} has {len(known)} different texts, too many for categories{zeros}: drop it"
        )
    gap = [GAP] if (numbers < 0).any() else []
    note = f"the column {name!r} was read as text because of leading zeros, as in {codes[0]}" if codes else ""
    return Column(name, (*known, *gap)), note


def raise_all(called: str, refused: Mapping[str, str]) -> None:
    """If there are any: what is wrong with columns, by their names."""
    if refused:
        drop = f". Columns to drop: {', '.join(map(str, refused))}" if len(refused) > 1 else ""
        raise ValueError(f"{called}: {'; '.join(refused.values())}{drop}")


def hint_for(name: str, frame: Any) -> str:
    """What may be meant by a column that a table does not have."""
    known = [str(column) for column in frame.columns]
    if len(known) == 1 and (near := [mark for mark in ";\t|" if mark in known[0]]):
        return f"columns seem to be separated by {near[0]!r}, save it with commas"
    return did_you_mean(name, known).rstrip() or f"it has {', '.join(known[:20])}"


def _date(given: Any, form: str) -> tuple[Column, str]:
    parts = varying_parts(date_numbers(given, form))
    told = "" if form == "ISO8601" else f" ({form})"
    note = f"the dates{told} in the column {given.name!r} became numbers: {', '.join(parts)}"
    return Column(str(given.name), form=form, parts=parts), note


def _date_form(given: Any) -> str:
    numbers, texts = distinct_texts(given, canonical=False)
    form, fits = date_format(texts)
    rows = numbers[numbers >= 0]
    share = fits[rows].mean()
    if MOSTLY <= share < 1:
        first = np.flatnonzero((numbers >= 0) & ~np.append(fits, True)[numbers])[0]
        raise ValueError(but_for(given, "dates", first))
    return form if share == 1 else ""
