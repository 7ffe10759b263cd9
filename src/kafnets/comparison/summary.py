"""Tables over finished runs."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from kafnets.comparison.record import Record
from kafnets.comparison.statistics import Alternative, PairedTest, equivalence_test, paired_test
from kafnets.data import has_fixed_test
from kafnets.train.metrics import MAIN

REWARDS = ("area", "reward", "greedy")
"""Scores of reinforcement learning."""


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
    def digits(self) -> int:
        """To show of a score: rewards have no fixed range."""
        if self.metric not in REWARDS:
            return 4
        return 0 if abs(self.mean) >= 1000 else 1

    @property
    def shown_mean(self) -> str:
        """With its digits."""
        return f"{self.mean:,.{self.digits}f}"

    def __str__(self) -> str:
        """Mean ± deviation; the mean alone for one seed."""
        deviation = f" ± {self.deviation:,.{self.digits}f}" if len(self.test) > 1 else ""
        return self.shown_mean + deviation

    @property
    def mean_validation(self) -> float:
        """Of the validation score over the seeds: what choices are made by."""
        return float(np.mean(list(self.validation.values())))

    def numbers(self) -> dict[str, Any]:
        """All that is known of it, by name."""
        return asdict(self) | {"mean": self.mean, "deviation": self.deviation}

    def errors(self, share: float) -> list[float]:
        """So much of each seed's error rate, the smallest seed first."""
        return [share * (1 - self.test[seed]) for seed in sorted(self.test)]

    def only(self, seeds: Collection[int]) -> "Cell":
        """With these seeds, as far as it has them."""
        return replace(self, test={seed: value for seed, value in self.test.items() if seed in seeds})

    def against(
        self, other: "Cell", alternative: Alternative = "two-sided", margin: float | Sequence[float] = 0.0
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


def cells(records: Iterable[Record], metric: str | None = None, *, wanted: int = 0) -> list[Cell]:
    """One per data set, activation and depth, in the order in which they come first.

    Runs of one cell that were made on different data are an error.

    Args:
        records: of finished runs, of one experiment and profile.
        metric: which score; the main one of the task if None.
        wanted: seeds that each cell should have; by default, those that it has.
    """
    groups: dict[object, list[Record]] = {}
    for each in records:
        groups.setdefault(each.key[:-1], []).append(each)
    return [_cell(members, metric, wanted) for members in groups.values()]


def _cell(members: list[Record], metric: str | None, wanted: int) -> Cell:
    one = members[0]
    if len({each.data.sha256 for each in members}) > 1:
        raise ValueError(
            f"runs of {one.label} on {one.data.name} were made on data that differ: delete the older ones, "
            "and run them again"
        )
    metric = metric or MAIN[one.data.task]
    train, _, test = one.data.rows
    return Cell(
        one.label,
        len(one.hidden),
        one.data.name,
        metric,
        {each.seed: each.test[metric] for each in members},
        {each.seed: each.validation.get(metric, float("nan")) for each in members},
        wanted or len(members),
        one.trained_parameters,
        0.0 if has_fixed_test(one.config["data"]) else test / train,
        {each.seed: each.best_epoch for each in members if each.best_epoch is not None},
        test,
    )
