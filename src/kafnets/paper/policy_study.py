"""The planned study of policies: whether KAFs learn faster, judged by fresh seeds alone.

The plan is a document that was committed before the runs. One one-sided paired t-test of the area under the
curve per environment; the p-values are corrected by Holm's method.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Self

from kafnets.comparison.statistics import Effect, detectable, effect, holm, paired_test
from kafnets.comparison.summary import Cell
from kafnets.comparison.table import NOTHING, Table
from kafnets.paper import rl
from kafnets.paper.evidence import Evidence
from kafnets.paper.plan import planned_values
from kafnets.paper.verdict_tables import shown_p
from kafnets.paper.verdicts import Outcome

PLAN = Path("docs/policy-plan.md")


@dataclass(frozen=True)
class PolicyPlan:
    """What the document says, see there.

    Attributes:
        date: when it was written.
        seeds: fresh ones, all of which every environment needs.
        level: for the family of its claims.
        ours: the activation that is claimed to learn faster.
        theirs: the one that it is compared with.
        steps: by environment.
    """

    date: datetime
    seeds: range
    level: float
    ours: str
    theirs: str
    steps: dict[str, int]

    @classmethod
    def of(cls, root: Path) -> Self:
        """Of a checkout."""
        return cls(**planned_values(root / PLAN))

    def descriptions(self) -> list[rl.PolicyDescription]:
        """Its runs, all environments and both activations of one seed before the next."""
        of_environments = [
            one
            for environment, steps in self.steps.items()
            for one in rl.descriptions([environment], [self.theirs, self.ours], steps, seeds=1)
        ]
        return [replace(one, seed=seed) for seed in self.seeds for one in of_environments]


@dataclass(frozen=True)
class JudgedEnvironment:
    """One claim of the plan.

    Attributes:
        environment: which.
        steps: of its runs.
        ours: areas by fresh seed, None if no run is finished.
        theirs: the same of the activation compared with.
        effect: of the seeds that both have.
        outcome: by the plan.
        p_value: for the claim, corrected; None if not judged yet.
        against: the same against it.
        remark: what the outcome's wording adds.
    """

    environment: str
    steps: int
    ours: Cell | None
    theirs: Cell | None
    effect: Effect
    outcome: Outcome = Outcome.UNFINISHED
    p_value: float | None = None
    against: float | None = None
    remark: str = ""

    def __str__(self) -> str:
        return self.outcome.value + self.remark


def judge(plan: PolicyPlan, evidence: Evidence) -> list[JudgedEnvironment]:
    """All environments of the plan, corrected for their number; unfinished ones count as not shown."""
    fresh = replace(evidence, fresh=True)
    found = [_compared(plan, environment, fresh) for environment in plan.steps]
    tests = [_sureness(plan, each) for each in found]
    sure = [each or (1.0, 1.0) for each in tests]
    p_values, opposites = (holm([pair[side] for pair in sure]) for side in (0, 1))
    return [
        each if tested is None else _judged(plan, each, p_value, against)
        for each, tested, p_value, against in zip(found, tests, p_values, opposites, strict=True)
    ]


def policy_table(judged: Sequence[JudgedEnvironment]) -> Table:
    """One row per environment."""
    rows = []
    for each in judged:
        own, difference = each.effect, NOTHING
        if own.seeds > 1:
            difference = f"{own.difference:+,.1f} ({own.low:+,.1f} to {own.high:+,.1f})"
        means = (NOTHING if cell is None else str(cell) for cell in (each.theirs, each.ours))
        p_values = (shown_p(each.p_value), shown_p(each.against))
        name = (each.environment, f"{each.steps:,}", str(own.seeds))
        rows.append((*name, *means, difference, f"**{each}**", *p_values))
    headings = ("environment", "steps", "seeds", "tanh: area", "KAF: area", "KAF - tanh", "verdict")
    return Table("Planned study", (*headings, "p for the claim", "p against it"), tuple(rows))


def _compared(plan: PolicyPlan, environment: str, fresh: Evidence) -> JudgedEnvironment:
    steps = plan.steps[environment]
    found = fresh.rewards(steps, environment, "area")
    ours, theirs = found.get(plan.ours), found.get(plan.theirs)
    one, two = (cell.test if cell else {} for cell in (ours, theirs))
    common = sorted(one.keys() & two.keys())
    measured = effect([one[seed] for seed in common], [two[seed] for seed in common])
    done = f": {len(common)} of {len(plan.seeds)} seeds"
    return JudgedEnvironment(environment, steps, ours, theirs, measured, remark=done)


def _sureness(plan: PolicyPlan, found: JudgedEnvironment) -> tuple[float, float] | None:
    """p-values for the claim and against it; None while seeds are missing."""
    ours, theirs = found.ours, found.theirs
    if ours is None or theirs is None or not ours.test.keys() == theirs.test.keys() == set(plan.seeds):
        return None
    one, two = ([cell.test[seed] for seed in plan.seeds] for cell in (ours, theirs))
    tested = paired_test(one, two, alternative="greater")
    return (1.0, 1.0) if tested is None else (tested.p_value, tested.opposite)


def _judged(plan: PolicyPlan, found: JudgedEnvironment, p_value: float, against: float) -> JudgedEnvironment:
    outcome, remark = Outcome.UNDECIDED, ""
    if p_value < plan.level:
        outcome = Outcome.CONFIRMED
    elif against < plan.level:
        outcome, remark = Outcome.REFUTED, ": the opposite is shown"
    else:
        reach = detectable(found.effect.deviation, len(plan.seeds), comparisons=len(plan.steps), sides=1)
        remark = f": a difference of {reach:,.1f} would have been confirmed"
    return replace(found, outcome=outcome, p_value=p_value, against=against, remark=remark)
