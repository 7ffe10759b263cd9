"""Text as numbers: decimal commas, thousands separators, and words among numbers, which are mistakes."""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kafnets.data.reading import CODE

MOSTLY = 0.9
"""A text column of which that share are numbers, or dates, was meant to be that."""

LARGEST = 1e150
"""Squares of larger numbers overflow."""

COMMAS = {
    "thousands": r"[+-]?(0|[1-9]\d{0,2}(,\d{3})*)(\.\d+)?",
    "decimal comma": r"[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?",
}
"""What a comma in a number may mean, and how numbers look then."""


def numbers_of(given: Any, called: str, form: str = "number") -> NDArray[np.float64]:
    """A column as numbers, NaN for gaps; infinite and huge ones are refused."""
    try:
        plain = _plain(given, form) if _is_text(given) else given
        numbers = plain.astype("float64").to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{called}: the column {given.name!r} should hold numbers: {error}") from error
    for what, rows in (
        ("is infinite", np.flatnonzero(np.isinf(numbers))),
        (f"is beyond ±{LARGEST:g}, too large to compute with,", np.flatnonzero(np.abs(numbers) > LARGEST)),
    ):
        if rows.size:
            more = f" and {rows.size - 1} more" if rows.size > 1 else ""
            raise ValueError(
                f"{called}: the column {given.name!r} {what} in row {rows[0] + 1}{more}: leave it empty if "
                f"the value is missing, otherwise rescale or drop the column"
            )
    return np.asarray(numbers)


def number_form(given: Any) -> str:
    """How all that is no gap can be read as numbers, or as true and false; "" if it cannot.

    A few words among numbers are a mistake.
    """
    import pandas as pd

    if isinstance(given.dtype, pd.CategoricalDtype):
        return ""
    if not _is_text(given) or pd.api.types.infer_dtype(given, skipna=True) == "boolean":
        return "number"
    numbers, texts = distinct_texts(given, canonical=False)
    if any(re.fullmatch(CODE, each) for each in texts) and all(each.isdecimal() for each in texts):
        return ""
    looks = {"number": pd.to_numeric(pd.Series(texts), errors="coerce").notna().to_numpy()}
    if not looks["number"].all() and any("," in each for each in texts):
        looks |= {
            form: np.array([re.fullmatch(pattern, each) is not None for each in texts])
            for form, pattern in COMMAS.items()
        }
        _check_commas(given, texts, looks)
    rows = numbers[numbers >= 0]
    form = max(looks, key=lambda each: looks[each][rows].mean())
    share = looks[form][rows].mean()
    if MOSTLY <= share < 1:
        first = np.flatnonzero((numbers >= 0) & ~np.append(looks[form], True)[numbers])[0]
        raise ValueError(but_for(given, "numbers", first))
    return form if share == 1 else ""


def comma_note(given: Any, form: str) -> str:
    """What commas were taken for."""
    if form == "number":
        return ""
    example = next(each for each in distinct_texts(given, canonical=False)[1] if "," in each)
    meaning = {"thousands": "thousands separators", "decimal comma": "decimal commas"}[form]
    return f"commas in the column {given.name!r} were read as {meaning}, as in {example}"


def _check_commas(given: Any, texts: list[str], looks: dict[str, NDArray[np.bool_]]) -> None:
    """Refuse numbers of which some have separators of thousands, it seems, and others need them."""
    commas = np.array(["," in each for each in texts])
    if looks["decimal comma"].all() and not looks["thousands"].all() and looks["thousands"][commas].all():
        one, other = texts[int(np.argmin(looks["thousands"]))], texts[int(np.argmax(commas))]
        raise ValueError(
            f"the column {given.name!r} holds {one} and {other}: the comma may separate thousands or "
            f"decimals: write all numbers in the same format"
        )


def but_for(given: Any, what: str, row: int) -> str:
    """Says which row of a column is unlike the others."""
    return (
        f"the column {given.name!r} holds {what} but for {given.iloc[row]!r} in row {row + 1}: correct it, "
        "leave it empty, or drop the column"
    )


def _is_text(given: Any) -> bool:
    from pandas.api import types

    return not (
        types.is_bool_dtype(given) or types.is_numeric_dtype(given) or hasattr(given.dtype, "categories")
    )


def _plain(given: Any, form: str) -> Any:
    """Text without what a form allows beside digits and a decimal point."""
    if form == "number":
        return given
    rows, texts = distinct_texts(given, canonical=False)
    mark = "," if form == "thousands" else "."
    odd = [mark in each and re.fullmatch(COMMAS[form], each) is None for each in texts]
    if any(odd):  # such as 0.5 among 0,7 and 1.234,5
        first = int(np.flatnonzero(np.array([*odd, False])[rows])[0])
        raise ValueError(f"{given.iloc[first]!r} in row {first + 1} does not have the form {form!r}")
    text = given.astype("str").where(given.notna())
    if form == "thousands":
        return text.str.replace(",", "", regex=False)
    return text.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)


def stripped(value: Any) -> Any:
    """Text without white space around it, a gap if there is nothing else; whatever is no text as it is."""
    return value.strip() or None if isinstance(value, str) else value


def distinct_texts(given: Any, *, canonical: bool = True) -> tuple[NDArray[np.int64], list[str]]:
    """The number of each row's text, -1 for a gap, and the texts."""
    import pandas as pd

    gaps = given.isna().to_numpy()
    numbers, texts = pd.factorize(given[~gaps].astype("str").to_numpy(dtype=object))
    all_numbers = np.full(len(given), -1, dtype=np.int64)
    all_numbers[~gaps] = numbers
    return all_numbers, [_canonical(each) if canonical else each.strip() for each in texts]


def _canonical(text: str) -> str:
    """The same for what a reader may take as text in one file and as numbers or truth values in another."""
    text = text.strip()
    if text.lower() in ("true", "false"):
        return text.lower()
    # Python takes "_" for a separator of thousands, and no reader of tables does.
    if "_" in text or re.fullmatch(CODE, text):
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
