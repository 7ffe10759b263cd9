"""Cells that are run from scratch a second time, to see whether they land where they were."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from kafnets.comparison.runner import Runnable
from kafnets.comparison.summary import Cell
from kafnets.paper import rl, wider
from kafnets.paper.experiments import EXPERIMENTS

CELLS: dict[str, Callable[[], Sequence[Runnable]]] = {
    "sensorless": lambda: EXPERIMENTS["sensorless"].descriptions("paper", ["kaf"], [1], 5),
    "susy": lambda: EXPERIMENTS["susy"].descriptions("sample", ["kaf"], [1], 5),
    "cifar10": lambda: EXPERIMENTS["cifar10"].descriptions("small", ["elu"], [2], 3),
    "rl": lambda: rl.descriptions(["swimmer"], ["tanh"], 300_000, 3),
    "wider": lambda: wider.descriptions(["digits"], ["kaf"], 5),
}
"""One of each experiment: the cheapest that says something."""


@dataclass(frozen=True)
class Repetition:
    """What is stored, and what came of running it again, over the seeds that both have."""

    stored: Cell
    again: Cell

    @property
    def within(self) -> bool:
        """Whether the new mean is as near to the stored one as its deviation."""
        return abs(self.again.mean - self.stored.mean) <= self.stored.deviation


def repetition(stored: Cell, scores: Mapping[int, float]) -> Repetition | None:
    """From the new scores by seed; None if they have fewer than two seeds in common."""
    common = sorted(stored.test.keys() & scores.keys())
    if len(common) < 2:
        return None
    before = stored.only(common)
    return Repetition(before, replace(before, test={seed: scores[seed] for seed in common}))
