"""Data sets, divided and prepared as in the paper, found in one folder or downloaded into it."""

import difflib
import functools
from collections.abc import Callable

from kafnets.data import bundled_sets, cifar10, package_sets, sensorless, susy
from kafnets.data.bundled import sensorless_sample as sensorless_sample
from kafnets.data.folder import data_folder as data_folder
from kafnets.data.splits import Part as Part
from kafnets.data.splits import Splits as Splits

LOADERS: dict[str, Callable[[int, str], Splits]] = {
    "sensorless": sensorless.load,
    "sensorless_sample": sensorless.load_sample,
    "susy": susy.load,
    "susy_sample": susy.load_sample,
    "cifar10": cifar10.load,
    **{name: functools.partial(bundled_sets.load, name) for name in bundled_sets.NAMES},
    **{name: functools.partial(package_sets.load, name) for name in package_sets.SETS},
}
"""By name: makes the splits from a seed and a scaling."""

DESCRIPTIONS = {
    "sensorless": "58,509 rows, 48 features, 11 classes; UCI data set 325, CC BY 4.0",
    "sensorless_sample": "5,500 rows of it, which ship with the package",
    "susy": "5,000,000 rows, 18 features, 2 classes; UCI data set 279",
    "susy_sample": "real rows of it in small number; not downloaded, to be put into the folder",
    "cifar10": "60,000 images of 32 x 32 pixels, 10 classes",
    **dict.fromkeys(bundled_sets.NAMES, "comes with scikit-learn"),
    **package_sets.DESCRIPTIONS,
}
"""In one line each."""

SHIPPED = ("sensorless_sample", *bundled_sets.NAMES, *filter(package_sets.is_here, package_sets.SETS))
"""Those that need no download."""

FIXED_TESTS = ("susy", "susy_sample", "cifar10")
"""Those whose test part is the same for all seeds."""


def load(name: str, seed: int = 0, scaling: str = "range") -> Splits:
    """A data set by name, divided at random by the seed where it has no division of its own.

    Args:
        name: one of :data:`LOADERS`.
        seed: of the division.
        scaling: of features, learned from the training part: "range", linearly to [-1, 1], as in the paper;
            or "robust", by median and quartiles and smoothly clipped, see ``kafnets.data.scaling``.
    """
    check_name(name)
    return LOADERS[name](seed, scaling)


def check_name(name: str) -> None:
    """Raise unless a data set is called so."""
    if name not in LOADERS:
        near = difflib.get_close_matches(name, LOADERS, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"no data set is called {name!r}: {hint}There are {', '.join(LOADERS)}")
