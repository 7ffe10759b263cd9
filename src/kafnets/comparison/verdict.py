"""The verdict of a comparison, in one or two sentences."""

from typing import Any

from kafnets.comparison.statistics import DIGITS, Effect, detectable, seeds_needed
from kafnets.comparison.summary import Cell

ERRORS = {
    "accuracy": "has {} errors than",
    "auc": "puts {} pairs of rows in the wrong order (1 - AUC) than",
    "r2": "leaves {} variance unexplained than",
}
"""By metric: what is not right, relative to the reference."""

DEFAULT_SEEDS = 5


def verdict(best: Cell, base: Cell | None, found: Effect | None, comparisons: int, count: int) -> str:
    """Whether the best is better than the reference.

    Args:
        best: has the highest mean score.
        base: the reference; None if none of its runs has finished.
        found: the difference between both; None if they are the same.
        comparisons: how many the test was corrected for.
        count: of activations in the table.
    """
    if base is None:
        return "No run of the reference finished, so there is nothing to test against."
    if count == 1:
        return f"Only {base.label} was run: name other activations."
    if found is None or round(found.difference, DIGITS) <= 0:
        return f"No other did better than {base.label}."
    seen = points(found.difference, best.metric)
    if found.p_value is None and found.seeds > 1:
        return (
            f"{best.label} is {seen} better than {base.label} with each of {found.seeds} seeds: differences "
            "that do not vary cannot be tested. Use a test part with more rows."
        )
    if found.p_value is None:
        return (
            f"Too few seeds for a significance test between {best.label} and {base.label}: "
            f"use {DEFAULT_SEEDS} or more."
        )
    if found.significant:
        return f"{best.label} {_better(found, best.metric)} {base.label}{_how_sure(found, best.metric)}."
    power: dict[str, Any] = {"test_to_train": best.test_to_train, "comparisons": comparisons}
    hidden = detectable(found.deviation, found.seeds, **power)
    too_small = f"differences below about {points(hidden, best.metric)}"
    if best.metric in ERRORS and hidden >= 1 - base.mean:
        too_small = "even a perfect score"
    needed = seeds_needed(found.difference, found.deviation, **power)
    more = (
        f"Detecting a difference of {seen}, as observed here, takes about {needed} seeds."
        if needed
        else f"Detecting a difference of {seen}, as observed here, takes more rows rather than more seeds."
    )
    return (
        f"The difference between {best.label} and {base.label} is not statistically significant with "
        f"{found.seeds} seeds (p = {found.p_value:.2g}); {too_small} would not be detected. {more}"
    )


def points(difference: float, metric: str) -> str:
    """A difference of scores, for people: percentage points of accuracy and AUC, else a number."""
    if metric in ("accuracy", "auc"):
        return f"{_short(100 * difference)} points"
    return _short(difference)


def _short(number: float) -> str:
    return f"{number:.2g}" if abs(number) < 10 else f"{number:,.0f}"


def _better(found: Effect, metric: str) -> str:
    if found.ratio is None or metric not in ERRORS:
        return f"has {points(found.difference, metric)} more in {metric} than"
    few = "fewer" if metric != "r2" else "less"
    return ERRORS[metric].format(f"{_short(100 * (1 - found.ratio[0]))} % {few}")


def _how_sure(found: Effect, metric: str) -> str:
    if found.ratio is None or metric not in ERRORS:
        ends = f"{points(found.low, metric)} to {points(found.high, metric)}"
    else:
        _, low, high = found.ratio
        ends = f"{_short(100 * (1 - high))} to {_short(100 * (1 - low))} %"
    return f" (95 % interval {ends}, p = {found.p_value:.2g})"
