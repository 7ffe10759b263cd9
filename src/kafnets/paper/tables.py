"""Tables of the paper and of the page of results: ours, the paper's value and the difference."""

from collections import Counter
from collections.abc import Mapping, Sequence

from kafnets.comparison.mean_ranks import MeanRanks, mean_ranks
from kafnets.comparison.summary import Cell, in_layers
from kafnets.comparison.table import NOTHING, Table
from kafnets.paper import cifar10, published, rl, sensorless, wider
from kafnets.paper import susy as susy_experiment
from kafnets.paper.evidence import Evidence, Missing
from kafnets.paper.published import REVIEWED, shown_name
from kafnets.paper.verdict_tables import shown_p
from kafnets.registry import facts_of, own_names
from kafnets.train.settings import FULL_PRECISION

COMPARED = ("apl", "saf", "maxout", "kaf", "kaf2d")
"""The rows of Table 1."""

SIZES = {5: "kaf D=5", 10: "kaf D=10", 20: "kaf", 40: "kaf D=40", 80: "kaf D=80"}
"""Labels of KAFs on Sensorless, by the size of the dictionary."""


def activations() -> Table:
    """Table 1: properties of the non-parametric activations, as their classes declare them."""
    decay = {"l2": "only l2", "own": "its own", None: NOTHING}
    rows = []
    for name in COMPARED:
        facts = facts_of(name)
        rows.append(
            (
                shown_name(name),
                "yes" if facts.smooth else "no",
                facts.local or NOTHING,
                decay.get(facts.regularization, str(facts.regularization)),
                "yes" if facts.plottable else "no",
                facts.hyperparameter or NOTHING,
                facts.parameters.replace("**2", "²"),
            )
        )
    headings = ("name", "smooth", "local", "regularization", "plottable", "set by", "parameters per neuron")
    return Table("Non-parametric activation functions", headings, tuple(rows))


def susy(evidence: Evidence, profiles: Sequence[str] = tuple(susy_experiment.PROFILES)) -> Table:
    """Table 2: ours and the published values, with their differences.

    Args:
        evidence: what is stored.
        profiles: the first of these that has finished runs is shown.
    """
    for profile in profiles:
        own = evidence.cells("susy", profile, susy_experiment.ACTIVATIONS)
        if own:
            break
    else:
        raise Missing("no stored results: run kafnets reproduce susy --profile sample")
    found = {(cell.label, cell.layers): cell for cell in own}
    rows = []
    for (label, layers), paper in published.SUSY.items():
        cell = found.get((label, layers))
        name = f"{shown_name(label)}, {in_layers(layers)}"
        beside = (str(paper), _difference(cell, paper), _size(cell), f"{paper.parameters:,}")
        rows.append((name, _score(cell), _seeds(cell), *beside))
    headings = ("activation", "ours: test AUC", "seeds", "paper: test AUC", "difference")
    title = f"SUSY, {profile} profile, on {own[0].data}; the paper's on all 5,000,000 rows"
    return Table(title, (*headings, "ours: parameters", "paper"), tuple(rows))


def sensorless_paper(evidence: Evidence) -> Table:
    """The activations for which the paper gives numbers."""
    rows = []
    for (label, layers), paper in published.SENSORLESS.items():
        cell = evidence.cell("sensorless", "paper", label, layers)
        ours = (label, str(layers), _score(cell), _seeds(cell))
        rows.append((*ours, str(paper), _difference(cell, paper), _size(cell)))
    headings = ("activation", "layers", "ours: test accuracy", "seeds", "paper", "difference", "parameters")
    return Table("Sensorless, what the paper gives", headings, tuple(rows))


def sensorless_all(evidence: Evidence) -> Table:
    """Every activation that can be plotted, and the controls, best with two layers first."""
    controls = [label for label in sensorless.CONTROLS if label not in SIZES.values()]
    labels = [*(name for name in REVIEWED if facts_of(name).plottable), *controls]
    found = evidence.cells("sensorless", "paper", labels, [2])
    order = sorted(found, key=lambda cell: cell.mean, reverse=True)
    named = {cell.label: cell.label for cell in order}
    return _by_depth(evidence, "Sensorless, test accuracy", "activation", named, (1, 2, 3))


def sensorless_recent(evidence: Evidence) -> Table:
    """More recent activations and KAF, best first."""
    found = evidence.cells("sensorless", "paper", ["kaf", *{*own_names()} - {*REVIEWED}], [2])
    found = sorted(found, key=lambda cell: (-cell.mean, cell.label))
    rows = tuple((cell.label, _score(cell), _seeds(cell), _size(cell)) for cell in found)
    return Table("Sensorless, 2 layers", ("activation", "test accuracy", "seeds", "parameters"), rows)


def sensorless_short(evidence: Evidence) -> Table:
    """Common activations and KAFs."""
    named = {label: label for label in ("relu", "prelu", "kaf", "kaf2d")}
    return _by_depth(evidence, "Sensorless, test accuracy", "activation", named, (1, 2, 3))


def dictionary_sizes(evidence: Evidence) -> Table:
    """KAFs with smaller and larger dictionaries."""
    named = {str(size): label for size, label in SIZES.items()}
    return _by_depth(evidence, "Sensorless by the size of the dictionary", "D", named, (1, 2))


def _by_depth(
    evidence: Evidence, title: str, heading: str, named: Mapping[str, str], depths: Sequence[int]
) -> Table:
    rows = []
    for name, label in named.items():
        own = [evidence.cell("sensorless", "paper", label, layers) for layers in depths]
        there = [cell for cell in own if cell is not None]
        if there:
            least = min(len(cell.test) for cell in there)
            rows.append((name, *map(_score, own), str(least), _size(own[1])))
    headings = (heading, *map(in_layers, depths), "seeds", "parameters, 2 layers")
    return Table(title, headings, tuple(rows))


def modules(evidence: Evidence, profile: str) -> Table:
    """CIFAR-10 at one profile."""
    filters, settings = cifar10.PROFILES[profile]
    found = evidence.cells("cifar10", profile, cifar10.ACTIVATIONS, cifar10.LAYERS)
    rows = []
    for cell in sorted(found, key=lambda cell: cell.layers):
        best = ", ".join(map(str, cell.best_epochs.values()))
        rows.append((cell.label, str(cell.layers), _score(cell), _seeds(cell), best, _size(cell)))
    epochs = f"{settings.epochs} epochs"
    if settings.patience is not None and settings.patience < settings.epochs:
        epochs = f"at most {epochs}, stopped after {settings.patience} without improvement"
    rounded = "" if settings.precision == FULL_PRECISION else f", {settings.precision} precision"
    title = f"CIFAR-10, {filters} filters, {epochs}{rounded}"
    headings = ("activation", "modules", "test accuracy", "seeds", "best epochs", "parameters")
    return Table(title, headings, tuple(rows))


def policies(evidence: Evidence) -> Table:
    """Reinforcement learning, the longest runs of each environment."""
    rows = []
    for environment in rl.ENVIRONMENTS:
        if (steps := evidence.longest(environment)) is None:
            continue
        by_metric = (evidence.rewards(steps, environment, metric) for metric in ("area", "reward", "greedy"))
        for own in zip(*(found.values() for found in by_metric), strict=True):
            first = own[0]
            ends = (*map(_score, own), _seeds(first), _size(first))
            rows.append((environment, f"{steps:,}", first.label, *ends))
    headings = ("environment", "steps", "activation", "area", "final reward", "without noise", "seeds")
    return Table("Policies", (*headings, "parameters"), tuple(rows))


def policy_tests(evidence: Evidence) -> Table:
    """KAF against tanh: two-sided paired tests, corrected for the number of all of them."""
    rows = []
    for environment in rl.ENVIRONMENTS:
        if (steps := evidence.longest(environment)) is None:
            continue
        for metric, name in (("area", "area"), ("reward", "final reward")):
            theirs, ours = evidence.rewards(steps, environment, metric).values()
            tested = ours.against(theirs)
            p_value = None if tested is None else tested.corrected(2 * len(rl.ENVIRONMENTS)).p_value
            rows.append((environment, name, f"{ours.mean - theirs.mean:+,.1f}", shown_p(p_value)))
    return Table("KAF against tanh", ("environment", "measure", "KAF - tanh", "p, corrected"), tuple(rows))


def finished_sets(evidence: Evidence) -> dict[str, dict[str, Cell]]:
    """The data sets beyond the paper's on which everything is finished, with all seeds."""
    wanted = {*REVIEWED, *wider.OTHERS}
    finished = {}
    for name in wider.SETS:
        found = evidence.tuned(name)
        ranked = {label: cell for label, cell in found.items() if label in wanted}
        if ranked.keys() == wanted and len({len(cell.test) for cell in ranked.values()}) == 1:
            finished[name] = found
    return finished


def ranking(evidence: Evidence, unchanged: bool = False) -> MeanRanks:
    """Over the finished data sets.

    Args:
        evidence: what is stored.
        unchanged: count in what had no choice, too.
    """
    return mean_ranks(
        {
            name: {label: cell.mean for label, cell in found.items() if unchanged or label != wider.UNCHANGED}
            for name, found in finished_sets(evidence).items()
        }
    )


def wider_scores(evidence: Evidence) -> Table:
    """Means and deviations over seeds, best rank first, below the sizes of the test parts."""
    ranks, found = ranking(evidence).ranks, finished_sets(evidence)
    examples = [next(iter(own.values())) for own in found.values()]
    rows = [("rows of the test part", "", *(f"{cell.test_rows:,}" for cell in examples), "")]
    for label in (*ranks, wider.UNCHANGED):
        own = [by_label.get(label) for by_label in found.values()]
        place = f"{ranks[label]:.1f}" if label in ranks else NOTHING
        rows.append((label, place, *map(_score, own), _size(own[0])))
    metrics = (f"{name}, {cell.metric}" for name, cell in zip(found, examples, strict=True))
    headings = ("", "mean rank", *metrics, f"parameters, {next(iter(found))}")
    return Table("Beyond the paper's data", headings, tuple(rows))


def chosen_settings(evidence: Evidence) -> Table:
    """How often each value was chosen on the validation part."""
    finished, ranks = list(finished_sets(evidence)), ranking(evidence).ranks
    counts: dict[tuple[str, str], Counter[str]] = {}
    for name in finished:
        for record in evidence.tuned_records(name):
            if record.tuning is not None and record.label in ranks:
                values = counts.setdefault((record.label, name), Counter())
                values[f"{record.tuning.chosen:g}"] += 1
    rows = tuple(
        (label, *(", ".join(f"{v} ({n})" for v, n in counts[label, name].most_common()) for name in finished))
        for label in ranks
    )
    return Table("Chosen in validation", ("", *finished), rows)


def recipe(evidence: Evidence) -> Table:
    """The earlier recipe on Sensorless beside its rivals and the paper's settings, best first."""
    named: list[tuple[str, str, Cell]] = [
        (label, "the earlier recipe" if label == wider.UNCHANGED else "tuned on the validation part", cell)
        for label, cell in evidence.tuned("sensorless").items()
    ]
    named += [
        ("kaf, 2 x 100", "the paper's", each) for each in evidence.cells("sensorless", "paper", ["kaf"], [2])
    ]
    named.sort(key=lambda row: row[2].mean, reverse=True)
    rows = tuple((name, how, _score(cell), _seeds(cell), _size(cell)) for name, how, cell in named)
    return Table("Recipe", ("", "settings", "test accuracy", "seeds", "parameters"), rows)


def variants(evidence: Evidence) -> Table:
    """What the earlier recipe was chosen from: validation scores, never the test's."""
    rows = []
    for label, own in evidence.benchmark("recipe")["variants"].items():
        scores = [own[name]["validation"] if name in own else None for name in wider.EVERYWHERE]
        rows.append((label, *(NOTHING if score is None else f"{score:.4f}" for score in scores)))
    title = "Validation scores of the earlier recipe with one thing changed"
    return Table(title, ("", *wider.EVERYWHERE), tuple(rows))


def _score(cell: Cell | None) -> str:
    return NOTHING if cell is None else str(cell)


def _seeds(cell: Cell | None) -> str:
    return NOTHING if cell is None else str(len(cell.test))


def _size(cell: Cell | None) -> str:
    """The number of parameters that are trained."""
    return NOTHING if cell is None else f"{cell.parameters:,}"


def _difference(cell: Cell | None, paper: published.Published) -> str:
    return NOTHING if cell is None else f"{cell.mean - paper.mean:+.4f}"
