"""Whether two activations differ by more than noise."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

LEVEL = 0.05


@dataclass(frozen=True)
class PairedTest:
    """Outcome of a paired test over seeds.

    Attributes:
        name: of the test.
        difference: in the mean.
        p_value: the smaller, the surer is what the test looked for.
        opposite: the p-value of the opposite; 1 for a two-sided test, which has none.
    """

    name: str
    difference: float
    p_value: float
    opposite: float = 1.0

    def corrected(self, comparisons: int) -> "PairedTest":
        """By Bonferroni, for the best of several: it is the luckiest of them too."""
        return replace(self, p_value=min(1.0, self.p_value * comparisons))

    @property
    def significant(self) -> bool:
        """Whether the difference is more than noise, at the 5 % level."""
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

    None where they tell nothing: fewer than two, or all the same, which happens by rounding to few rows.

    Seeds that each divide the same rows anew into a training and a test part are not independent, since their
    parts overlap, and a plain t-test finds differences where there are none. Given the size of the test part
    as a share of the training part, the variance is corrected as Nadeau and Bengio (2003) propose.

    Args:
        ours: scores, one a seed.
        theirs: scores of the same seeds.
        test_to_train: rows of the test part for each row of the training part, if seeds divide the rows anew;
            0 if all seeds have the same test part.
        alternative: what to find evidence for: that ours differ from theirs plus the margin, are greater, or
            are less.
        margin: of the difference; one for all, or one a seed.
    """
    from scipy import stats

    difference = np.asarray(ours, dtype=float) - np.asarray(theirs, dtype=float)
    count = len(difference)
    if count < 2:
        return None
    name = f"{'corrected resampled' if test_to_train else 'paired'} t-test over {count} seeds"
    mean, beyond = float(difference.mean()), difference - np.asarray(margin, dtype=float)
    variance = float(beyond.var(ddof=1))
    if variance == 0:
        return None
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
