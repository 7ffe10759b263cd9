"""A study: tasks of one kind, and methods with equal numbers of parameters and tuned learning rates."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """What is stored once: a method with at most ``budget`` parameters on the task's ``name``."""

    task: str
    name: str
    method: str
    budget: int
    seed: int


Trial = Callable[[Case, float, int], dict[str, float]]
"""Trains with a learning rate and a number of steps; "validation" and "test" errors and "parameters"."""


@dataclass(frozen=True)
class Study:
    """How all methods are compared.

    Attributes:
        names: of the tasks.
        methods: by their names in the tables.
        budgets: the most parameters that a network may have.
        rates: of learning, tried by all methods.
        steps: of training.
        trial: one training.
        seeds: how many.
    """

    names: tuple[str, ...]
    methods: tuple[str, ...]
    budgets: tuple[int, ...]
    rates: tuple[float, ...]
    steps: int
    trial: Trial
    seeds: int = 5

    def cases(self, task: str) -> Iterator[Case]:
        """All, seed by seed, so that all methods have the same seeds at any time."""
        for seed, name, budget, method in product(range(self.seeds), self.names, self.budgets, self.methods):
            yield Case(task, name, method, budget, seed)

    def result(self, case: Case) -> dict[str, Any]:
        """The test error at the learning rate that validation chooses, and the errors at all of them."""
        began = time.process_time()
        tried = [{"rate": rate} | self.trial(case, rate, self.steps) for rate in self.rates]
        sizes = {each.pop("parameters") for each in tried}
        chosen = min(tried, key=lambda each: (not np.isfinite(each["validation"]), each["validation"]))
        return {
            "error": chosen["test"],
            "rate": chosen["rate"],
            "tried": tried,
            "parameters": sizes.pop(),
            "cpu_seconds": time.process_time() - began,
        }
