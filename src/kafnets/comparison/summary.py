"""Tables over finished runs."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from kafnets.comparison.runner import Runnable
from kafnets.comparison.statistics import Alternative, PairedTest, equivalence_test, paired_test
from kafnets.data import FIXED_TESTS
from kafnets.train.metrics import MAIN
from kafnets.train.runs import RunFolder

MOST_SEEDS = 20
"""More than anybody has run."""


@dataclass(frozen=True)
class Cell:
    """One activation at one depth, over the seeds that are finished.

    ``best_epochs`` are those whose weights were kept, by seed; runs without epochs have none.
    ``test_rows`` is the size of the test part.
    """

    label: str
    layers: int
    data: str
    metric: str
    test: dict[int, float]
    validation: dict[int, float]
    wanted: int
    parameters: int
    test_to_train: float
    best_epochs: dict[int, int] = field(default_factory=dict)
    test_rows: int = 0

    @property
    def mean(self) -> float:
        """Of the test score over the seeds."""
        return float(np.mean(list(self.test.values())))

    @property
    def deviation(self) -> float:
        """Of the seeds, as a sample; NaN for one."""
        return float(np.std(list(self.test.values()), ddof=1)) if len(self.test) > 1 else float("nan")

    @property
    def mean_validation(self) -> float:
        """Of the validation score over the seeds: what choices are made by."""
        return float(np.mean(list(self.validation.values())))

    def errors(self, share: float) -> list[float]:
        """So much of each seed's error rate, the smallest seed first."""
        return [share * (1 - self.test[seed]) for seed in sorted(self.test)]

    def only(self, seeds: Collection[int]) -> "Cell":
        """With these seeds, as far as it has them."""
        return replace(self, test={seed: value for seed, value in self.test.items() if seed in seeds})

    def against(
        self,
        other: "Cell",
        alternative: Alternative = "two-sided",
        margin: float | Sequence[float] = 0.0,
    ) -> PairedTest | None:
        """Whether it differs from another, over the seeds that both have, the smallest first."""
        return paired_test(
            *self._common(other), test_to_train=self.test_to_train, alternative=alternative, margin=margin
        )

    def as_good_as(self, other: "Cell", margin: float | Sequence[float]) -> PairedTest | None:
        """Whether it is equivalent to another within a margin, over the seeds that both have."""
        return equivalence_test(*self._common(other), margin, test_to_train=self.test_to_train)

    def _common(self, other: "Cell") -> tuple[list[float], list[float]]:
        common = sorted(self.test.keys() & other.test.keys())
        return [self.test[seed] for seed in common], [other.test[seed] for seed in common]


def in_layers(number: int) -> str:
    """A depth in words."""
    return f"{number} layer{'s' if number > 1 else ''}"


def complete(cells: Sequence[Cell]) -> list[Cell]:
    """Those with all their seeds, or with most of them: others may have had the easier ones."""
    most = max(len(cell.test) for cell in cells)
    return [cell for cell in cells if len(cell.test) == most]


def cells(descriptions: Sequence[Runnable], output: Path, metric: str | None = None) -> list[Cell]:
    """In the order of the descriptions, leaving out what has no finished run.

    Runs that were made with other settings than described, or on other data than their kin, are an error.

    Args:
        descriptions: of the runs.
        output: the folder of results.
        metric: which score; the main one of the task if None.
    """
    groups: dict[tuple[str, str, int], list[Runnable]] = {}
    for each in descriptions:
        groups.setdefault((each.data, each.label, len(each.hidden)), []).append(each)
    found = []
    for members in groups.values():
        reports = {}
        for each in members:
            folder = RunFolder(output / each.folder)
            if folder.done:
                folder.refuse_other(each.config())
                reports[each.seed] = folder.report()
        if len({report["data"].get("sha256") for report in reports.values()}) > 1:
            raise ValueError(
                f"runs in {output / members[0].folder.parent} were made on data that differ: delete the "
                "older ones, and run them again"
            )
        if reports:
            found.append(_cell(members, reports, metric))
    return found


def _cell(members: list[Runnable], reports: dict[int, dict[str, Any]], metric: str | None) -> Cell:
    one = next(iter(reports.values()))
    metric = metric or MAIN[one["data"]["task"]]
    train, _, test = one["rows"]
    return Cell(
        members[0].label,
        len(members[0].hidden),
        one["data"]["name"],
        metric,
        {seed: report["test"][metric] for seed, report in reports.items()},
        {seed: report["validation"].get(metric, float("nan")) for seed, report in reports.items()},
        len(members),
        one["trained_parameters"],
        0.0 if members[0].data in FIXED_TESTS else test / train,
        {seed: report["best_epoch"] for seed, report in reports.items() if "best_epoch" in report},
        test,
    )
