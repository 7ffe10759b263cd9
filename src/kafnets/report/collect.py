"""Reading run folders for a page. A folder that cannot be read is named, and not fatal."""

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kafnets.comparison.record import Record
from kafnets.inspection.curves import LearnedFunctions, from_arrays
from kafnets.inspection.recorder import facts_about
from kafnets.registry import create, facts_of, names
from kafnets.train.metrics import MAIN
from kafnets.train.runs import CHECKPOINT, CONFIG, DONE, RunFolder

ALSO = {"control": ("area",)}
"""By task: scores that are shown beside the main one."""


@dataclass(frozen=True)
class Run:
    """A finished run whose record has all that a page needs, and its folder."""

    record: Record
    path: Path

    @property
    def comparison(self) -> tuple[str, ...]:
        """What runs have in common that may stand in one table, whatever their depth."""
        one = self.record
        target = str((one.config.get("table") or {}).get("target", ""))
        named = one.experiment, one.profile, one.data.name, target
        return *named, one.data.task, str(one.config["data"]), one.data.sha256 or ""

    def functions(self) -> list[LearnedFunctions]:
        """What was stored of its activations; nothing if that cannot be read."""
        try:
            return from_arrays(RunFolder(self.path).shapes(), self._older())
        except Exception:  # the page can do without
            return []

    def _older(self) -> LearnedFunctions | None:
        """What the functions of runs are that were stored before they told it themselves."""
        name, options = self.record.config["activation"], self.record.config.get("options", {})
        given = {key: options[key] for key in ("boundary", "dictionary_size") if key in options}
        if name not in names() or facts_of(name).owns_linear:
            return None
        return LearnedFunctions("", **facts_about(create(name, 2, **given)))


@dataclass
class Collection:
    """What a folder holds."""

    runs: list[Run] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    """Those that cannot be shown, with the reason."""
    tuned: list[str] = field(default_factory=list)
    """Finished ones of `reproduce wider`, which have no curves to show."""


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
            run = read(path)
            twin = seen.setdefault(run.record.key, name)
        except Exception as error:  # whatever is odd about one run, the others have their page
            found.skipped.append((name, f"{type(error).__name__}: {error}"))
            continue
        if twin != name:
            found.skipped.append((name, f"the same setting and seed as {twin}"))
        elif run.record.tuning and run.record.experiment != "compare":
            found.tuned.append(name)
        else:
            found.runs.append(run)
    if not (found.runs or found.unfinished or found.skipped or found.tuned):
        what = "no run folders"
        if any(folder.glob("*.jsonl")):
            what = (
                "stored records, which `kafnets reproduce all` and `kafnets figures` show, and no run folders"
            )
        raise FileNotFoundError(f"{folder} holds {what}: give the folder of your runs, such as kafnets-runs")
    return found


def read(path: Path) -> Run:
    """A run folder. Raises if it is not whole, or its record is not what a page can show."""
    folder = RunFolder(path)
    if not folder.done:
        raise ValueError("its files were changed after it had finished")
    one = Record.of(folder)
    if one.data.task not in MAIN:
        raise ValueError(f"its task must be one of {', '.join(MAIN)}, got {one.data.task!r:.60}")
    for name in ("experiment", "profile", "label", "data"):
        _expect(one.config[name], str, name)
    for name in (MAIN[one.data.task], *ALSO.get(one.data.task, ())):
        _expect(one.test[name], float, f"test {name}")
    _expect(one.data.name, str, "data")
    _expect(one.trained_parameters, int, "trained_parameters")
    for width in (*one.hidden, *one.data.rows, one.seed):
        _expect(width, int, "hidden, rows and seed")
    _expect((one.config.get("table") or {}).get("target", ""), str, "target")
    rows = tuple({name: float(value) for name, value in row.items()} for row in one.epochs)
    return Run(
        replace(one, config=plain(one.config), provenance=plain(dict(one.provenance)), epochs=rows), path
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


def _expect(value: object, kind: type, name: str) -> None:
    right = (
        isinstance(value, int | float) and math.isfinite(value) if kind is float else isinstance(value, kind)
    )
    if not right:
        told = {str: "text", int: "an integer", float: "a finite number"}[kind]
        raise TypeError(f"its {name} should be {told}, got {value!r:.60}")
