"""Real data sets that come inside other packages of the index, without a download of their own."""

import importlib.util
from collections.abc import Callable
from typing import Any

from kafnets.data import tables
from kafnets.data.splits import Splits

TARGET = "target"


def load(name: str, seed: int = 0, scaling: str = "range") -> Splits:
    """One of them, divided 70/15/15 at random by the seed, each class alike."""
    try:
        frame = SETS[name]()
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{name} comes inside the package {error.name}: pip install 'kafnets[sets]'", name=error.name
        ) from error
    return tables.read(frame, TARGET, name=name).divide(seed, scaling)


def _of_river(kind: str) -> Any:
    import pandas as pd
    from river import datasets

    features, target = zip(*getattr(datasets, kind)(), strict=True)
    return pd.DataFrame(list(features)).assign(**{TARGET: target})


def _abalone() -> Any:
    from sklego.datasets import load_abalone

    # The number of rings, which are counted: up to 29 of them, so it is regression.
    return load_abalone(as_frame=True).rename(columns={"rings": TARGET})


def _hearts() -> Any:
    from sklego.datasets import load_hearts

    return load_hearts(as_frame=True)


def is_here(name: str) -> bool:
    """Whether the package that it comes inside is installed."""
    return importlib.util.find_spec(PACKAGES[name]) is not None


SETS: dict[str, Callable[[], Any]] = {
    "image_segments": lambda: _of_river("ImageSegments"),
    "phishing": lambda: _of_river("Phishing"),
    "hearts": _hearts,
    "abalone": _abalone,
}
"""By name: makes the table."""

PACKAGES = {"image_segments": "river", "phishing": "river", "hearts": "sklego", "abalone": "sklego"}
"""By name: the module that it comes inside."""

DESCRIPTIONS = {
    "image_segments": "2,310 regions of outdoor photographs, 18 features, 7 classes; comes with river",
    "phishing": "1,250 web sites, 9 features, 2 classes; comes with river",
    "hearts": "303 patients with and without heart disease, 13 columns, 2 classes; comes with scikit-lego",
    "abalone": "4,177 shells whose rings are to be predicted, 8 columns; comes with scikit-lego",
}
"""In one line each."""
