"""A user's own table, CSV or Parquet: mixed columns, gaps, and mistakes that are named."""

import gzip
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kafnets.data.encoding import Encoding, are_numbers, hint_for, numbers_of
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


def load(
    path: str | Path,
    target: str,
    seed: int = 0,
    *,
    task: Literal["classification", "regression"] | None = None,
    drop: Sequence[str] = (),
    scaling: str = "range",
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
        scaling: of numbers: "range" or "robust", see ``kafnets.data.load``.
    """
    path = Path(path)
    frame = read_frame(path)
    _check_columns(frame, target, drop, path)
    return divided(
        frame.drop(columns=list(drop)),
        target,
        seed,
        task=task,
        called=path.name,
        origin=str(path),
        scaling=scaling,
    )


def divided(
    frame: Any,
    target: str,
    seed: int,
    *,
    task: Literal["classification", "regression"] | None = None,
    called: str,
    origin: str | None = None,
    scaling: str = "range",
) -> Splits:
    """As :func:`load`, for a pandas DataFrame.

    Args:
        frame: the table.
        target: the column to predict.
        seed: of the division.
        task: as for :func:`load`.
        called: its name.
        origin: where it is from, for errors; its name if None.
        scaling: as for :func:`load`.
    """
    origin = origin or called
    frame, notes = _without_row_numbers(frame, target)
    if gaps := int(frame[target].isna().sum()):
        frame = frame[frame[target].notna()].reset_index(drop=True)
        notes.append(f"{gaps} rows without a value of {target} were left out")
    if len(frame) < 10:
        raise ValueError(f"{origin} has {len(frame)} rows with a value of {target}: at least 10 are needed")
    digest = digest_of(*(_bytes_of(frame[name]) for name in frame.columns))
    from pandas.api import types

    values, generator = frame[target], np.random.default_rng(seed)
    if not task and _are_numbers(values, origin) and not types.is_bool_dtype(values):
        values = values.astype("float64")
    chosen = task or _likely_task(values)
    if chosen == "regression":
        numbers = numbers_of(values, origin)
        if np.isnan(numbers).any():
            raise ValueError(
                f"{origin}: the column {target!r} is not all numbers, so it cannot be regression"
            )
        rows = random_rows(len(numbers), SHARES, generator)
        features, encoding = _features(frame.drop(columns=target), rows[0], origin)
        return regression_splits(
            called,
            features,
            numbers,
            rows,
            digest=digest,
            notes=tuple(notes),
            encoding=encoding,
            scaling=scaling,
        )
    classes, labels = _classes(values)
    if len(classes) < 2:
        raise ValueError(
            f"{origin}: all rows have {target} = {classes[0]!r}: there must be two classes or more"
        )
    if not task and len(classes) > max(MOST_CLASSES, len(labels) // ROWS_A_CLASS):
        raise ValueError(
            f"{origin}: {target} has {len(classes)} different values in {len(labels)} rows, too many for "
            "classes: give another target, or say that it is classification all the same"
        )
    rows = stratified_rows(labels, SHARES, generator)
    features, encoding = _features(frame.drop(columns=target), rows[0], origin)
    return classification_splits(
        called,
        features,
        labels,
        rows,
        classes,
        digest=digest,
        notes=tuple(notes),
        encoding=encoding,
        scaling=scaling,
    )


def _are_numbers(values: Any, origin: str) -> bool:
    try:
        return are_numbers(values)
    except ValueError as error:
        raise ValueError(f"{origin}: {error}") from None


def _classes(values: Any) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Names of the classes in order, and each row's. Whole numbers are told as such, and go by size."""
    from pandas.api import types

    if types.is_numeric_dtype(values) and not types.is_bool_dtype(values):
        found, labels = np.unique(values.to_numpy(dtype=np.float64), return_inverse=True)
        names = tuple(str(int(each)) if float(each).is_integer() else str(float(each)) for each in found)
    else:
        found, labels = np.unique(values.astype(str).to_numpy(dtype=str), return_inverse=True)
        names = tuple(map(str, found))
    return names, labels.astype(np.int64)


NAMELESS = "Unnamed: 0"
"""What pandas calls a column without a name, such as the index that ``DataFrame.to_csv`` writes."""


def _without_row_numbers(frame: Any, target: str) -> tuple[Any, list[str]]:
    """The table without an index that was stored with it. Other columns that count the rows are told of.

    In tables that are sorted, the number of a row may tell its class.
    """
    notes = []
    for name in [name for name in frame.columns if name != target and _counts_rows(frame[name])]:
        if name == NAMELESS:
            frame = frame.drop(columns=name)
            notes.append("the first column, which has no name and counts the rows, was left out")
        else:
            notes.append(f"the column {name!r} counts the rows: if it says nothing about them, drop it")
    return frame, notes


def _counts_rows(values: Any) -> bool:
    from pandas.api import types

    if not types.is_integer_dtype(values) or len(values) < 2 or values.isna().any():
        return False
    numbers = values.to_numpy()
    return numbers[0] in (0, 1) and bool((np.diff(numbers) == 1).all())


def read_frame(path: Path) -> Any:
    """The file as a pandas DataFrame."""
    import pandas as pd

    if not path.exists():
        raise FileNotFoundError(f"{path} is not there")
    kind = "".join(path.suffixes[-2:]) if path.suffix in (".gz", ".zip") else path.suffix
    try:
        if kind == ".parquet":
            return pd.read_parquet(path).rename(columns=str)
        if kind in (".csv", ".csv.gz", ".csv.zip", ".zip"):
            return pd.read_csv(path)
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} is empty") from None
    except (EOFError, zlib.error, zipfile.BadZipFile, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is cut short or damaged ({error})") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 ({error}): save it as that") from error
    except (pd.errors.ParserError, ValueError, OSError) as error:
        raise ValueError(f"{path} cannot be read as {kind.lstrip('.')}: {str(error).strip()}") from error
    raise ValueError(f"{path} must be a .csv, .csv.gz or .parquet file")


def _check_columns(frame: Any, target: str, drop: Sequence[str], path: Path) -> None:
    if target in drop:
        raise ValueError(f"{target!r} cannot be the target and be dropped")
    for name in (target, *drop):
        if name not in frame.columns:
            raise ValueError(f"{path} has no column {name!r}: {hint_for(name, frame)}")
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


def _features(frame: Any, train: NDArray[np.int64], origin: str) -> tuple[NDArray[np.float64], Encoding]:
    encoding = Encoding.of(frame, train, origin)
    return encoding.apply(frame, origin), encoding


def _bytes_of(values: Any) -> NDArray[np.generic]:
    import pandas as pd

    hashes: NDArray[np.generic] = pd.util.hash_pandas_object(values, index=False).to_numpy()
    return hashes
