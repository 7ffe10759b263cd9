"""Stored results, asked for by name."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafnets.comparison.runner import Runnable
from kafnets.comparison.summary import MOST_SEEDS, Cell, cells
from kafnets.paper import rl, wider
from kafnets.paper.experiments import EXPERIMENTS
from kafnets.train.runs import RunFolder


@dataclass(frozen=True)
class Evidence:
    """The results of one repository.

    Attributes:
        root: the folder that holds ``results`` and ``benchmarks``.
    """

    root: Path

    @property
    def results(self) -> Path:
        """The folder of run folders."""
        return self.root / "results"

    def cells(
        self, experiment: str, profile: str, labels: Sequence[str], layers: Sequence[int] = ()
    ) -> list[Cell]:
        """Of one of the paper's supervised experiments, those that have finished runs."""
        wanted = EXPERIMENTS[experiment].descriptions(profile, labels, layers, MOST_SEEDS)
        return self._found(wanted)

    def cell(self, experiment: str, profile: str, label: str, layers: int) -> Cell | None:
        """One of them, None if no run of it is finished."""
        return next(iter(self.cells(experiment, profile, [label], [layers])), None)

    def policies(self, steps: int, environment: str, metric: str) -> dict[str, Cell]:
        """Of reinforcement learning, by label."""
        wanted = rl.descriptions([environment], rl.ACTIVATIONS, steps, MOST_SEEDS)
        return {cell.label: cell for cell in self._found(wanted, metric)}

    def lengths(self) -> list[int]:
        """Numbers of steps that policies were trained for, most first."""
        found = {rl.steps_of(path.name) for path in (self.results / "rl").glob("*")}
        return sorted((steps for steps in found if steps is not None), reverse=True)

    def longest(self, environment: str) -> int | None:
        """The most steps for which two seeds of each activation are finished; None if there are none."""
        for steps in self.lengths():
            seeds = [set(cell.test) for cell in self.policies(steps, environment, "area").values()]
            if len(seeds) == len(rl.ACTIVATIONS) and len(set.intersection(*seeds)) > 1:
                return steps
        return None

    def tuned(self, data: str) -> dict[str, Cell]:
        """Of the comparison beyond the paper's data, by label."""
        return {cell.label: cell for cell in self._found(wider.descriptions([data], seeds=MOST_SEEDS))}

    def reports(self, folder: Path) -> list[dict[str, Any]]:
        """Of all finished runs below a folder of results."""
        return [run.report() for run in self._runs(folder) if run.done]

    def damaged(self) -> list[Path]:
        """Folders of runs that were finished and have been changed since."""
        return [run.path for run in self._runs(Path()) if run.damaged]

    def _runs(self, folder: Path) -> list[RunFolder]:
        return [RunFolder(done.parent) for done in sorted((self.results / folder).glob("**/DONE"))]

    def benchmark(self, name: str) -> dict[str, Any] | None:
        """What has been measured, by the name of its file; None if it has not."""
        path = self.root / "benchmarks/results" / f"{name}.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    def _found(self, wanted: Sequence[Runnable], metric: str | None = None) -> list[Cell]:
        return cells(wanted, self.results, metric)
