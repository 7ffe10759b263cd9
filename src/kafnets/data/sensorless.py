"""Sensorless Drive Diagnosis: 58,509 rows, 48 features, 11 classes. M. Bator, UCI data set 325, CC BY 4.0."""

import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kafnets.data import tables
from kafnets.data.bundled import sensorless_sample
from kafnets.data.dataset import DataSet
from kafnets.data.folder import load_or_make
from kafnets.data.splits import Splits, classification_splits, digest_of, random_rows

ADDRESS = "https://archive.ics.uci.edu/ml/machine-learning-databases/00325/Sensorless_drive_diagnosis.txt"
ROWS, FEATURES, CLASSES = 58509, 48, 11
DIGESTS = (
    "0c527b802770dd73b4b7fa982b2150264841d367eeccb3f3f0e5f88b3332c73e",
    "1869861f160c9cbb7bc5adcdcd15033559f9b6125200e03633863fb6382848f9",
)
"""SHA-256 of the features as float32, and of the class numbers as int64."""

SHARES = (0.70, 0.15, 0.15)


def load(seed: int = 0, scaling: str = "range") -> Splits:
    """All of it, divided 70/15/15 at random by the seed, as in the paper."""
    arrays = load_or_make(
        "sensorless.npz", _read, original="Sensorless_drive_diagnosis.txt", address=ADDRESS, sha256=None
    )
    features, target = arrays["X"].astype(np.float32), arrays["y"].astype(np.int64)
    if (digest_of(features), digest_of(target)) != DIGESTS:
        raise ValueError(
            "sensorless.npz in the data folder is not the published data: delete it, and "
            "Sensorless_drive_diagnosis.txt next to it if it exists, and try again"
        )
    return _split("sensorless", features, target, seed, scaling)


def load_sample(seed: int = 0, scaling: str = "range") -> Splits:
    """The 5,500 rows that ship with the package, divided in the same way."""
    features, target = sensorless_sample()
    return _split("sensorless sample (5,500 rows)", features, target, seed, scaling)


def _split(
    name: str, features: NDArray[np.float32], target: NDArray[np.int64], seed: int, scaling: str
) -> Splits:
    rows = random_rows(len(target), SHARES, np.random.default_rng(seed))
    classes = tuple(range(1, CLASSES + 1))
    return classification_splits(
        name, features, target, rows, classes, digest=digest_of(features, target), scaling=scaling
    )


def _read(path: Path) -> dict[str, NDArray[np.generic]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an empty file, which is refused below
            table = np.loadtxt(path, dtype=np.float64, ndmin=2)
    except ValueError as error:
        raise ValueError(f"{path} is not a table of numbers: {error}") from error
    if table.shape != (ROWS, FEATURES + 1):
        raise ValueError(f"{path} should hold {ROWS} rows of {FEATURES + 1} numbers, got {table.shape}")
    return {"X": table[:, :-1].astype(np.float32), "y": table[:, -1].astype(np.int64) - 1}


SETS = (
    DataSet(
        "sensorless",
        load,
        ROWS,
        "drive conditions by electric currents; 48 features, 11 classes",
        "CC BY 4.0",
        "M. Bator, UCI data set 325",
    ),
    DataSet(
        "sensorless_sample",
        load_sample,
        5500,
        "500 rows of each class of sensorless",
        "CC BY 4.0",
        "M. Bator, UCI data set 325",
        "kafnets",
        table=lambda: tables.read(*sensorless_sample(), name="sensorless_sample"),
    ),
)
