"""Tables as pandas DataFrames: files, frames of other libraries, arrays. What cannot be read is told why."""

import csv
import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

CODE = r"0+[1-9]\d*"
"""An integer with leading zeros is a code, such as a postcode."""

PIECE = 1 << 20
SIGNATURES = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"PAR1": "parquet"}
KINDS = {".csv": "", ".csv.gz": "gzip", ".zip": "zip", ".parquet": "parquet", ".xlsx": "zip"}
"""By how a file's name ends: what is inside."""


def frame_of(source: Any) -> Any:
    """A pandas DataFrame whose columns are called by text.

    Args:
        source: the path of a file, see :func:`read_frame`; a DataFrame of pandas or polars; a dictionary of
            columns; or an array ``(rows, features)``, whose columns are called x0, x1 and so on.
    """
    import pandas as pd

    if isinstance(source, str | Path):
        return read_frame(Path(source))
    if isinstance(source, pd.DataFrame):
        frame = source.rename(columns=str).reset_index(drop=True)
    elif hasattr(source, "to_pandas"):
        frame = source.to_pandas()
    elif isinstance(source, Mapping):
        columns = {str(name): each for name, each in source.items()}
        frame = pd.DataFrame(columns if any(map(pd.api.types.is_list_like, source.values())) else [columns])
    else:
        array = np.asarray(source)
        if array.ndim != 2 or array.dtype.kind not in "fiubOUS":
            raise TypeError(
                "a table must be a path, a DataFrame, a dictionary of columns or an array (rows, features), "
                f"got {type(source).__name__} of shape {array.shape}"
            )
        frame = pd.DataFrame(array, columns=[f"x{number}" for number in range(array.shape[1])])
        frame = frame.infer_objects()
    if frame.columns.nlevels > 1:
        raise ValueError(f"columns must have one name each, got {frame.columns.nlevels} levels: join them")
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise ValueError(f"the table has two columns called {twice!r}: rename one")
    return frame


def read_frame(path: Path) -> Any:
    """A .csv (also .csv.gz or zipped), .parquet or .xlsx file with a header as a pandas DataFrame."""
    import pandas as pd

    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    kind = _kind(path)
    try:
        if kind == ".parquet":
            return pd.read_parquet(path).rename(columns=str)
        if kind == ".xlsx":
            return pd.read_excel(path).rename(columns=str)
        return _read_csv(path)
    except ImportError as error:
        package = "openpyxl" if kind == ".xlsx" else "pyarrow"
        raise ValueError(
            f"{path} cannot be read without {package}: pip install {package}, or save it as .csv"
        ) from error
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} is empty") from None
    except (EOFError, zlib.error, zipfile.BadZipFile, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is truncated or damaged ({error}): get it again") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 ({error}): save it as UTF-8") from error
    except _RowError as error:
        raise ValueError(f"{path}, {error}") from None
    except (pd.errors.ParserError, csv.Error, ValueError, OSError, KeyError) as error:
        told = re.sub(r"^Error tokenizing data\. C error: ", "", str(error).strip())
        raise ValueError(f"{path} cannot be read as {kind.lstrip('.')}: {told}") from error


class _RowError(ValueError):
    pass


def _kind(path: Path) -> str:
    """How its name ends, if that is known and what is inside fits."""
    lower = path.name.lower()
    kind = next((each for each in KINDS if lower.endswith(each)), None)
    if kind is None:
        raise ValueError(f"{path} must be a {', '.join(list(KINDS)[:-1])} or {list(KINDS)[-1]} file")
    with path.open("rb") as stream:
        beginning = stream.read(4)
    inside = next((each for mark, each in SIGNATURES.items() if beginning.startswith(mark)), "")
    if inside != KINDS[kind] and beginning and (inside or KINDS[kind] == "gzip"):
        told = {"": "no compressed file", "zip": "a zip archive or an Excel workbook", "gzip": "a gzip file"}
        ends = {"": ".csv", "zip": ".zip or .xlsx", "gzip": ".csv.gz", "parquet": ".parquet"}
        raise ValueError(
            f"{path} is {told.get(inside, f'a {inside} file')}: rename it so that it ends with {ends[inside]}"
        )
    return kind


def _read_csv(path: Path) -> Any:
    """As pandas does, but rows that are too long are an error, and codes with leading zeros stay text."""
    import pandas as pd

    try:
        pd.read_csv(path, header=None, nrows=2, dtype=str)
    except pd.errors.ParserError:  # else pandas would take the first columns for an index
        if told := _first_long_row(path):
            raise _RowError(told) from None
        raise
    frame = pd.read_csv(path)
    whole = [name for name in frame.columns if _holds_integers(frame[name])]
    if whole and _has_leading_zeros(path):
        text = pd.read_csv(path, usecols=whole, dtype=str)
        codes = [name for name in whole if text[name].str.strip().str.fullmatch(CODE).any()]
        frame = frame.assign(**{name: text[name] for name in codes})
    return frame


def _holds_integers(given: Any) -> bool:
    """With gaps, they are floating-point numbers to pandas."""
    if given.dtype.kind == "f":
        return all((part.isna() | (part % 1 == 0)).all() for part in (given[:1000], given))
    return bool(given.dtype.kind in "iu")


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    if path.suffix.lower() == ".zip":
        with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as stream:
            yield stream
    else:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as stream:
            yield stream  # type: ignore[misc]


def _has_leading_zeros(path: Path) -> bool:
    """Whether any field may be a code. Only then its columns are read once more, as text."""
    end = b"\n"
    with _opened(path) as stream:
        while piece := stream.read(PIECE):
            text = np.frombuffer(end + piece, np.uint8)
            # Commas, quotes and white space are all up to 44; with numpy for speed.
            if ((text[:-2] <= 44) & (text[1:-1] == ord("0")) & (text[2:] - np.uint8(ord("0")) <= 9)).any():
                return True
            end = piece[-2:]
    return False


def _first_long_row(path: Path) -> str:
    """Which line has more fields than the header; nothing if none has."""
    with _opened(path) as stream:
        rows = csv.reader(io.TextIOWrapper(stream, "utf-8", "replace"))  # lines may end with \r
        width = len(next(rows))
        for row in rows:
            if len(row) > width:
                return (
                    f"line {rows.line_num}: {len(row)} fields, but the header has {width}: quote fields that "
                    "contain commas, and give every column a name"
                )
    return ""
