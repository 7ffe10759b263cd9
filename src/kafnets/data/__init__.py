"""Data sets, divided and prepared as in the paper, found in one folder or downloaded into it."""

from kafnets.checks import did_you_mean
from kafnets.data import bundled_sets, cifar10, package_sets, sensorless, susy
from kafnets.data.bundled import sensorless_sample as sensorless_sample
from kafnets.data.dataset import DataSet as DataSet
from kafnets.data.folder import data_folder as data_folder
from kafnets.data.splits import Part as Part
from kafnets.data.splits import Splits as Splits

SETS = {
    each.name: each
    for each in (*sensorless.SETS, *susy.SETS, *cifar10.SETS, *bundled_sets.SETS, *package_sets.SETS)
}
"""By name."""


def load(name: str, seed: int = 0, scaling: str = "range") -> Splits:
    """Load a data set by name, divided randomly by the seed unless it has an official division.

    Args:
        name: one of :data:`SETS`.
        seed: of the division.
        scaling: of features, computed from the training part: "range", linearly to [-1, 1], as in the paper;
            or "robust", by median and quartiles and smoothly clipped, see ``kafnets.data.scaling``.
    """
    return find(name).load(seed, scaling)


def find(name: str) -> DataSet:
    """The data set that is called so."""
    if name not in SETS:
        hint = did_you_mean(name, SETS)
        raise ValueError(f"no data set is called {name!r}: {hint}There are {', '.join(SETS)}")
    return SETS[name]


def has_fixed_test(name: str) -> bool:
    """Whether a data set of that name has a test part that is the same for all seeds."""
    return name in SETS and SETS[name].fixed_test
