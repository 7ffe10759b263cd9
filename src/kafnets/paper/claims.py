"""The paper's claims, one by one, and the stored runs that decide about each."""

from collections.abc import Callable
from dataclasses import replace

from kafnets.comparison.summary import Cell, in_layers
from kafnets.networks import cnn
from kafnets.paper import cifar10, rl, susy
from kafnets.paper.evidence import Evidence
from kafnets.paper.published import shown_name
from kafnets.paper.verdicts import (
    MUCH,
    TRIFLE,
    Claim,
    Question,
    Verdict,
    better,
    equal,
    judge,
    much_better,
    no_gain,
)


def verdicts(evidence: Evidence) -> list[Verdict]:
    """On all claims, corrected for their number."""
    return judge(CLAIMS, evidence)


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
    what = f"initialized like tanh and randomly equal within {TRIFLE:.0%} of the errors"
    return _at_both_depths(evidence, equal, "kaf from tanh", "kaf", what)


def _susy(evidence: Evidence, label: str, layers: int) -> Cell | None:
    return evidence.cell("susy", "sample", label, layers)


def _shallow_beat_deep(evidence: Evidence) -> list[Question]:
    deep, questions = _susy(evidence, "relu", 5), []
    for label, layers in (("kaf", 1), ("kaf", 2), ("kaf2d", 1), ("kaf2d", 2)):
        ours, name = _susy(evidence, label, layers), f"{shown_name(label)}, {in_layers(layers)}"
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
            better(two, one, f"{shown_name(label)}: 2 layers over 1"),
            better(_gain(evidence, label), maxout, f"gain of {shown_name(label)} over gain of maxout"),
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
    needed = [("elu", 2), ("elu", 5), ("kaf", 2), ("kaf2d", 2)]
    medium = [evidence.cell("cifar10", "medium", *each) for each in needed]
    finished = all(cell is not None and len(cell.test) >= ENOUGH for cell in medium)
    profile = "medium" if finished else "small"
    filters, settings = cifar10.PROFILES[profile]
    return [
        better(
            evidence.cell("cifar10", profile, label, 2),
            evidence.cell("cifar10", profile, "elu", modules),
            f"{shown_name(label)}, 2 modules, over ELU, {modules} modules; {filters} filters, "
            f"{settings.epochs} epochs",
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
        what = f"2D-KAF over ELU, {modules} modules of {filters} filters: 40 to 60 % of the parameters"
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
    stored = evidence.benchmark("cpu/kernels")
    wanted = ("KAF / PReLU", "KAF / ELU", "training step")
    bars = [bar for bar in stored["bars"] if bar["what"].startswith(wanted)]
    return [
        Question(f"time, {bar['what']}", f"{bar['measured']:.2f} (target {bar['bar']})", holds=bar["met"])
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
            "nothing" if cell is None else f"{shown_name(cell.label)} ({in_layers(cell.layers)})"
            for cell in (ours, theirs)
        ]
        questions.append(better(ours, theirs, f"{named[0]} over {named[1]}, best in validation"))
    return questions


OURS = ("kaf", "kaf2d")
ENOUGH = 5
"""Seeds of each cell with which the profile "medium" of CIFAR-10 decides in place of "small"."""
SENSORLESS = "the paper's setting"
SUSY = "a sample of the rows"
CLAIMS = (
    Claim(
        "Two layers of KAF beat three of tanh and of PReLU on Sensorless", SENSORLESS, _two_layers_beat_three
    ),
    Claim("2D-KAF beats KAF at two layers on Sensorless", SENSORLESS, _pairs_beat_single),
    Claim("KAFs with frozen random coefficients are much worse", SENSORLESS, _frozen_are_worse),
    Claim("KAFs initialized like tanh give similar results", SENSORLESS, _tanh_start_is_equal),
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
        f"fewer filters than {cifar10.PROFILES['paper'][0]} and fewer epochs, as below",
        _two_modules_beat_five,
    ),
    Claim(
        "2D-KAF halves the parameters of a convolutional network",
        "counted, in networks of the paper's size",
        _pairs_halve_parameters,
    ),
    Claim(
        "KAF policies learn faster on MuJoCo",
        "current environments, steps as below",
        _policies_learn_faster,
    ),
    Claim("Adapting γ gives no gain", SENSORLESS, _learned_bandwidth_gains_nothing),
    Claim("KAFs cost little", "this package's kernels, our own targets, one CPU thread", _cost_little),
    Claim("KAF and 2D-KAF are better than all others on SUSY", SUSY, _best_on_susy),
)
