"""The paper's claims, one by one, each with a test of what is stored.

A claim that rests on several tests is as sure as the least sure of them (an intersection-union test). The
p-values of all claims are corrected for their number by Holm's method; the level is 5 %. So are those of the
opposites: of a claim's several tests the one that speaks most against it counts, times their number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kafnets.comparison.statistics import LEVEL, PairedTest, holm
from kafnets.comparison.summary import Cell, in_layers
from kafnets.networks import cnn
from kafnets.paper import cifar10, rl, susy
from kafnets.paper.evidence import Evidence
from kafnets.paper.figures.tables import NAMES

CONFIRMED, NOT_CONFIRMED = "confirmed", "not confirmed"

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
    def word(self) -> str:
        """As it stands in the table. One answer against a claim is enough, whatever else is missing."""
        against = any(each.holds is False for each in self.questions)
        if against or (self.p_value is not None and self.p_value >= LEVEL):
            return NOT_CONFIRMED + self._leaning
        missing = [each.missing for each in self.questions if each.missing]
        if missing or not self.questions:
            return f"could not be tested here, because {(missing or ['nothing is stored'])[0]}"
        return CONFIRMED

    @property
    def _leaning(self) -> str:
        if self.opposite < LEVEL:
            of_what = "of a part of it " if len(self.questions) > 1 else ""
            return f": the opposite {of_what}holds here (p = {self.opposite:.2g})"
        leans = all(each.leans or each.holds for each in self.questions)
        return ", though all means point that way" if leans else ""


def verdicts(evidence: Evidence) -> list[Verdict]:
    """On all claims, corrected for their number."""
    found = [Verdict(claim, claim.ask(evidence)) for claim in CLAIMS]
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
    digits = 1 if ours.metric in ("area", "reward") else 4
    found = f"{ours.mean:,.{digits}f} against {theirs.mean:,.{digits}f}"
    tested, leans = test(ours, theirs)
    if tested is None:
        return Question(what, found, missing=f"all seeds of “{what}” differ alike")
    return Question(what, found, tested, leans=leans, difference=f"{ours.mean - theirs.mean:+.4g}")


Judge = Callable[[Cell | None, Cell | None, str], Question]


def _sensorless(evidence: Evidence, label: str, layers: int) -> Cell | None:
    return evidence.cell("sensorless", "paper", label, layers)


def _two_layers_beat_three(evidence: Evidence) -> list[Question]:
    ours = _sensorless(evidence, "kaf", 2)
    return [
        better(ours, _sensorless(evidence, name, 3), f"KAF, 2 layers, over {name}, 3 layers")
        for name in ("tanh", "prelu")
    ]


def _pairs_beat_single(evidence: Evidence) -> list[Question]:
    ours, theirs = (_sensorless(evidence, name, 2) for name in ("kaf2d", "kaf"))
    return [better(ours, theirs, "2D-KAF over KAF, 2 layers")]


def _at_both_depths(evidence: Evidence, judge: Judge, ours: str, theirs: str, what: str) -> list[Question]:
    return [
        judge(
            _sensorless(evidence, ours, layers),
            _sensorless(evidence, theirs, layers),
            f"{what}, {in_layers(layers)}",
        )
        for layers in (1, 2)
    ]


def _frozen_are_worse(evidence: Evidence) -> list[Question]:
    what = f"frozen has more than {MUCH:g} times the errors of learned"
    return _at_both_depths(evidence, much_better, "kaf", "kaf frozen", what)


def _tanh_start_is_equal(evidence: Evidence) -> list[Question]:
    what = f"started as tanh and at random alike within {TRIFLE:.0%} of the errors"
    return _at_both_depths(evidence, equal, "kaf from tanh", "kaf", what)


def _susy(evidence: Evidence, label: str, layers: int) -> Cell | None:
    return evidence.cell("susy", "sample", label, layers)


def _shallow_beat_deep(evidence: Evidence) -> list[Question]:
    deep, questions = _susy(evidence, "relu", 5), []
    for label, layers in (("kaf", 1), ("kaf", 2), ("kaf2d", 1), ("kaf2d", 2)):
        ours, name = _susy(evidence, label, layers), f"{_shown(label)}, {in_layers(layers)}"
        questions.append(better(ours, deep, f"{name}, over ReLU, 5 layers"))
        if ours is not None and deep is not None:
            found = f"{ours.parameters:,} against {deep.parameters:,}"
            fewer = ours.parameters < deep.parameters
            questions.append(Question(f"{name}: fewer parameters", found, holds=fewer))
    return questions


def _only_some_gain_from_depth(evidence: Evidence) -> list[Question]:
    maxout = _gain(evidence, "maxout")
    questions = []
    for label in ("apl", "kaf"):
        two, one = _susy(evidence, label, 2), _susy(evidence, label, 1)
        questions += [
            better(two, one, f"{_shown(label)}: 2 layers over 1"),
            better(_gain(evidence, label), maxout, f"the gain of {_shown(label)} over that of maxout"),
        ]
    return questions


def _gain(evidence: Evidence, label: str) -> Cell | None:
    """By a second layer, seed by seed."""
    two, one = _susy(evidence, label, 2), _susy(evidence, label, 1)
    if two is None or one is None:
        return None
    common = two.test.keys() & one.test.keys()
    return replace(two, test={seed: two.test[seed] - one.test[seed] for seed in common})


def _two_modules_beat_five(evidence: Evidence) -> list[Question]:
    # Small networks that are trained briefly may lose by depth: then five modules are easy to beat, and it
    # takes ELU's own two to tell what KAFs have to do with it.
    return [
        better(
            evidence.cell("cifar10", "small", label, 2),
            evidence.cell("cifar10", "small", "elu", modules),
            f"{_shown(label)}, 2 modules, over ELU, {modules} modules",
        )
        for modules in (5, 2)
        for label in ("kaf", "kaf2d")
    ]


def _pairs_halve_parameters(evidence: Evidence) -> list[Question]:
    filters, _ = cifar10.PROFILES["paper"]
    questions = []
    for modules in cifar10.LAYERS:
        ours, theirs = (
            sum(each.numel() for each in cnn(3, 32, modules, 10, name, filters=filters).parameters())
            for name in ("kaf2d", "elu")
        )
        found = f"{ours:,} of {theirs:,}, {ours / theirs:.0%}"
        what = f"2D-KAF beside ELU, {modules} modules of {filters} filters: 40 to 60 % of the parameters"
        questions.append(Question(what, found, holds=0.4 <= ours / theirs <= 0.6))
    return questions


def _policies_learn_faster(evidence: Evidence) -> list[Question]:
    questions = []
    for environment in rl.ENVIRONMENTS:
        steps = evidence.longest(environment)
        found = {} if steps is None else evidence.rewards(steps, environment, "area")
        what = f"{environment}: area under the curve, KAF over tanh"
        questions.append(better(found.get("kaf"), found.get("tanh"), what))
    return questions


def _learned_bandwidth_gains_nothing(evidence: Evidence) -> list[Question]:
    what = f"learned γ has no more than {TRIFLE:.0%} fewer errors"
    return _at_both_depths(evidence, no_gain, "kaf learned gamma", "kaf", what)


def _cost_little(evidence: Evidence) -> list[Question]:
    stored = evidence.benchmark("cpu/kernels") or {"bars": []}
    wanted = ("KAF / PReLU", "KAF / ELU", "training step")
    bars = [bar for bar in stored["bars"] if bar["what"].startswith(wanted)]
    return [
        Question(f"time, {bar['what']}", f"{bar['measured']:.2f} (bar {bar['bar']})", holds=bar["met"])
        for bar in bars
    ]


def _best_on_susy(evidence: Evidence) -> list[Question]:
    rivals = evidence.cells("susy", "sample", [label for label in susy.ACTIVATIONS if label not in OURS])
    questions = []
    for label in OURS:
        ours, theirs = (
            max(found, key=lambda cell: cell.mean_validation, default=None)
            for found in (evidence.cells("susy", "sample", [label]), rivals)
        )
        named = [
            "nothing" if cell is None else f"{_shown(cell.label)} ({in_layers(cell.layers)})"
            for cell in (ours, theirs)
        ]
        questions.append(better(ours, theirs, f"{named[0]} over {named[1]}, the best in validation"))
    return questions


def _shown(label: str) -> str:
    return NAMES.get(label, label)


OURS = ("kaf", "kaf2d")
SENSORLESS = "the paper's setting"
SUSY = "a sample of the rows"
CLAIMS = (
    Claim(
        "Two layers of KAF beat three of tanh and of PReLU on Sensorless", SENSORLESS, _two_layers_beat_three
    ),
    Claim("2D-KAF beats KAF at two layers on Sensorless", SENSORLESS, _pairs_beat_single),
    Claim("KAFs that stay random are much worse", SENSORLESS, _frozen_are_worse),
    Claim("KAFs that start as tanh end up alike", SENSORLESS, _tanh_start_is_equal),
    Claim(
        "Shallow networks of KAFs beat deep ones of ReLU on SUSY, with fewer parameters",
        SUSY,
        _shallow_beat_deep,
    ),
    Claim(
        "APL and KAF gain from a second layer on SUSY, where maxout does not",
        SUSY,
        _only_some_gain_from_depth,
    ),
    Claim(
        "Two convolutional modules with KAF or 2D-KAF beat five with ELU on CIFAR-10",
        f"{cifar10.PROFILES['small'][0]} filters in place of {cifar10.PROFILES['paper'][0]}, "
        f"{cifar10.PROFILES['small'][1].epochs} epochs at most",
        _two_modules_beat_five,
    ),
    Claim(
        "2D-KAF halves the parameters of a convolutional network",
        "counted, in networks of the paper's size",
        _pairs_halve_parameters,
    ),
    Claim(
        "Policies of KAFs learn faster on MuJoCo",
        "current environments, steps as below",
        _policies_learn_faster,
    ),
    Claim("Adapting γ gives no gain", SENSORLESS, _learned_bandwidth_gains_nothing),
    Claim("KAFs cost little", "this package's kernels, bars of our own, one CPU thread", _cost_little),
    Claim("KAF and 2D-KAF are better than all others on SUSY", SUSY, _best_on_susy),
)
