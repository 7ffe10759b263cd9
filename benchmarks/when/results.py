"""Stored runs of a study as errors by method, and tests of learned functions against fixed ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.when.run import STUDIES
from kafnets.comparison.statistics import holm
from kafnets.comparison.table import Table

Lines = Sequence[Mapping[str, Any]]
Errors = dict[tuple[str, int], dict[str, dict[int, float]]]
"""By name and budget, then by method, then by seed."""
Logs = dict[str, NDArray[np.float64]]
"""Logarithms of errors by method, paired: each place is the same formula, table or seed for all methods."""

EARLIER = "edgewise, linear parts"
"""The network that edge-wise ones are compared with, apart from the fixed activations."""


def learns(method: str) -> bool:
    """Whether a method has learned functions."""
    return method.startswith(("kaf", "edgewise"))


def errors(lines: Lines, task: str) -> Errors:
    """Of one task, with the seeds that all of a name's methods have. Unfinished names are left out."""
    found: Errors = {}
    for line in lines:
        if line["task"] == task:
            own = found.setdefault((line["name"], line["budget"]), {})
            own.setdefault(line["method"], {})[line["seed"]] = line["error"]
    for methods in found.values():
        common = set.intersection(*(set(runs) for runs in methods.values()))
        for method, runs in methods.items():
            methods[method] = {seed: runs[seed] for seed in sorted(common)}
    return {
        (name, budget): found[name, budget]
        for name in STUDIES[task].names
        for budget in STUDIES[task].budgets
        if (name, budget) in found
        and set(found[name, budget]) >= _possible(found, budget)
        and all(found[name, budget].values())
    }


def _possible(found: Errors, budget: int) -> set[str]:
    """Methods that some name has with that budget: the smallest ones are too small for some methods."""
    return {method for (_, own), runs in found.items() if own == budget for method in runs}


def geometric(values: Sequence[float]) -> float:
    """Mean."""
    return float(np.exp(np.mean(np.log(values))))


def by_name(found: Errors, *, of_logs: bool) -> Logs:
    """Paired by name: of each, the logarithm of the mean over seeds, geometric or not."""
    means = [
        {
            method: geometric(list(runs.values())) if of_logs else float(np.mean(list(runs.values())))
            for method, runs in own.items()
        }
        for own in found.values()
    ]
    return {method: np.log([own[method] for own in means]) for method in (means[0] if means else ())}


def by_seed(found: Errors) -> Logs:
    """Paired by seed: of each, the mean logarithm over names and budgets."""
    seeds = set.intersection(*(set(runs) for own in found.values() for runs in own.values()))
    methods = set.intersection(*(set(own) for own in found.values()))
    return {
        method: np.array(
            [np.mean([np.log(own[method][seed]) for own in found.values()]) for seed in sorted(seeds)]
        )
        for method in next(iter(found.values()))
        if method in methods
    }


@dataclass(frozen=True)
class Comparison:
    """Ours against theirs, within a group of tasks."""

    group: str
    ours: str
    theirs: str
    differences: NDArray[np.float64]


def best_fixed(logs: Logs) -> str:
    """The method without learned functions that has the lowest mean."""
    return min((method for method in logs if not learns(method)), key=lambda method: logs[method].mean())


def comparisons(logs: Logs, group: str = "") -> list[Comparison]:
    """Each learned function with the best fixed one, and edge-wise networks with the earlier ones."""
    best = best_fixed(logs)
    pairs = [(method, best) for method in logs if learns(method) and method != EARLIER]
    if EARLIER in logs:
        pairs.append(("edgewise", EARLIER))
    return [Comparison(group, ours, theirs, logs[ours] - logs[theirs]) for ours, theirs in pairs]


@dataclass(frozen=True)
class Tested:
    """A comparison with its outcome.

    Attributes:
        compared: which.
        ratio: geometric mean of our errors over theirs.
        interval: of 95 %, by Student's t, not corrected.
        p: of a t-test, corrected for the tests of its family by Holm's method.
    """

    compared: Comparison
    ratio: float
    interval: tuple[float, float]
    p: float

    @property
    def shown(self) -> str:
        """The ratio with its interval."""
        low, high = self.interval
        return f"{self.ratio:.2f} ({low:.2f} to {high:.2f})"


def tested(family: Sequence[Comparison]) -> list[Tested]:
    """All comparisons of one family."""
    p_values = holm([float(stats.ttest_1samp(each.differences, 0).pvalue) for each in family])
    found = []
    for each, p_value in zip(family, p_values, strict=True):
        own = each.differences
        reach = stats.t.ppf(0.975, len(own) - 1) * own.std(ddof=1) / np.sqrt(len(own))
        ratio, low, high = np.exp([own.mean(), own.mean() - reach, own.mean() + reach])
        found.append(Tested(each, float(ratio), (float(low), float(high)), p_value))
    return found


def tests_table(family: Sequence[Comparison], units: str) -> Table:
    """Ratios of errors with their intervals, and p-values.

    Args:
        family: the comparisons.
        units: what is paired, such as "formulas".
    """
    grouped = any(each.group for each in family)
    rows = []
    for each in tested(family):
        compared = each.compared
        won = f"{(compared.differences < 0).sum()} of {len(compared.differences)}"
        named = (compared.group,) if grouped else ()
        rows.append((*named, compared.ours, compared.theirs, each.shown, won, f"{each.p:.2g}"))
    headings = ("ours", "theirs", "ratio of errors", f"{units} won", "p")
    return Table("Tests", (("scaling", *headings) if grouped else headings), tuple(rows))
