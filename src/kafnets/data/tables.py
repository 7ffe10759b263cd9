"""A user's own table, CSV or Parquet: mixed columns, gaps, and mistakes that are named."""

import difflib
import gzip
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

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

MOST_CATEGORIES = 100
"""A text column with more values is no category but a name or an identifier."""

MOSTLY = 0.9
"""A text column of which that share are numbers was meant to be numbers."""


def load(
    path: str | Path,
    target: str,
    seed: int = 0,
    *,
    task: Literal["classification", "regression"] | None = None,
    drop: Sequence[str] = (),
) -> Splits:
    """Read, divide 70/15/15 at random by the seed (each class alike) and prepare by the training part.

    Numbers are scaled, gaps filled with the median, text one-hot: categories that the training part does not
    have count as none, and a gap in text is a category of its own.

    Args:
        path: a .csv (also .csv.gz or .zip) or .parquet file with a header.
        target: the column to predict.
        seed: of the division.
        task: None: numbers with fractions or with more than 20 values are regression, all else
            classification.
        drop: columns to leave out.
    """
    path = Path(path)
    frame = read_frame(path)
    _check_columns(frame, target, drop, path)
    frame = frame.drop(columns=list(drop))
    notes = []
    if gaps := int(frame[target].isna().sum()):
        frame = frame[frame[target].notna()].reset_index(drop=True)
        notes.append(f"{gaps} rows without a {target} were left out")
    if len(frame) < 10:
        raise ValueError(f"{path} has {len(frame)} rows with a {target}: at least 10 are needed")
    digest = digest_of(*(_bytes_of(frame[name]) for name in frame.columns))
    values, generator = frame[target], np.random.default_rng(seed)
    chosen = task or _likely_task(values)
    if chosen == "regression":
        numbers = _numbers(values, path)
        if np.isnan(numbers).any():
            raise ValueError(f"{path}: the column {target!r} is not all numbers, so it cannot be regression")
        rows = random_rows(len(numbers), SHARES, generator)
        features = _features(frame.drop(columns=target), rows[0], path)
        return regression_splits(path.name, features, numbers, rows, digest=digest, notes=tuple(notes))
    classes, labels = np.unique(values.astype(str).to_numpy(dtype=str), return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"{path}: all rows have {target} = {str(classes[0])!r}: there must be two classes or more"
        )
    rows = stratified_rows(labels.astype(np.int64), SHARES, generator)
    features = _features(frame.drop(columns=target), rows[0], path)
    names = tuple(str(each) for each in classes)
    return classification_splits(
        path.name, features, labels.astype(np.int64), rows, names, digest=digest, notes=tuple(notes)
    )


def read_frame(path: Path) -> Any:
    """The file as a pandas DataFrame."""
    import pandas as pd

    if not path.exists():
        raise FileNotFoundError(f"{path} is not there")
    kind = "".join(path.suffixes[-2:]) if path.suffix in (".gz", ".zip") else path.suffix
    try:
        if kind == ".parquet":
            return pd.read_parquet(path)
        if kind in (".csv", ".csv.gz", ".csv.zip", ".zip"):
            return pd.read_csv(path)
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} is empty") from None
    except (EOFError, zlib.error, zipfile.BadZipFile, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is cut short or damaged ({error})") from error
    except (pd.errors.ParserError, UnicodeDecodeError, ValueError, OSError) as error:
        raise ValueError(f"{path} cannot be read as {kind.lstrip('.')}: {str(error).strip()}") from error
    raise ValueError(f"{path} must be a .csv, .csv.gz or .parquet file")


def _check_columns(frame: Any, target: str, drop: Sequence[str], path: Path) -> None:
    for name in (target, *drop):
        if name not in frame.columns:
            known = [str(column) for column in frame.columns]
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known[:20])}"
            raise ValueError(f"{path} has no column {name!r}: {hint}")
    if len(frame) == 0:
        raise ValueError(f"{path} has a header but no rows")
    if len(frame.columns) - len(set(drop)) < 2:
        raise ValueError(f"{path} has no column to predict {target!r} from")


def _likely_task(values: Any) -> str:
    from pandas.api import types

    if types.is_bool_dtype(values) or not types.is_numeric_dtype(values):
        return "classification"
    whole = (values == values.round()).all()
    return "classification" if whole and values.nunique() <= MOST_CLASSES else "regression"


def _features(frame: Any, train: NDArray[np.int64], path: Path) -> NDArray[np.float32]:
    columns = [_column(frame[name], train, path) for name in frame.columns]
    return np.concatenate(columns, axis=1)


def _column(values: Any, train: NDArray[np.int64], path: Path) -> NDArray[np.float32]:
    """One column of numbers, or one for each category."""
    from pandas.api import types

    name = values.name
    if values.iloc[train].isna().all():
        raise ValueError(f"{path}: the column {name!r} holds nothing but gaps in the training part: drop it")
    if types.is_datetime64_any_dtype(values):
        raise ValueError(f"{path}: the column {name!r} holds dates: drop it, or make numbers of them")
    if types.is_bool_dtype(values) or types.is_numeric_dtype(values):
        numbers = _numbers(values, path)
        return numbers.astype(np.float32)[:, None]
    text = values.astype(object).where(values.notna(), None)
    _refuse_nearly_numbers(text, path)
    known = sorted({str(each) for each in text.iloc[train] if each is not None})
    if len(known) > MOST_CATEGORIES:
        raise ValueError(
            f"{path}: the column {name!r} has {len(known)} different texts in the training part, too many "
            "for categories: drop it"
        )
    if any(each is None for each in text):
        known.append("")
    as_text = np.array(["" if each is None else str(each) for each in text])
    return (as_text[:, None] == np.array(known)[None, :]).astype(np.float32)


def _numbers(values: Any, path: Path) -> NDArray[np.float64]:
    numbers = values.astype("float64").to_numpy(dtype=np.float64, na_value=np.nan)
    infinite = np.flatnonzero(np.isinf(numbers))
    if infinite.size:
        raise ValueError(
            f"{path}: the column {values.name!r} is infinite in row {infinite[0] + 1}"
            f"{f' and {infinite.size - 1} more' if infinite.size > 1 else ''}: replace or drop"
        )
    return np.asarray(numbers)


def _refuse_nearly_numbers(text: Any, path: Path) -> None:
    """A few words among numbers are a mistake, not categories."""
    import pandas as pd

    given = text[text.notna()]
    numbers = pd.to_numeric(given, errors="coerce")
    if numbers.notna().mean() >= MOSTLY:
        row = numbers.isna().to_numpy().argmax()
        raise ValueError(
            f"{path}: the column {text.name!r} holds numbers but for {given.iloc[row]!r} in row "
            f"{given.index[row] + 1}: correct it, leave it empty, or drop the column"
        )


def _bytes_of(values: Any) -> NDArray[np.generic]:
    import pandas as pd

    hashes: NDArray[np.generic] = pd.util.hash_pandas_object(values, index=False).to_numpy()
    return hashes
