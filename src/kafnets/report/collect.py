"""Reading run folders for a page. Nothing is trained, and nothing that is damaged is fatal."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kafnets.train.runs import CHECKPOINT, CONFIG, DONE, SHAPES, RunFolder


@dataclass(frozen=True)
class Run:
    """A finished one."""

    path: Path
    config: dict[str, Any]
    report: dict[str, Any]

    @property
    def comparison(self) -> tuple[str, str, str]:
        """Runs that may stand in one table: experiment, profile, data."""
        return self.config["experiment"], self.config["profile"], self.report["data"]["name"]

    @property
    def setting(self) -> tuple[str, tuple[int, ...]]:
        """What its seeds have in common: label and widths."""
        return self.config["label"], tuple(self.config["hidden"])

    def shapes(self) -> dict[str, NDArray[np.float16]]:
        """What was stored of its activations; empty if that cannot be read."""
        try:
            with np.load(self.path / SHAPES, allow_pickle=False) as stored:
                return {name: stored[name].astype(np.float16) for name in stored.files}
        except (OSError, ValueError):
            return {}


@dataclass
class Collection:
    """What a folder holds."""

    runs: list[Run] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)
    damaged: list[tuple[str, str]] = field(default_factory=list)
    tuned: list[str] = field(default_factory=list)
    """Finished ones of several settings, of which the best counts: they have no curves to show."""


def collect(folder: Path) -> Collection:
    """All run folders below ``folder``, in the order of their names."""
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not there, or is no folder: give the folder of your runs")
    found = Collection()
    marked = {path.parent for name in (CONFIG, DONE, CHECKPOINT) for path in folder.rglob(name)}
    seen: dict[object, str] = {}
    for path in sorted(marked):
        name = str(path.relative_to(folder))
        if not (path / DONE).exists():
            found.unfinished.append(name)
            continue
        try:
            if "tuned" in RunFolder(path).report():
                found.tuned.append(name)
                continue
            run = _run(path)
        except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
            found.damaged.append((name, f"{type(error).__name__}: {error}"))
            continue
        twin = seen.setdefault((run.comparison, run.setting, run.config["seed"]), name)
        if twin == name:
            found.runs.append(run)
        else:
            found.damaged.append((name, f"the same setting and seed as {twin}"))
    if not (found.runs or found.unfinished or found.damaged or found.tuned):
        raise FileNotFoundError(f"{folder} holds no run folders: give the folder of your runs")
    return found


def _run(path: Path) -> Run:
    folder = RunFolder(path)
    if not folder.done:
        raise ValueError("its files are not what they were when it was finished")
    run = Run(path, json.loads((path / CONFIG).read_text(encoding="utf-8")), folder.report())
    # Ask for all that a page needs, so that what is missing is found out here.
    _ = run.comparison, run.setting, run.config["seed"], run.report["epochs"][0]["epoch"]
    for part in ("test", "validation"):
        if not all(np.isfinite(value) for value in run.report[part].values()):
            raise ValueError(f"{part} scores should be finite numbers")
    return run
