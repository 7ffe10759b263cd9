"""Significance tests for the difference between two activations."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.05
POWER = 0.8
"""How often a difference should be found that is there."""
MANY_SEEDS = 100
DIGITS = 12
"""Of scores: what differs by less, as means of the same scores in another order do, differs by rounding."""


@dataclass(frozen=True)
class PairedTest:
    """Outcome of a paired test over seeds.

    Attributes:
        name: of the test.
        difference: in the mean.
        p_value: for the alternative of the test.
        opposite: the p-value of the opposite; 1 for a two-sided test, which has none.
    """

    name: str
    difference: float
    p_value: float
    opposite: float = 1.0

    def corrected(self, comparisons: int) -> "PairedTest":
        """Corrected by Bonferroni for several comparisons."""
        return replace(self, p_value=min(1.0, self.p_value * comparisons))

    @property
    def significant(self) -> bool:
        """Whether the difference is significant at the 5 % level."""
        return self.p_value < LEVEL


Alternative = Literal["two-sided", "greater", "less"]


def paired_test(
    ours: Sequence[float],
    theirs: Sequence[float],
    *,
    test_to_train: float = 0.0,
    alternative: Alternative = "two-sided",
    margin: float | Sequence[float] = 0.0,
) -> PairedTest | None:
    """A t-test on the differences of runs with the same seed.

    None if a test is impossible: fewer than two seeds, or equal differences, which can occur with few rows.

    Seeds that each divide the same rows into a training and a test part are not independent, since their
    parts overlap, and a plain t-test finds differences where there are none. Given the size of the test part
    as a share of the training part, the variance is corrected as Nadeau and Bengio (2003) propose.

    Args:
        ours: scores, one per seed.
        theirs: scores of the same seeds.
        test_to_train: rows of the test part for each row of the training part, if each seed divides the rows;
            0 if all seeds have the same test part.
        alternative: what to find evidence for: that ours differ from theirs plus the margin, are greater, or
            are less.
        margin: of the difference; one for all, or one per seed.
    """
    from scipy import stats

    a, b = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    difference, count = a - b, len(a)
    if count < 2:
        return None
    name = f"{'corrected resampled' if test_to_train else 'paired'} t-test over {count} seeds"
    mean, beyond = float(difference.mean()), difference - np.asarray(margin, dtype=float)
    if np.ptp(beyond) <= 10**-DIGITS * max(1.0, np.abs([a, b]).max()):
        return None
    variance = float(beyond.var(ddof=1))
    t = float(beyond.mean()) / math.sqrt((1 / count + test_to_train) * variance)
    if alternative == "two-sided":
        return PairedTest(name, mean, float(2 * stats.t.sf(abs(t), count - 1)))
    sign = 1 if alternative == "greater" else -1
    return PairedTest(
        name, mean, float(stats.t.sf(sign * t, count - 1)), float(stats.t.sf(-sign * t, count - 1))
    )


def equivalence_test(
    ours: Sequence[float],
    theirs: Sequence[float],
    margin: float | Sequence[float],
    *,
    test_to_train: float = 0.0,
) -> PairedTest | None:
    """Whether the difference is within the margin: two one-sided tests, of which the worse one counts.

    The opposite is a difference beyond the margin, to either side: the better one counts, twice.
    """
    margins = np.broadcast_to(np.asarray(margin, dtype=float), len(ours))
    above = paired_test(
        ours, theirs, test_to_train=test_to_train, alternative="greater", margin=(-margins).tolist()
    )
    below = paired_test(
        ours, theirs, test_to_train=test_to_train, alternative="less", margin=margins.tolist()
    )
    if above is None or below is None:
        return None
    return replace(
        above,
        name=f"equivalence within ±{margins.mean():.2g}, {above.name}",
        p_value=max(above.p_value, below.p_value),
        opposite=min(1.0, 2 * min(above.opposite, below.opposite)),
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Corrected for their number by Holm's method."""
    order = np.argsort(p_values)
    corrected, largest = [0.0] * len(p_values), 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - place) * p_values[index]))
        corrected[index] = largest
    return corrected


@dataclass(frozen=True)
class Effect:
    """How far ours are from theirs, with the interval and p-value of one test.

    Attributes:
        difference: of the means.
        low: the interval's lower end; NaN where seeds tell nothing.
        high: its upper end.
        p_value: None where seeds tell nothing.
        ratio: of the mean errors, ours to theirs, with the ends of its interval; None if that is not finite.
        deviation: of the differences, over seeds.
        seeds: how many both have.
    """

    difference: float
    low: float
    high: float
    p_value: float | None
    ratio: tuple[float, float, float] | None
    deviation: float
    seeds: int

    @property
    def significant(self) -> bool:
        """Whether the difference is significant at the 5 % level."""
        return self.p_value is not None and self.p_value < LEVEL


def effect(
    ours: Sequence[float], theirs: Sequence[float], *, test_to_train: float = 0.0, comparisons: int = 1
) -> Effect:
    """The difference by :func:`paired_test`, corrected by Bonferroni: p-value and intervals agree.

    Args:
        ours: scores up to 1, the larger the better, one per seed.
        theirs: scores of the same seeds.
        test_to_train: as for :func:`paired_test`.
        comparisons: how many are made; all their intervals hold jointly.
    """
    from scipy import stats

    a, b = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    count, mean = len(a), float((a - b).mean()) if len(a) else math.nan
    tested = paired_test(ours, theirs, test_to_train=test_to_train)
    deviation = float((a - b).std(ddof=1)) if count > 1 else math.nan
    if tested is None:
        return Effect(mean, math.nan, math.nan, None, None, deviation, count)
    t = float(stats.t.ppf(1 - LEVEL / (2 * comparisons), count - 1))
    reach = t * math.sqrt(1 / count + test_to_train) * deviation
    factor = t**2 * (1 / count + test_to_train)
    ratio = _fieller(1 - a, 1 - b, factor)
    return Effect(
        mean, mean - reach, mean + reach, tested.corrected(comparisons).p_value, ratio, deviation, count
    )


def _fieller(
    ours: NDArray[np.float64], theirs: NDArray[np.float64], factor: float
) -> tuple[float, float, float] | None:
    """Fieller's interval of the ratio of two means: all r for which mean(ours - r theirs) may be 0.

    (m - r n)² <= factor (v - 2 r c + r² w) with means m and n, variances v and w and the covariance c: a
    quadratic in r, whose solutions are an interval if n is surely not 0. Errors, and so r, are never below 0.
    """
    (v, c), (_, w) = np.cov(ours, theirs)
    m, n = float(ours.mean()), float(theirs.mean())
    square, half, constant = n**2 - factor * w, m * n - factor * c, m**2 - factor * v
    if square <= 0 or n <= 0:
        return None
    root = math.sqrt(max(0.0, half**2 - square * constant))
    return m / n, max(0.0, float((half - root) / square)), float((half + root) / square)


def detectable(
    deviation: float, seeds: int, *, test_to_train: float = 0.0, comparisons: int = 1, sides: int = 2
) -> float:
    """The smallest true difference that the test would detect with a power of 80 %."""
    from scipy import optimize, stats

    degrees = seeds - 1
    critical = float(stats.t.ppf(1 - LEVEL / (sides * comparisons), degrees))
    # The noncentral t distribution, as a mean over quantiles of the estimated deviation: stable everywhere.
    estimated = np.sqrt(stats.chi2.ppf((np.arange(400) + 0.5) / 400, degrees) / degrees)

    def power(shift: float) -> float:
        return float(stats.norm.sf(critical * estimated - shift).mean())

    shift = optimize.brentq(lambda each: power(each) - POWER, 0, 10 * critical + 10)
    return float(shift) * math.sqrt(1 / seeds + test_to_train) * deviation


def seeds_needed(
    difference: float, deviation: float, *, test_to_train: float = 0.0, comparisons: int = 1
) -> int | None:
    """Seeds by which such a difference would be found; None if even :data:`MANY_SEEDS` would not do."""
    options: dict[str, Any] = {"test_to_train": test_to_train, "comparisons": comparisons}
    enough = (
        seeds
        for seeds in range(2, MANY_SEEDS + 1)
        if detectable(deviation, seeds, **options) <= abs(difference)
    )
    return next(enough, None)
