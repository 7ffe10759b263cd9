"""SUSY: 5,000,000 simulated collisions, 18 features, signal or background. Baldi et al., UCI data set 279."""

import gzip
import itertools
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kafnets.data import tables
from kafnets.data.dataset import DataSet
from kafnets.data.folder import data_folder, load_arrays, load_or_make
from kafnets.data.splits import Splits, classification_splits, digest_of, random_rows

ADDRESS = "https://archive.ics.uci.edu/ml/machine-learning-databases/00279/SUSY.csv.gz"
FEATURES = 18
HELD_OUT = 500_000
"""The last so many rows are for the test, as many before them for validation."""

SAMPLE = "a34bdbd9e66f1bae1068b2fc0c1c365b95cf7c4b51c1383c792dcf605bf3d0b6"
"""SHA-256 of features and labels of the sample that our results are from."""

CHUNK = 200_000
"""Rows that are read at once."""


def load(seed: int = 0, scaling: str = "range") -> Splits:
    """All of it, in the official division; ``seed`` changes nothing."""
    arrays = load_or_make("susy.npz", read_original, original="SUSY.csv.gz", address=ADDRESS, sha256=None)
    features, target = arrays["X"].astype(np.float32, copy=False), arrays["y"].astype(np.int64)
    count = len(target)
    if count <= 2 * HELD_OUT:
        raise ValueError(f"susy.npz holds {count} rows, too few for the official division: delete it")
    marks = [0, count - 2 * HELD_OUT, count - HELD_OUT, count]
    rows = [np.arange(begin, end) for begin, end in itertools.pairwise(marks)]
    return _splits("susy", features, target, rows, scaling, "SUSY is published without a hash")


def load_sample(seed: int = 0, scaling: str = "range") -> Splits:
    """Few but real rows, from susy_sample.npz in the data folder; a sixth of the first for validation."""
    features, target, learned, path = _read_sample()
    train, validation, rest = random_rows(learned, (5 / 6, 1 / 6, 0.0), np.random.default_rng(seed))
    rows = [np.concatenate([train, rest]), validation, np.arange(learned, len(target))]
    name = f"susy sample ({learned:,} + {len(target) - learned:,} rows)"
    why = "" if digest_of(features, target) == SAMPLE else f"{path} is not the sample of our results"
    return _splits(name, features, target, rows, scaling, why)


def _read_sample() -> tuple[NDArray[np.float32], NDArray[np.int64], int, Path]:
    """Features, labels, how many of the first rows are not for the test, and the file."""
    path = data_folder() / "susy_sample.npz"
    if not path.exists():
        raise FileNotFoundError(
            f"{path} does not exist: the sample cannot be downloaded, only the full data set"
        )
    arrays = load_arrays(path, ("X_train", "y_train", "X_test", "y_test"))
    features = np.concatenate([arrays["X_train"], arrays["X_test"]]).astype(np.float32)
    target = np.concatenate([arrays["y_train"], arrays["y_test"]]).astype(np.int64)
    return features, target, len(arrays["y_train"]), path


def _splits(
    name: str,
    features: NDArray[np.float32],
    target: NDArray[np.int64],
    rows: list[NDArray[np.int64]],
    scaling: str,
    unchecked: str,
) -> Splits:
    if features.ndim != 2 or features.shape != (len(target), FEATURES):
        raise ValueError(
            f"{name} should have {FEATURES} features in each row, got the shape {features.shape}"
        )
    notes = (f"{unchecked}: the number of features was checked, the rows were not",) if unchecked else ()
    digest = digest_of(features, target)
    return classification_splits(
        name, features, target, rows, _CLASSES, digest=digest, notes=notes, scaling=scaling
    )


_CLASSES = ("background", "signal")


def read_original(path: Path) -> dict[str, NDArray[np.generic]]:
    """The published text, compressed or not, piece by piece: 2.4 GB of it must not be in memory at once."""
    import pandas as pd

    features: list[NDArray[np.float32]] = []
    labels: list[NDArray[np.int8]] = []
    try:
        with pd.read_csv(path, header=None, dtype=np.float32, chunksize=CHUNK) as pieces:
            for piece in pieces:
                if piece.shape[1] != FEATURES + 1 or piece.isna().to_numpy().any():
                    raise ValueError(f"rows should hold {FEATURES + 1} numbers")
                labels.append(piece[0].to_numpy().astype(np.int8))
                features.append(piece.loc[:, 1:].to_numpy())
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} is empty") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is truncated or damaged ({error}): download it again") from error
    except ValueError as error:
        raise ValueError(f"{path} is not SUSY: {error}") from error
    return {"X": np.concatenate(features), "y": np.concatenate(labels)}


SETS = (
    DataSet(
        "susy",
        load,
        5_000_000,
        "simulated collisions, signal or background; 18 features, 2 classes",
        "see the page of the UCI data set",
        "Baldi, Sadowski and Whiteson, UCI data set 279",
        fixed_test=True,
    ),
    DataSet(
        "susy_sample",
        load_sample,
        20_982,
        "rows of susy; cannot be downloaded: put it into the folder",
        "see the page of the UCI data set",
        "Baldi, Sadowski and Whiteson, UCI data set 279",
        fixed_test=True,
        table=lambda: tables.read(*_read_sample()[:2], name="susy_sample"),
    ),
)
