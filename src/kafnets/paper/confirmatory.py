"""The confirmatory study: claims judged by fresh seeds alone, with the tests of its plan.

All tests are about the ratio of mean error rates, ours / theirs. Each is a paired t-test of the mean of
(ours - r theirs) for a border r, so tests and Fieller's interval of the ratio agree.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kafnets.comparison.statistics import Effect, detectable, effect, holm, paired_test
from kafnets.comparison.summary import Cell, in_layers
from kafnets.paper.evidence import Evidence
from kafnets.paper.plan import CellName, Plan, PlannedClaim
from kafnets.paper.published import SENSORLESS, shown_name
from kafnets.paper.verdicts import Outcome

Errors = NDArray[np.float64]
Sureness = tuple[float, float]
"""p-values for a claim and against it."""


@dataclass(frozen=True)
class Comparison:
    """One pair of cells.

    Attributes:
        names: of ours and theirs.
        fresh: the effect over fresh seeds; None with fewer than two.
        explored: the same over the first seeds, for the eye only.
        published: the paper's ratio, where it has both numbers.
        claimed: the ratios that the claim is about, as (low, high).
        sureness: None while seeds are missing.
        corrected: the same by the corrected resampled t-test, which decides nothing.
        equal: p-value of equality within the margin.
        seen: the smallest distance from a border of the claim that would be seen; a ratio.
    """

    names: tuple[CellName, CellName]
    fresh: Effect | None
    explored: Effect | None
    published: float | None
    claimed: tuple[float, float]
    sureness: Sureness | None = None
    corrected: Sureness | None = None
    equal: float = 1.0
    seen: float = float("nan")

    def __str__(self) -> str:
        return " / ".join(
            f"{shown_name(label).replace('kaf', 'KAF')}, {in_layers(layers)}" for label, layers in self.names
        )

    @property
    def reach(self) -> str:
        """Which true ratios the study would have confirmed, in words."""
        low, high = self.claimed[0] + self.seen, self.claimed[1] - self.seen
        if self.claimed[1] == np.inf:
            return f"a ratio of {low:.2f} or more"
        if self.claimed[0] == 0:
            return f"a ratio of {high:.2f} or less" if high > 0 else "no ratio"
        return f"a ratio from {low:.2f} to {high:.2f}" if low < high else "no ratio, not even 1,"


@dataclass(frozen=True)
class Judged:
    """One claim of the plan.

    Attributes:
        claim: which.
        comparisons: that it rests on.
        outcome: by fresh seeds.
        p_value: for it, corrected; None if not judged yet.
        against: the same against it.
        remark: what the outcome's wording adds.
    """

    claim: PlannedClaim
    comparisons: Sequence[Comparison]
    outcome: Outcome
    p_value: float | None = None
    against: float | None = None
    remark: str = ""

    def __str__(self) -> str:
        return self.outcome.value + self.remark


def judge(plan: Plan, evidence: Evidence) -> list[Judged]:
    """All claims of the plan, corrected for their number.

    Args:
        plan: of the study.
        evidence: of the checkout; its fresh runs are looked up here.
    """
    fresh = replace(evidence, fresh=True)
    compared = [
        [_compared(plan, claim.test, pair, fresh, evidence) for pair in claim.compared]
        for claim in plan.claims
    ]
    # A claim whose runs are not finished counts as not shown, and within the number of claims.
    sure = [[each.sureness or (1.0, 1.0) for each in found] for found in compared]
    p_values = holm([max(for_it for for_it, _ in found) for found in sure])
    opposites = holm([min(1.0, len(found) * min(against for _, against in found)) for found in sure])
    return [_judged(plan, *each) for each in zip(plan.claims, compared, p_values, opposites, strict=True)]


def _judged(
    plan: Plan, claim: PlannedClaim, found: list[Comparison], p_value: float, against: float
) -> Judged:
    if any(each.sureness is None for each in found):
        done = min(each.fresh.seeds if each.fresh else 0 for each in found)
        return Judged(claim, found, Outcome.UNFINISHED, remark=f": {done} of {len(plan.seeds)} seeds")
    if p_value < plan.level:
        small = claim.test == "better" and max(each.equal for each in found) < plan.level / len(plan.claims)
        return Judged(
            claim, found, Outcome.CONFIRMED, p_value, against, ", by less than the margin" if small else ""
        )
    if against < plan.level:
        worst = min(found, key=lambda each: _of(each)[1])
        equal = claim.test == "better" and worst.equal == _of(worst)[1]
        what = "equality within the margin" if equal else "the opposite"
        where = f" for {worst}" if len(found) > 1 else ""
        return Judged(claim, found, Outcome.REFUTED, p_value, against, f": {what} is shown{where}")
    least = max(found, key=lambda each: _of(each)[0])
    where = f" for {least}" if len(found) > 1 else ""
    return Judged(
        claim, found, Outcome.UNDECIDED, p_value, against, f": {least.reach} would have been confirmed{where}"
    )


def _of(comparison: Comparison) -> Sureness:
    assert comparison.sureness is not None
    return comparison.sureness


def _compared(
    plan: Plan, test: str, names: tuple[CellName, CellName], fresh: Evidence, explored: Evidence
) -> Comparison:
    paper = [SENSORLESS.get(name) for name in names]
    ratio = None
    if paper[0] is not None and paper[1] is not None:
        ratio = (1 - paper[0].mean) / (1 - paper[1].mean)
    own, first = (
        [each.cell(plan.experiment, plan.profile, *name) for name in names] for each in (fresh, explored)
    )
    found = Comparison(names, _effect(*own), _effect(*first), ratio, _claimed(plan, test))
    ours, theirs = own
    wanted = set(plan.seeds)
    if ours is None or theirs is None or not (ours.test.keys() == theirs.test.keys() == wanted):
        return found
    one, two = (1 - np.array([cell.test[seed] for seed in plan.seeds]) for cell in (ours, theirs))
    deviation = max(
        float(np.std(one - border * two, ddof=1)) for border in found.claimed if 0 < border < np.inf
    )
    reach = detectable(deviation, len(wanted), comparisons=len(plan.claims), sides=1)
    return replace(
        found,
        sureness=_sureness(plan, test, one, two),
        corrected=_sureness(plan, test, one, two, ours.test_to_train),
        equal=_sureness(plan, "equal", one, two)[0],
        seen=reach / float(two.mean()),
    )


def _effect(ours: Cell | None, theirs: Cell | None) -> Effect | None:
    """Over the seeds that both have, as draws of their own: on these rows."""
    if ours is None or theirs is None or len(common := sorted(ours.test.keys() & theirs.test.keys())) < 2:
        return None
    return effect([ours.test[seed] for seed in common], [theirs.test[seed] for seed in common])


def _claimed(plan: Plan, test: str) -> tuple[float, float]:
    """Ratios that a claim is about."""
    return {
        "better": (0.0, 1.0),
        "much better": (0.0, 1 / plan.factor),
        "equal": (1 - plan.margin, 1 + plan.margin),
        "no gain": (1 - plan.margin, np.inf),
    }[test]


def _sureness(plan: Plan, test: str, ours: Errors, theirs: Errors, test_to_train: float = 0.0) -> Sureness:
    """By the plan's rules, from error rates of the same seeds."""

    def below(border: float) -> Sureness:
        """p-values of a ratio below and above the border."""
        found = paired_test(
            (border * theirs).tolist(), ours.tolist(), test_to_train=test_to_train, alternative="greater"
        )
        return (1.0, 1.0) if found is None else (found.p_value, found.opposite)

    if test == "much better":
        return below(1 / plan.factor)
    below_low, above_low = below(1 - plan.margin)
    if test == "no gain":
        return above_low, below_low
    below_high, above_high = below(1 + plan.margin)
    within = max(above_low, below_high)
    if test == "equal":
        return within, min(1.0, 2 * min(below_low, above_high))
    smaller, larger = below(1.0)
    return smaller, min(larger, within)
