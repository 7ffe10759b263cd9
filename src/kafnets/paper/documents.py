"""Tables in the documents of a checkout, written between marker lines from what is stored.

``<!-- generated: NAME -->`` and ``<!-- end -->`` enclose one; the prose around them is written by hand.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from kafnets import files
from kafnets.benchmark import acting, frameworks, images, instruction_sets, peers, report, rivals, training
from kafnets.comparison.mean_ranks import MeanRanks
from kafnets.comparison.table import Table
from kafnets.paper import tables, verdict_tables
from kafnets.paper.claims import verdicts
from kafnets.paper.confirmatory import Judged, judge
from kafnets.paper.evidence import Evidence
from kafnets.paper.plan import Plan
from kafnets.paper.policy_study import PolicyPlan, policy_table
from kafnets.paper.policy_study import judge as judge_policies

DOCUMENTS = (
    Path("README.md"),
    *(Path(f"docs/{name}.md") for name in ("results", "reinforcement-learning", "speed", "frameworks")),
)
DIAGRAM = Path("docs/images/critical-difference.svg")
FOREST = Path("docs/images/forest.svg")
BLOCK = re.compile(r"<!-- generated: ([\w-]+) -->\n.*?<!-- end -->", re.DOTALL)

Maker = Callable[[Evidence], str]


def _table(make: Callable[[Evidence], Table]) -> Maker:
    return lambda evidence: make(evidence).markdown()


def _titled(make: Callable[[Evidence], Table]) -> Maker:
    def text(evidence: Evidence) -> str:
        table = make(evidence)
        return f"**{table.title}**\n\n{table.markdown() if table.rows else 'No run is stored yet.'}"

    return text


def _kernels(part: str) -> Maker:
    """Times of one part of the benchmark of kernels, a table for each shape of the input."""
    return lambda evidence: _by_shape(report.tables(evidence.benchmark("cpu/kernels"), part))


def _by_shape(found: list[Table]) -> str:
    return "\n\n".join(f"{table.title}:\n\n{table.markdown()}" for table in found)


def _instruction_sets(evidence: Evidence) -> str:
    result = evidence.benchmark("cpu/instruction-sets")
    return _by_shape(instruction_sets.tables(result))


def _measured(name: str, *makers: Callable[[dict[str, object]], Table]) -> Maker:
    """Tables of a benchmark, and what it was measured with."""

    def text(evidence: Evidence) -> str:
        result = evidence.benchmark(f"cpu/{name}")
        shown = [make(result).markdown() for make in makers]
        return "\n\n".join([*shown, f"Measured on {report.source(result)}."])

    return text


def _versions(evidence: Evidence) -> str:
    result = evidence.benchmark("cpu/frameworks")
    found: dict[str, str] = {}
    for each in result["frameworks"].values():
        found |= each.get("versions", {})
    listed = ", ".join(f"{package} {version}" for package, version in sorted(found.items()))
    return f"Measured with {listed}, on {report.source(result)}."


def _made_with(evidence: Evidence) -> str:
    """Versions and processors of all stored runs."""
    stamps = [record.provenance for record in evidence.records]
    found = {
        "commit": {" ".join([each["commit"][:12], *each["commit"].split()[1:]]) for each in stamps},
        "processor": {each["hardware"]["processor"] for each in stamps},
        "python": {each["versions"]["python"] for each in stamps},
        "torch": {each["versions"]["torch"] for each in stamps},
    }
    return "; ".join(f"{name} {', '.join(sorted(values))}" for name, values in found.items()) + "."


GENERATED: dict[str, Maker] = {
    "confirmatory": lambda evidence: verdict_tables.judged_table(study(evidence)).markdown(),
    "comparisons": lambda evidence: verdict_tables.comparison_table(study(evidence)).markdown(),
    "claims": lambda evidence: verdict_tables.verdict_table(verdicts(evidence)).markdown(),
    "evidence": lambda evidence: verdict_tables.question_table(verdicts(evidence)).markdown(),
    "sensorless-paper": _table(tables.sensorless_paper),
    "sensorless": _table(tables.sensorless_all),
    "sensorless-recent": _table(tables.sensorless_recent),
    "sensorless-short": _table(tables.sensorless_short),
    "dictionary-sizes": _table(tables.dictionary_sizes),
    "susy": _titled(partial(tables.susy, profiles=["sample"])),
    "cifar10-small": _titled(partial(tables.modules, profile="small")),
    "cifar10-medium": _titled(partial(tables.modules, profile="medium")),
    "cifar10-short": _titled(partial(tables.modules, profile="short")),
    "cifar10-long": _titled(partial(tables.modules, profile="long")),
    "policies": _table(tables.policies),
    "policy-tests": _table(tables.policy_tests),
    "policy-study": lambda evidence: policy_table(
        judge_policies(PolicyPlan.of(evidence.results.parent), evidence)
    ).markdown(),
    "wider": _table(tables.wider_scores),
    "chosen-settings": _table(tables.chosen_settings),
    "recipe-variants": _table(tables.variants),
    "recipe": _table(tables.recipe),
    "made-with": _made_with,
    "speed-claims": _measured("kernels", report.bars_table),
    "speed-one-thread": _kernels("one thread"),
    "speed-plain": _kernels("beside the plain formulas"),
    "speed-all-threads": _kernels("all threads"),
    "speed-step": _measured("kernels", report.training_step),
    "speed-instruction-sets": _instruction_sets,
    "speed-instruction-bars": _measured("instruction-sets", report.bars_table),
    "speed-rivals": _measured("rivals", lambda result: rivals.tables(result)[0]),
    "speed-training": _measured("training", lambda result: training.tables(result)[0], report.bars_table),
    "speed-images": _measured("images", lambda result: images.tables(result)[0]),
    "speed-peers": _measured("peers", lambda result: peers.tables(result)[0], report.bars_table),
    "acting": _measured("acting", lambda result: acting.tables(result)[0]),
    "framework-errors": lambda evidence: frameworks.tables(evidence.benchmark("cpu/frameworks"))[
        0
    ].markdown(),
    "framework-times": lambda evidence: frameworks.tables(evidence.benchmark("cpu/frameworks"))[1].markdown(),
    "framework-bars": lambda evidence: report.bars_table(evidence.benchmark("cpu/frameworks")).markdown(),
    "framework-versions": _versions,
}
"""By the name that stands in the marker."""


def written(root: Path, path: Path, evidence: Evidence) -> str:
    """What a document should say."""
    if not (root / path).exists():
        raise FileNotFoundError(
            f"--folder must be a checkout of kafnets, with {path} in it, got {str(root)!r}"
        )

    makers = {name: partial(make, evidence) for name, make in GENERATED.items()}
    try:
        return filled((root / path).read_text(encoding="utf-8"), makers)
    except KeyError as error:
        raise ValueError(f"{path}: {error.args[0]}") from None


def filled(text: str, makers: Mapping[str, Callable[[], str]]) -> str:
    """A document with its tables, each made by the name that stands in its marker."""

    def replaced(block: re.Match[str]) -> str:
        name = block[1]
        if name not in makers:
            raise KeyError(f"nothing is called {name!r}: there are {', '.join(makers)}")
        return f"<!-- generated: {name} -->\n\n{makers[name]()}\n\n<!-- end -->"

    return BLOCK.sub(replaced, text)


def stale(root: Path) -> list[Path]:
    """Documents that say something else, and pictures that show something else."""
    evidence = Evidence.of(root)
    found = [
        path
        for path in DOCUMENTS
        if written(root, path, evidence) != (root / path).read_text(encoding="utf-8")
    ]
    return found + [
        path
        for path, words in ((DIAGRAM, _in_words(tables.ranking(evidence))), (FOREST, _told(study(evidence))))
        if not (root / path).exists() or words not in (root / path).read_text(encoding="utf-8")
    ]


def write(root: Path) -> list[Path]:
    """Write the tables of all documents and their two pictures; returns what was written."""
    from matplotlib import rc_context

    from kafnets.paper.figures.forest import forest
    from kafnets.paper.figures.ranks import critical_difference

    evidence = Evidence.of(root)
    texts = {path: written(root, path, evidence) for path in DOCUMENTS}
    for path, text in texts.items():
        files.write(root / path, text)
    ranking, judged, margin = tables.ranking(evidence), study(evidence), Plan.of(root).margin
    with rc_context({"svg.hashsalt": "kafnets"}):  # the same names inside it each time
        for path, figure, words in (
            (DIAGRAM, critical_difference(ranking), _in_words(ranking)),
            (FOREST, forest(judged, margin), _told(judged)),
        ):
            figure.savefig(root / path, metadata={"Date": None, "Description": words})
    return [*DOCUMENTS, DIAGRAM, FOREST]


def study(evidence: Evidence) -> list[Judged]:
    """The confirmatory one of the evidence's checkout."""
    return judge(Plan.of(evidence.results.parent), evidence)


def _told(judged: Sequence[Judged]) -> str:
    """What the forest plot shows, in words."""
    return "; ".join(" | ".join(row) for row in verdict_tables.comparison_table(judged).rows)


def _in_words(ranking: MeanRanks) -> str:
    """What the diagram shows, for those who cannot see it and for those who check it."""
    ranks = ", ".join(f"{label} {rank:.3f}" for label, rank in ranking.ranks.items())
    critical = f"{ranking.critical_difference:.3f}"
    return f"Mean ranks over {ranking.sets} data sets: {ranks}; critical difference {critical}"
