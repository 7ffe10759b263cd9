"""The page's tables: ours, the paper's value, the difference, and the setting that ours was run in."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from kafnets.comparison.ranking import Ranking, rank
from kafnets.comparison.summary import Cell
from kafnets.paper import cifar10, published, rl, sensorless, wider
from kafnets.paper.claims import Verdict
from kafnets.paper.evidence import Evidence
from kafnets.paper.figures import tables as paper_tables
from kafnets.paper.figures.tables import Table
from kafnets.registry import facts_of, own_names

SIZES = (5, 10, 20, 40, 80)
NOTHING = "-"


def verdict_table(verdicts: Sequence[Verdict]) -> Table:
    """One row a claim."""
    rows = []
    for number, verdict in enumerate(verdicts, 1):
        p_value = NOTHING if verdict.p_value is None else f"{verdict.p_value:.2g}"
        rows.append(
            (str(number), verdict.claim.statement, verdict.claim.setting, f"**{verdict.word}**", p_value)
        )
    return Table("Claims", ("", "the paper's claim", "tested in", "verdict", "p, corrected"), tuple(rows))


def question_table(verdicts: Sequence[Verdict]) -> Table:
    """What the verdicts rest on."""
    rows = []
    for number, verdict in enumerate(verdicts, 1):
        for each in verdict.questions:
            if each.missing:
                continue
            test = each.test
            rows.append(
                (
                    str(number),
                    each.what,
                    each.found,
                    each.difference or NOTHING,
                    NOTHING if test is None else f"{test.p_value:.2g}",
                    NOTHING if test is None else f"{test.opposite:.2g}",
                    ("holds" if each.holds else "does not hold") if test is None else test.name,
                )
            )
    headings = (
        "claim",
        "what is compared",
        "means or counts",
        "difference",
        "p",
        "p of the opposite",
        "test",
    )
    return Table("Evidence", headings, tuple(rows))


def sensorless_paper(evidence: Evidence) -> Table:
    """What the paper gives numbers for."""
    rows = []
    for (label, layers), paper in published.SENSORLESS.items():
        cell = evidence.cell("sensorless", "paper", label, layers)
        rows.append(
            (
                label,
                str(layers),
                score(cell),
                seeds(cell),
                f"{paper.mean:.4f}",
                NOTHING if cell is None else f"{cell.mean - paper.mean:+.4f}",
                size(cell),
            )
        )
    headings = ("activation", "layers", "ours: test accuracy", "seeds", "paper", "difference", "parameters")
    return Table("Sensorless, what the paper gives", headings, tuple(rows))


def sensorless_all(evidence: Evidence) -> Table:
    """Every activation that can be plotted, and the controls."""
    controls = [label for label in sensorless.CONTROLS if "D=" not in label]
    labels = [*(name for name in own_names() if facts_of(name).plottable), *controls]
    rows = []
    for label in labels:
        own = [evidence.cell("sensorless", "paper", label, layers) for layers in (1, 2, 3)]
        if any(own):
            rows.append((label, *map(score, own), least_seeds(own), size(own[1])))
    rows.sort(key=lambda row: row[2], reverse=True)
    headings = ("activation", "1 layer", "2 layers", "3 layers", "seeds", "parameters, 2 layers")
    return Table("Sensorless, test accuracy", headings, tuple(rows))


def dictionary_sizes(evidence: Evidence) -> Table:
    """KAFs with shorter and longer dictionaries."""
    rows = []
    for number in SIZES:
        label = "kaf" if number == 20 else f"kaf D={number}"
        own = [evidence.cell("sensorless", "paper", label, layers) for layers in (1, 2)]
        if any(own):
            rows.append((str(number), *map(score, own), least_seeds(own), size(own[1])))
    headings = ("D", "1 layer", "2 layers", "seeds", "parameters, 2 layers")
    return Table("Sensorless by the size of the dictionary", headings, tuple(rows))


def susy(evidence: Evidence) -> Table:
    """Table 2."""
    return paper_tables.susy(evidence, ["sample"])


def modules(evidence: Evidence, profile: str) -> Table:
    """CIFAR-10 at one profile."""
    filters, settings = cifar10.PROFILES[profile]
    rows = []
    for cell in evidence.cells("cifar10", profile, cifar10.ACTIVATIONS, cifar10.LAYERS):
        best = ", ".join(str(epoch) for epoch in cell.best_epochs.values())
        rows.append((cell.label, str(cell.layers), score(cell), seeds(cell), best, size(cell)))
    rows.sort(key=lambda row: (row[1], cifar10.ACTIVATIONS.index(row[0])))
    title = (
        f"CIFAR-10, {filters} filters, at most {settings.epochs} epochs, stopped after {settings.patience} "
        "without improvement"
    )
    return Table(
        title, ("activation", "modules", "test accuracy", "seeds", "best epochs", "parameters"), tuple(rows)
    )


def policies(evidence: Evidence) -> Table:
    """Reinforcement learning, the longest runs of each environment."""
    rows = []
    for environment in rl.ENVIRONMENTS:
        if (steps := evidence.longest(environment)) is None:
            continue
        areas, final = (evidence.rewards(steps, environment, metric) for metric in ("area", "reward"))
        rows += [
            (environment, f"{steps:,}", label, score(area), score(final[label]), seeds(area))
            for label, area in areas.items()
        ]
    headings = ("environment", "steps", "activation", "area under the curve", "final reward", "seeds")
    return Table("Policies", headings, tuple(rows))


def finished_sets(evidence: Evidence) -> dict[str, dict[str, Cell]]:
    """The data sets beyond the paper's on which everything is finished, with all seeds."""
    wanted = {*own_names(), *wider.OTHERS}
    finished = {}
    for name in wider.SETS:
        found = evidence.tuned(name)
        ranked = {label: cell for label, cell in found.items() if label in wanted}
        if ranked.keys() == wanted and len({len(cell.test) for cell in ranked.values()}) == 1:
            finished[name] = found
    return finished


def ranking(evidence: Evidence, unchanged: bool = False) -> Ranking | None:
    """Over the finished data sets; None while there are less than two.

    Args:
        evidence: the stored results.
        unchanged: count in what had no choice, too.
    """
    finished = finished_sets(evidence)
    if len(finished) < 2 or (unchanged and any(wider.UNCHANGED not in found for found in finished.values())):
        return None
    return rank(
        {
            name: {label: cell.mean for label, cell in found.items() if unchanged or label != wider.UNCHANGED}
            for name, found in finished.items()
        }
    )


def wider_scores(evidence: Evidence, ranks: Mapping[str, float]) -> Table:
    """Means and deviations over seeds, best rank first, below the sizes of the test parts."""
    order = list(ranks)
    found = finished_sets(evidence)
    examples = [next(iter(cells.values())) for cells in found.values()]
    rows = [("rows of the test part", "", *(f"{cell.test_rows:,}" for cell in examples), "")]
    for label in (*order, wider.UNCHANGED):
        own = [cells.get(label) for cells in found.values()]
        place = NOTHING if label not in order else f"{ranks[label]:.1f}"
        rows.append((label, place, *map(score, own), size(own[0])))
    metrics = (f"{name}, {cell.metric}" for name, cell in zip(found, examples, strict=True))
    headings = ("", "mean rank", *metrics, f"parameters, {next(iter(found))}")
    return Table("Beyond the paper's data", headings, tuple(rows))


def chosen_settings(evidence: Evidence, order: Sequence[str]) -> Table:
    """What validation chose, seed by seed: how often each value."""
    rows, finished = [], finished_sets(evidence)
    for label in order:
        own = []
        for name in finished:
            chosen = (
                record.tuning.chosen
                for record in evidence.tuned_records(name)
                if record.label == label and record.tuning is not None
            )
            counts = Counter(f"{value:g}" for value in chosen)
            own.append(", ".join(f"{value} ({count})" for value, count in counts.most_common()) or NOTHING)
        rows.append((label, *own))
    return Table("Chosen in validation", ("", *finished), tuple(rows))


def recipe(evidence: Evidence) -> Table:
    """The earlier recipe on Sensorless beside its rivals, and beside the paper's settings."""
    rows = [
        (
            label,
            "the earlier recipe" if label == wider.UNCHANGED else "tuned in validation",
            score(cell),
            seeds(cell),
            size(cell),
        )
        for label, cell in evidence.tuned("sensorless").items()
    ]
    paper = evidence.cell("sensorless", "paper", "kaf", 2)
    rows.append(("kaf, 2 x 100", "the paper's", score(paper), seeds(paper), size(paper)))
    rows.sort(key=lambda row: row[2], reverse=True)
    return Table("Recipe", ("", "settings", "test accuracy", "seeds", "parameters"), tuple(rows))


def variants(evidence: Evidence) -> Table:
    """What the recipe was chosen from: validation scores, never the test's."""
    stored = (evidence.benchmark("recipe") or {"variants": {}})["variants"]
    sets = wider.EVERYWHERE
    rows = [
        (label, *(number(own.get(name, {}).get("validation")) for name in sets))
        for label, own in stored.items()
    ]
    return Table("Validation scores of the earlier recipe with one thing changed", ("", *sets), tuple(rows))


def score(cell: Cell | None) -> str:
    """Mean and deviation."""
    if cell is None:
        return NOTHING
    digits = 1 if cell.metric in ("area", "reward") else 4
    deviation = f" ± {cell.deviation:,.{digits}f}" if len(cell.test) > 1 else ""
    return f"{cell.mean:,.{digits}f}{deviation}"


def number(value: float | None) -> str:
    """Four digits of it."""
    return NOTHING if value is None else f"{value:.4f}"


def commit(stamp: dict[str, Any]) -> str:
    """Of a run: short, but not silent about changes that were not committed."""
    number, *rest = str(stamp["commit"]).split(maxsplit=1)
    return " ".join([number[:12], *rest])


def seeds(cell: Cell | None) -> str:
    """How many there are."""
    return NOTHING if cell is None else str(len(cell.test))


def least_seeds(cells: Sequence[Cell | None]) -> str:
    """Of several cells."""
    return str(min(len(cell.test) for cell in cells if cell is not None))


def size(cell: Cell | None) -> str:
    """The number of parameters that are trained."""
    return NOTHING if cell is None else f"{cell.parameters:,}"
