"""Reading run folders for a page. A folder that cannot be read is named, and not fatal."""

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kafnets.comparison.compare import RANKING
from kafnets.data import has_fixed_test
from kafnets.inspection.curves import LearnedFunctions, from_arrays
from kafnets.inspection.recorder import facts_about
from kafnets.registry import create, facts_of, names
from kafnets.train.metrics import MAIN
from kafnets.train.runs import CHECKPOINT, CONFIG, DONE, SHAPES, RunFolder

ALSO = {"control": ("area",)}
"""By task: scores that are shown beside the main one."""


@dataclass(frozen=True)
class Run:
    """A finished run: all that the page tells of it, checked.

    Attributes:
        path: its folder.
        config: everything the result depends on.
        comparison: runs that may stand in one table have it in common: experiment, profile, data, the column
            that is predicted (empty unless the data are a table), task.
        setting: what its seeds have in common: label and widths.
        seed: its seed.
        scores: on the test part, by metric, the main one first.
        validation: the main score there.
        epochs: a row per epoch.
        best_epoch: whose weights were kept.
        parameters: those that were trained.
        test_to_train: the size of a test part that each seed draws anew, as a share of the training part.
        about: data, rows and provenance, to be shown as they are.
    """

    path: Path
    config: dict[str, Any]
    comparison: tuple[str, str, str, str, str]
    setting: tuple[str, tuple[int, ...]]
    seed: int
    scores: dict[str, float]
    validation: float
    epochs: list[dict[str, float]]
    best_epoch: int
    parameters: int
    test_to_train: float
    about: dict[str, Any]

    def functions(self) -> list[LearnedFunctions]:
        """What was stored of its activations; nothing if that cannot be read."""
        try:
            with np.load(self.path / SHAPES, allow_pickle=False) as stored:
                return from_arrays(stored, self._older())
        except Exception:  # the page can do without
            return []

    def _older(self) -> LearnedFunctions | None:
        """What the functions of runs are that were stored before they told it themselves."""
        name, options = self.config["activation"], self.config.get("options", {})
        given = {key: options[key] for key in ("boundary", "dictionary_size") if key in options}
        if name not in names() or facts_of(name).owns_linear:
            return None
        return LearnedFunctions("", **facts_about(create(name, 2, **given)))


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
        raise FileNotFoundError(f"{folder} does not exist, or is not a folder: give the folder of your runs")
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
            run = read(path)
        except Exception as error:  # whatever is odd about one run, the others have their page
            found.damaged.append((name, f"{type(error).__name__}: {error}"))
            continue
        twin = seen.setdefault((run.comparison, run.setting, run.seed), name)
        if twin == name:
            found.runs.append(run)
        else:
            found.damaged.append((name, f"the same setting and seed as {twin}"))
    if not (found.runs or found.unfinished or found.damaged or found.tuned):
        raise FileNotFoundError(f"{folder} holds no run folders: give the folder of your runs")
    return found


def step_times(run: Run) -> dict[str, float]:
    """By label, the time of a training step over that of ReLU's, if its comparison has measured that."""
    try:
        ranking = json.loads((run.path.parents[1] / RANKING).read_text(encoding="utf-8"))
        return {row["label"]: float(row["step_against_relu"]) for row in ranking["rows"]}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}


def read(path: Path) -> Run:
    """A run folder. Raises if it is not whole, or lacks what a page needs."""
    folder = RunFolder(path)
    if not folder.done:
        raise ValueError("its files are not what they were when it was finished")
    config = plain(json.loads((path / CONFIG).read_text(encoding="utf-8")))
    report = plain(folder.report())
    data, task = report["data"], _text(report["data"]["task"])
    if task not in MAIN:
        raise ValueError(f"its task must be one of {', '.join(MAIN)}, got {task!r}")
    train, _, test = map(float, report["rows"])
    target = _text((config.get("table") or {}).get("target", ""))
    metrics = (MAIN[task], *ALSO.get(task, ()))
    epochs = [
        {key: float("nan" if value is None else value) for key, value in row.items()}
        for row in report["epochs"]
    ]
    return Run(
        path,
        config,
        (_text(config["experiment"]), _text(config["profile"]), _text(data["name"]), target, task),
        (_text(config["label"]), tuple(map(int, config["hidden"]))),
        int(config["seed"]),
        {metric: _finite(metric, report["test"][metric]) for metric in metrics},
        _finite(MAIN[task], report["validation"][MAIN[task]]),
        epochs,
        int(report["best_epoch"]),
        int(report["trained_parameters"]),
        0.0 if has_fixed_test(config["data"]) else test / train,
        {"data": data, "rows": report["rows"], "provenance": dict(report.get("provenance") or {})},
    )


def plain(content: Any, depth: int = 30) -> Any:
    """As a browser's JSON: without NaN and infinity, and not nested without end."""
    if not depth:
        raise ValueError("its JSON is nested too deeply")
    if isinstance(content, dict):
        return {key: plain(value, depth - 1) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [plain(value, depth - 1) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, got {value!r:.60}")
    return value


def _finite(name: str, value: object) -> float:
    if not isinstance(value, int | float):
        raise ValueError(f"its {name} should be a finite number, got {value!r:.60}")
    return float(value)
