"""Stored results, asked for by name."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from kafnets.comparison.record import Record
from kafnets.comparison.summary import Cell, cells
from kafnets.paper import rl, wider
from kafnets.paper.store import FRESH, Runs, runs_in


class Missing(Exception):  # noqa: N818
    """There is no stored result; says how to get one."""


@dataclass(frozen=True)
class Evidence:
    """What was run, and what was measured.

    Attributes:
        results: the folder of finished runs: a store, or run folders.
        benchmarks: the folder of measurements.
        fresh: whether it is that of confirmatory studies, which have seeds of their own; no run is in both.
    """

    results: Path
    benchmarks: Path = Path("benchmarks/results")
    fresh: bool = False

    @classmethod
    def of(cls, root: Path) -> Self:
        """Of a checkout."""
        return cls(root / "results", root / "benchmarks/results")

    @cached_property
    def runs(self) -> Runs:
        """Where they are."""
        return runs_in(self.results)

    @cached_property
    def records(self) -> list[Record]:
        """Of its runs, sorted."""
        return [record for record in self.runs.records if (record.seed >= FRESH) == self.fresh]

    def of_experiment(self, experiment: str, profile: str) -> list[Record]:
        """Records of one experiment and profile."""
        return self._by_profile.get((experiment, profile), [])

    @cached_property
    def _by_profile(self) -> dict[tuple[str, str], list[Record]]:
        found: dict[tuple[str, str], list[Record]] = {}
        for each in self.records:
            found.setdefault((each.experiment, each.profile), []).append(each)
        return found

    def cells(
        self, experiment: str, profile: str, labels: Sequence[str], layers: Sequence[int] = ()
    ) -> list[Cell]:
        """Of one of the paper's supervised experiments: label by label, at these depths or at all."""
        chosen = _labeled(
            self.of_experiment(experiment, profile),
            labels,
            lambda record: not layers or len(record.hidden) in layers,
        )
        return cells(chosen)

    def cell(self, experiment: str, profile: str, label: str, layers: int) -> Cell | None:
        """One of them, None if no run of it is finished."""
        return next(iter(self.cells(experiment, profile, [label], [layers])), None)

    def policies(self, steps: int, environment: str) -> list[Record]:
        """Of reinforcement learning, the paper's activations in their order."""
        return _labeled(
            self.records,
            rl.ACTIVATIONS,
            lambda record: (
                record.experiment == "rl"
                and record.config["steps"] == steps
                and record.config["environment"] == environment
            ),
        )

    def rewards(self, steps: int, environment: str, metric: str) -> dict[str, Cell]:
        """Scores of these policies, by label."""
        return {cell.label: cell for cell in cells(self.policies(steps, environment), metric)}

    def lengths(self) -> list[int]:
        """Numbers of steps that policies were trained for, most first."""
        found = {each.config["steps"] for each in self.records if each.experiment == "rl"}
        return sorted(found, reverse=True)

    def longest(self, environment: str) -> int | None:
        """The steps of the longest runs that compare all activations, over two seeds at least if there are.

        None if no length has a seed that is finished for all of them.
        """

        def common(steps: int) -> int:
            seeds: dict[str, set[int]] = {label: set() for label in rl.ACTIVATIONS}
            for record in self.policies(steps, environment):
                seeds[record.label].add(record.seed)
            return min(2, len(set.intersection(*seeds.values())))

        most, steps = max(((common(steps), steps) for steps in self.lengths()), default=(0, 0))
        return steps if most else None

    def tuned(self, data: str) -> dict[str, Cell]:
        """Of the comparison beyond the paper's data, by label."""
        return {cell.label: cell for cell in cells(self.tuned_records(data))}

    def tuned_records(self, data: str) -> list[Record]:
        """The same, run by run."""
        labels = dict.fromkeys(each.label for each in wider.descriptions([data], seeds=1))
        return _labeled(self.of_experiment("wider", data), list(labels), lambda _: True)

    def benchmark(self, name: str) -> dict[str, Any]:
        """What has been measured, by the name of its file."""
        path = self.benchmarks / f"{name}.json"
        if not path.exists():
            raise Missing(f"{path} does not exist: measurements are stored in a checkout of kafnets")
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found


def _labeled(
    records: Iterable[Record], labels: Sequence[str], chosen: Callable[[Record], bool]
) -> list[Record]:
    """Those of these labels, label by label."""
    found = [each for each in records if each.label in labels and chosen(each)]
    return sorted(found, key=lambda record: labels.index(record.label))
