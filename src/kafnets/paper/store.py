"""Where finished runs are read from: the store of a checkout, or a folder of run folders.

The store has, for each experiment, ``EXPERIMENT.jsonl`` with one record per line, and ``EXPERIMENT.npz`` with
the epochs of its runs and the learned functions that figures show; ``EXPERIMENT-confirmatory.jsonl`` with the
records of fresh seeds, without epochs; and ``SHA256SUMS``, a checksum for each.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kafnets.comparison.record import Epoch, Key, Record
from kafnets.comparison.runner import Runnable
from kafnets.comparison.summary import cells
from kafnets.data.folder import load_arrays
from kafnets.files import write, written_at_once
from kafnets.paper.experiments import describe
from kafnets.train.runs import DONE, RunFolder

CHECKSUMS = "SHA256SUMS"
FRESH = 100
"""The first seed of confirmatory studies: their runs are kept, and judged, apart from all others."""
SHOWN = {("sensorless", "paper", label, (100,), 0) for label in ("kaf", "kaf2d")}
"""Runs whose learned functions are stored, for Figures 6 and 7 and for the README."""

Shapes = dict[str, NDArray[Any]]


class Runs(Protocol):
    """Finished runs, wherever they are."""

    @property
    def records(self) -> list[Record]:
        """Sorted, without epochs where these are stored apart."""

    def epochs(self, record: Record) -> tuple[Epoch, ...]:
        """Losses and scores of one of them, epoch by epoch."""

    def shapes(self, record: Record) -> Shapes:
        """Learned functions of one of them, as arrays for ``kafnets.inspection.from_arrays``."""


def runs_in(path: Path) -> Runs:
    """The store, or the run folders, that a folder holds."""
    return Store(path) if (path / CHECKSUMS).exists() else RunFolders(path)


@dataclass(frozen=True)
class RunFolders:
    """Run folders, as ``kafnets reproduce`` leaves them, at any depth below ``path``."""

    path: Path

    @cached_property
    def folders(self) -> dict[Key, tuple[Record, RunFolder]]:
        """Finished ones, sorted. One that was changed since, or is there twice, is an error."""
        found: dict[Key, tuple[Record, RunFolder]] = {}
        for done in sorted(self.path.glob(f"**/{DONE}")):
            folder = RunFolder(done.parent)
            record = Record.of(folder)
            _, twin = found.setdefault(record.key, (record, folder))
            if twin is not folder:
                raise ValueError(f"{twin.path} and {folder.path} hold the same run: delete one of them")
        return dict(sorted(found.items()))

    @property
    def records(self) -> list[Record]:
        return [record for record, _ in self.folders.values()]

    def epochs(self, record: Record) -> tuple[Epoch, ...]:
        return record.epochs

    def shapes(self, record: Record) -> Shapes:
        return self.folders[record.key][1].shapes()


@dataclass(frozen=True)
class Store:
    """The store in ``path``."""

    path: Path

    @cached_property
    def records(self) -> list[Record]:
        found: list[Record] = []
        for name in self._checksums:
            if name.endswith(".jsonl"):
                lines = self._checked(name).read_text(encoding="utf-8").splitlines()
                found += map(Record.from_json, lines)
        return sorted(found, key=lambda record: record.key)

    def epochs(self, record: Record) -> tuple[Epoch, ...]:
        rows = self._arrays(_stem(record)).get(f"{_name(record)}/epochs", np.empty(0, dtype=[]))
        return tuple(dict(zip(rows.dtype.names or (), row, strict=True)) for row in rows.tolist())

    def shapes(self, record: Record) -> Shapes:
        prefix = f"{_name(record)}/shapes/"
        found = self._arrays(_stem(record)).items()
        return {name.removeprefix(prefix): values for name, values in found if name.startswith(prefix)}

    def missing(self, runs: Sequence[Runnable]) -> list[Runnable]:
        """Those that are not stored."""
        stored = {record.key for record in self.records}
        return [run for run in runs if key_of(run) not in stored]

    def add(self, runs: Path) -> list[Record]:
        """Add all finished runs below a folder, except those that are there already; returns the new ones.

        Nothing is written if one of them is damaged, has other settings than its experiment describes, was
        made on other data than the stored runs, or differs from the stored run of the same setting and seed.
        """
        stored = {record.key: record for record in self.records}
        new: list[tuple[Record, RunFolder]] = []
        for record, folder in RunFolders(runs).folders.values():
            folder.refuse_other(describe(record).config())
            there = stored.get(record.key)
            if there is None:
                new.append((record, folder))
            elif _without_epochs(record) != there:
                raise ValueError(
                    f"{folder.path} is not the stored run of the same setting and seed: delete the line in "
                    f"{self.path / _stem(record)}.jsonl first if this one should replace it"
                )
        added = [record for record, _ in new]
        cells([*self.records, *added])  # refuses other data
        for stem in sorted(set(map(_stem, added))):
            own = {record.key: (record, folder) for record, folder in new if _stem(record) == stem}
            arrays = dict(self._arrays(stem))
            for record, folder in own.values():
                if record.seed < FRESH:
                    arrays |= _arrays_of(record, folder)
            kept = [record for record in self.records if _stem(record) == stem]
            self._write(stem, [*kept, *(record for record, _ in own.values())], arrays)
        self.__dict__.pop("records", None)  # to be read anew
        return added

    def _write(self, stem: str, records: Iterable[Record], arrays: Shapes) -> None:
        ordered = sorted(records, key=lambda record: record.key)
        lines = "".join(f"{_without_epochs(record).to_json()}\n" for record in ordered)
        names = [f"{stem}.jsonl"]
        write(self.path / names[0], lines)
        if arrays:
            names.append(f"{stem}.npz")
            with written_at_once(self.path / names[1]) as temporary, temporary.open("wb") as stream:
                np.savez_compressed(stream, **dict(sorted(arrays.items())))  # type: ignore[arg-type]
        sums = self._checksums | {name: _checksum(self.path / name) for name in names}
        listed = "".join(f"{value}  {name}\n" for name, value in sorted(sums.items()))
        write(self.path / CHECKSUMS, listed)

    @property
    def _checksums(self) -> dict[str, str]:
        path = self.path / CHECKSUMS
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return {name: value for value, name in (line.split(maxsplit=1) for line in lines)}

    def _checked(self, name: str) -> Path:
        path = self.path / name
        if not path.exists() or _checksum(path) != self._checksums[name]:
            raise ValueError(
                f"{path} is not what {CHECKSUMS} says: restore both with git, and add new runs with "
                "`kafnets reproduce store`"
            )
        return path

    def _arrays(self, stem: str) -> Shapes:
        name = f"{stem}.npz"
        return load_arrays(self._checked(name)) if name in self._checksums else {}


def key_of(run: Runnable) -> Key:
    """As :attr:`Record.key` of the run once it is finished."""
    config = run.config()
    return config["experiment"], config["profile"], run.data, run.label, run.hidden, run.seed


def _stem(record: Record) -> str:
    """Of the names of the files that hold a run."""
    return record.experiment + ("-confirmatory" if record.seed >= FRESH else "")


def _name(record: Record) -> str:
    """Of a run, within the archive of its experiment."""
    _, profile, data, label, hidden, seed = record.key
    return f"{profile}/{data}/{label}/{'x'.join(map(str, hidden))}/{seed}"


def _without_epochs(record: Record) -> Record:
    return replace(record, epochs=())


def _arrays_of(record: Record, folder: RunFolder) -> Shapes:
    """For the archive: epochs as rows with named columns, and functions if they are shown."""
    found: Shapes = {}
    if record.epochs:
        kinds = [
            (name, np.int64 if isinstance(value, int) else np.float64)
            for name, value in record.epochs[0].items()
        ]
        rows = [tuple(row[name] for name, _ in kinds) for row in record.epochs]
        found[f"{_name(record)}/epochs"] = np.array(rows, dtype=kinds)
    if (record.experiment, record.profile, record.label, record.hidden, record.seed) in SHOWN:
        found |= {f"{_name(record)}/shapes/{name}": values for name, values in folder.shapes().items()}
    return found


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
