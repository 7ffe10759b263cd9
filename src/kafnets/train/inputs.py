"""Rows as a user has them, made into numbers."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kafnets.data.encoding import Column, Encoding
from kafnets.data.reading import frame_of


def numbers_of_rows(rows: Any, encoding: Encoding | None, names: tuple[str, ...]) -> NDArray[np.float64]:
    """Encoded, but not scaled. Categories that training did not have count as none, with a warning.

    Args:
        rows: a table, or, if all its columns are numbers, an array.
        encoding: of a table's columns; None if there was an array.
        names: of the columns.
    """
    named = isinstance(rows, str | Path | Mapping) or hasattr(rows, "columns")
    if encoding is None and named:
        rows = frame_of(rows)
        if {*rows.columns} & {*names}:  # else by their places
            encoding = Encoding(tuple(map(Column, names)))
    if encoding is None or not (named or any(each.categories or each.parts for each in encoding.columns)):
        array = np.asarray(rows, dtype=np.float64)
        if array.ndim != 2 or array.shape[1] != len(names):
            raise ValueError(f"rows must have the shape (rows, {len(names)}), got {array.shape}")
        return array
    if not named:
        raise TypeError(
            f"rows must be a DataFrame, a dictionary or the path of a table, got {type(rows).__name__}: "
            f"the columns {', '.join(names)} are looked up by name"
        )
    frame = frame_of(rows)
    numbers = encoding.apply(frame, str(rows) if isinstance(rows, str | Path) else "the table")
    for name, texts in encoding.unseen(frame).items():
        more = f" and {len(texts) - 3} more" if len(texts) > 3 else ""
        told = f"{', '.join(map(repr, texts[:3]))}{more}"
        warnings.warn(f"column {name!r} has {told}, not seen in training: encoded as zeros", stacklevel=5)
    return numbers
