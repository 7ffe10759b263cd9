"""Dates as numbers: year, month, day, weekday and time of day."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

LOOKS = re.compile(r"\d{1,4}[-/. ]+(\d{1,2}|[A-Za-z]{3,9})[-/. ,]+\d{1,4}.*|[A-Za-z]{3,9} \d{1,2},? \d{4}.*")
"""What is worth a try."""

DAYS = ["%Y/%m/%d", "%d.%m.%Y", "%d.%m.%y", "%m/%d/%Y", "%m/%d/%y", "%d/%m/%Y", "%d/%m/%y", "%d-%m-%Y"]
DAYS += ["%m-%d-%Y", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%b %d %Y", "%d %B %Y", "%B %d, %Y"]
TIMES = ["", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p"]
FORMATS = ["ISO8601", *(day + time for day in DAYS for time in TIMES)]
"""In this order: of 3/4/2024, the month is the first."""


def date_format(texts: Sequence[str]) -> tuple[str, NDArray[np.bool_]]:
    """The format that fits most of the texts, and which of them it fits."""
    best, fits = "", np.zeros(len(texts), dtype=bool)
    candidates = [each for each in texts if LOOKS.fullmatch(each)]
    if len(candidates) < len(texts) / 2:
        return best, fits
    for form in FORMATS:
        # Most formats fit none, which one text shows, or one of a few.
        if not _read(candidates[:3], form).notna().any():
            continue
        found = _read(texts, form).notna() & np.array([LOOKS.fullmatch(each) is not None for each in texts])
        if found.sum() > fits.sum():
            best, fits = form, np.asarray(found)
    return best, fits


def date_numbers(given: Any, form: str) -> dict[str, NDArray[np.float64]]:
    """By name, the numbers that dates, or texts in that format, become; NaN for gaps and other texts."""
    import pandas as pd

    if not pd.api.types.is_datetime64_any_dtype(given):
        given = _read(given.astype("str").str.strip().where(given.notna()), form)
    moment = given.dt if given.dt.tz is None else given.dt.tz_convert("UTC").dt
    parts = {
        "year": moment.year,
        "month": moment.month,
        "day": moment.day,
        "weekday": moment.day_of_week,
        "hour": moment.hour + moment.minute / 60 + moment.second / 3600,
    }
    return {name: each.astype("float64").to_numpy() for name, each in parts.items()}


def varying_parts(numbers: dict[str, NDArray[np.float64]]) -> tuple[str, ...]:
    """Those that are not the same in all rows; the year if all are."""
    varying = [name for name, each in numbers.items() if np.nanmin(each) < np.nanmax(each)]
    return tuple(varying) or ("year",)


def _read(texts: Any, form: str) -> Any:
    import pandas as pd

    return pd.to_datetime(texts, format=form, errors="coerce", utc=True)
