"""A study: tasks of one kind, and methods with equal numbers of parameters and tuned learning rates."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
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
        networks: by method, those that the validation part chooses from; default: the method's own.
    """

    names: tuple[str, ...]
    methods: tuple[str, ...]
    budgets: tuple[int, ...]
    rates: tuple[float, ...]
    steps: int
    trial: Trial
    seeds: int = 5
    networks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def cases(self, task: str) -> Iterator[Case]:
        """All, seed by seed, so that all methods have the same seeds at any time."""
        for seed, name, budget, method in product(range(self.seeds), self.names, self.budgets, self.methods):
            yield Case(task, name, method, budget, seed)

    def result(self, case: Case) -> dict[str, Any]:
        """The test error of what validation chooses, and the errors of all that was tried."""
        began = time.process_time()
        networks = self.networks.get(case.method, (case.method,))
        tried: list[dict[str, Any]] = [
            {"network": network, "rate": rate} | self.trial(replace(case, method=network), rate, self.steps)
            for network, rate in product(networks, self.rates)
        ]
        chosen = min(tried, key=lambda each: (not np.isfinite(each["validation"]), each["validation"]))
        return {
            "error": chosen["test"],
            **{name: chosen[name] for name in ("network", "rate", "parameters")},
            "tried": tried,
            "cpu_seconds": time.process_time() - began,
        }
