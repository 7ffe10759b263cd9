"""How a claim is judged: by tests over the seeds of stored runs.

A claim that rests on several tests is as sure as the least sure of them (an intersection-union test). The
p-values of all claims are corrected for their number by Holm's method; the level is 5 %. So are those of the
opposites: of a claim's several tests the one that speaks most against it counts, times their number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from kafnets.comparison.statistics import LEVEL, PairedTest, holm
from kafnets.comparison.summary import Cell
from kafnets.paper.evidence import Evidence

TRIFLE = 0.25
"""Two count as equal if they differ by less than this share of the error rate: accuracies near 1 leave no
room for one number of percentage points."""

MUCH = 2.0
"""How many times the error rate is much worse."""


@dataclass(frozen=True)
class Question:
    """One test, or one count, that a claim rests on.

    Attributes:
        what: is compared.
        found: the numbers, in words.
        test: None for a count, and where there is nothing to test.
        holds: what a count says; None where a test decides.
        missing: why it could not be asked; empty if it could.
        leans: whether the means point to the claim, tested or not.
        difference: in words.
    """

    what: str
    found: str = ""
    test: PairedTest | None = None
    holds: bool | None = None
    missing: str = ""
    leans: bool = False
    difference: str = ""


@dataclass(frozen=True)
class Claim:
    """What the paper says, and what decides about it. All questions must speak for it.

    Attributes:
        statement: the claim.
        setting: in which it is tested here, where that is not the paper's.
        ask: finds the questions.
    """

    statement: str
    setting: str
    ask: Callable[[Evidence], list[Question]]


class Outcome(Enum):
    """What stored runs say about a claim: those of the first seeds, or those of a planned study."""

    CONFIRMED = "confirmed"
    NOT_CONFIRMED = "not confirmed"
    NOT_TESTED = "could not be tested here"
    REFUTED = "refuted"
    UNDECIDED = "undecided"
    UNFINISHED = "not judged yet"


@dataclass(frozen=True)
class Verdict:
    """On one claim.

    Attributes:
        claim: which.
        questions: what it rests on.
        p_value: the largest of its tests, corrected; None without a test.
        opposite: the smallest of the opposites of its tests, corrected for their number and that of claims.
    """

    claim: Claim
    questions: Sequence[Question]
    p_value: float | None = None
    opposite: float = 1.0

    @property
    def outcome(self) -> Outcome:
        """One answer against a claim is enough, whatever else is missing."""
        against = any(each.holds is False for each in self.questions)
        if against or (self.p_value is not None and self.p_value >= LEVEL):
            return Outcome.NOT_CONFIRMED
        if not self.questions or any(each.missing for each in self.questions):
            return Outcome.NOT_TESTED
        return Outcome.CONFIRMED

    @property
    def remark(self) -> str:
        """What stands behind the outcome in a table."""
        if self.outcome is Outcome.NOT_TESTED:
            missing = (each.missing for each in self.questions if each.missing)
            return f", because {next(missing, 'nothing is stored')}"
        if self.outcome is Outcome.CONFIRMED:
            return ""
        if self.opposite < LEVEL:
            of_what = "of a part of it " if len(self.questions) > 1 else ""
            return f": the opposite {of_what}holds here (p = {self.opposite:.2g})"
        leans = all(each.leans or each.holds for each in self.questions)
        return ", though all means point that way" if leans else ""

    def __str__(self) -> str:
        return self.outcome.value + self.remark


def judge(claims: Sequence[Claim], evidence: Evidence) -> list[Verdict]:
    """On all claims, corrected for their number."""
    found = [Verdict(claim, claim.ask(evidence)) for claim in claims]
    tests = {
        number: own
        for number, verdict in enumerate(found)
        if (own := [each.test for each in verdict.questions if each.test is not None])
    }
    p_values = holm([max(test.p_value for test in own) for own in tests.values()])
    opposites = holm([min(1.0, len(own) * min(test.opposite for test in own)) for own in tests.values()])
    for number, p_value, opposite in zip(tests, p_values, opposites, strict=True):
        found[number] = replace(found[number], p_value=p_value, opposite=opposite)
    return found


Tested = tuple[PairedTest | None, bool]
"""A test, and whether the means lean to what it looks for."""


def better(ours: Cell | None, theirs: Cell | None, what: str) -> Question:
    """Whether ours is better than theirs."""
    return _compared(
        ours,
        theirs,
        what,
        lambda one, two: (one.against(two, "greater"), one.mean > two.mean),
    )


def equal(ours: Cell | None, theirs: Cell | None, what: str) -> Question:
    """Whether both are the same but for a trifle."""

    def tested(one: Cell, two: Cell) -> Tested:
        return one.as_good_as(two, two.errors(TRIFLE)), abs(one.mean - two.mean) < TRIFLE * (1 - two.mean)

    return _compared(ours, theirs, what, tested)


def no_gain(ours: Cell | None, theirs: Cell | None, what: str) -> Question:
    """Whether ours is not better than theirs by more than a trifle."""

    def tested(one: Cell, two: Cell) -> Tested:
        gain = one.mean - two.mean
        return one.against(two, "less", two.errors(TRIFLE)), gain < TRIFLE * (1 - two.mean)

    return _compared(ours, theirs, what, tested)


def much_better(ours: Cell | None, theirs: Cell | None, what: str) -> Question:
    """Whether theirs has more than :data:`MUCH` times the errors of ours."""

    def tested(one: Cell, two: Cell) -> Tested:
        more = one.mean - two.mean
        return one.against(two, "greater", one.errors(MUCH - 1)), more > (MUCH - 1) * (1 - one.mean)

    question = _compared(ours, theirs, what, tested)
    if ours is None or theirs is None or question.test is None:
        return question
    ours, theirs = ours.only(theirs.test), theirs.only(ours.test)
    return replace(question, difference=f"{(1 - theirs.mean) / (1 - ours.mean):.2f} times the errors")


def _compared(
    ours: Cell | None, theirs: Cell | None, what: str, test: Callable[[Cell, Cell], Tested]
) -> Question:
    if ours is None or theirs is None:
        return Question(what, missing=f"there are no stored runs for “{what}”")
    ours, theirs = ours.only(theirs.test), theirs.only(ours.test)
    if len(ours.test) < 2:
        return Question(what, missing=f"there are too few seeds for “{what}”")
    found = f"{ours.shown_mean} against {theirs.shown_mean}"
    tested, leans = test(ours, theirs)
    if tested is None:
        return Question(what, found, missing=f"all seeds of “{what}” differ alike")
    return Question(what, found, tested, leans=leans, difference=f"{ours.mean - theirs.mean:+.4g}")
