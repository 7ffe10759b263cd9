"""The page of results and the README's summary of it."""

from collections.abc import Callable
from pathlib import Path

from kafnets.comparison.ranking import Ranking
from kafnets.comparison.statistics import LEVEL
from kafnets.paper import remarks, wider
from kafnets.paper import results_tables as tables
from kafnets.paper.claims import CONFIRMED, NOT_CONFIRMED, Verdict, verdicts
from kafnets.paper.evidence import Evidence
from kafnets.paper.figures.results import Missing
from kafnets.paper.figures.tables import Table

PAGE, README = Path("docs/results.md"), Path("README.md")
DIAGRAM = Path("docs/images/critical-difference.svg")
BEGIN, END = "<!-- results: written by kafnets reproduce all -->", "<!-- end of results -->"


def documents(root: Path) -> dict[Path, str]:
    """What the documents of a repository should say."""
    if not (root / README).exists():
        raise FileNotFoundError(
            f"--folder must be a checkout of kafnets, with {README}, docs and results in it, got {str(root)!r}"
        )
    evidence = Evidence.of(root)
    found = verdicts(evidence)
    return {
        PAGE: page(evidence, found),
        README: between(root / README, BEGIN, END, summary(evidence, found)),
    }


def between(path: Path, begin: str, end: str, text: str) -> str:
    """The document with this text between its two marker lines."""
    before, *others = path.read_text(encoding="utf-8").split(begin)
    if len(others) != 1 or others[0].count(end) != 1:
        raise ValueError(f"{path} must have one line {begin!r} and one {end!r} after it")
    after = others[0].split(end)[1]
    return f"{before}{begin}\n\n{text.strip()}\n\n{end}{after}"


def stale(root: Path) -> list[Path]:
    """Documents that say something else, and the diagram if it shows something else."""
    found = [
        path
        for path, text in documents(root).items()
        if not (root / path).exists() or (root / path).read_text(encoding="utf-8") != text
    ]
    ranking = tables.ranking(Evidence.of(root))
    drawn = (root / DIAGRAM).read_text(encoding="utf-8") if (root / DIAGRAM).exists() else ""
    return found if ranking is None or _ranks_in_words(ranking) in drawn else [*found, DIAGRAM]


def write(root: Path) -> list[Path]:
    """Write the documents, and the diagram that the page shows."""
    found = documents(root)
    for path, text in found.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    ranking = tables.ranking(Evidence.of(root))
    if ranking is None:
        return list(found)
    from matplotlib import rc_context

    from kafnets.paper.figures.ranks import critical_difference

    (root / DIAGRAM).parent.mkdir(parents=True, exist_ok=True)
    with rc_context({"svg.hashsalt": "kafnets"}):  # the same names inside it each time
        critical_difference(ranking).savefig(
            root / DIAGRAM, metadata={"Date": None, "Description": _ranks_in_words(ranking)}
        )
    return [*found, DIAGRAM]


def _ranks_in_words(ranking: Ranking) -> str:
    """What the diagram shows, for those who cannot see it and for those who check it."""
    ranks = ", ".join(f"{label} {rank:.3f}" for label, rank in ranking.ranks.items())
    return f"Mean ranks over {ranking.sets} data sets: {ranks}; critical difference {ranking.critical_difference:.3f}"


def summary(evidence: Evidence, found: list[Verdict]) -> str:
    """For the README."""
    confirmed, not_confirmed = (
        sum(verdict.word.startswith(word) for verdict in found) for word in (CONFIRMED, NOT_CONFIRMED)
    )
    untested = len(found) - confirmed - not_confirmed
    lines = [
        f"Of {len(found)} claims that we took from the paper, {confirmed} are confirmed by the stored runs, "
        f"{not_confirmed} are not, and {untested} could not be tested; "
        "[docs/results.md](docs/results.md) has the tests, the tables and their settings.",
        "",
        *(
            f"- {verdict.claim.statement} ({verdict.claim.setting}): **{verdict.word.split(', because')[0]}**"
            for verdict in found
        ),
        "",
        "Tests are over few seeds, which show large or steady differences only.",
        "",
        "Sensorless in the paper's setting:",
        "",
        tables.sensorless_paper(evidence).body(),
        *_recipe_in_short(evidence),
    ]
    return "\n".join(lines)


def _recipe_in_short(evidence: Evidence) -> list[str]:
    ours = evidence.tuned("sensorless").get(wider.UNCHANGED)
    if ours is None:
        return []
    rivals = ", ".join(
        f"{label} {tables.score(cell)}"
        for label, cell in evidence.tuned("sensorless").items()
        if label != wider.UNCHANGED and not label.startswith("kaf")
    )
    told = (
        f"By the [earlier recipe](docs/results.md#the-earlier-recipe) of the estimators and of `kafnets compare`, KAFs reach "
        f"{tables.score(ours)} there, with {tables.size(ours)} parameters and {len(ours.test)} seeds. It was chosen "
        "for KAFs, with the validation parts of this table too."
    )
    return ["", f"{told} Rivals, each with a setting tuned in validation: {rivals}." if rivals else told]


def page(evidence: Evidence, found: list[Verdict]) -> str:
    """All of it."""
    parts = [
        "# Results",
        "Written by `kafnets reproduce all` from the run folders in `results/` and the measurements in "
        "`benchmarks/results/`; `kafnets reproduce all --check` fails if this page says anything else. Means "
        "are over seeds, ± is their standard deviation. Every seed divides the rows anew; SUSY and CIFAR-10 keep "
        "their test part and divide the others. What was run smaller than in the paper says so; where the paper "
        "leaves a setting open or contradicts itself, [the notes on it](paper-notes.md) tell what was done. Names "
        "are those of `kafnets list`; [reproducing](reproduce.md) has the commands.",
        "## The paper's claims",
        "We chose and worded these claims. One that rests on several tests is as sure as the least sure of them. "
        "p-values of claims are "
        f"corrected for their number by Holm's method ({sum(each.p_value is not None for each in found)} have tests "
        f"so far), and the level is {LEVEL:.0%}. “Not confirmed” says that these runs do not show it, not that it "
        "is wrong: so few seeds show large or steady differences only. Where they do show the opposite, in the "
        "setting of the third column, the verdict says so, with a p-value that is corrected for the claim's tests "
        "and, by Holm's method, for the number of claims.",
        tables.verdict_table(found).body(),
        "### What the verdicts rest on",
        "One-sided paired t-tests over seeds. Where seeds divide the rows anew, the variance is corrected for "
        "the overlap (Nadeau and Bengio, 2003); where the test part is the same for all seeds it is not, and p "
        "holds for that test part and that pool of rows only. Claims of likeness are tests of equivalence, with a "
        "margin of a share of the error rate. p-values here are one-sided and not corrected. **Margins, factors "
        "and tests are ours, and some were changed after first results had been seen** (from percentage points, "
        "which mean little near 100%, to shares of the errors). Claim 12, and 2D-KAF "
        "and ELU's two modules in claim 7, were added then, too; ELU's two are not in the paper's claim.",
        tables.question_table(found).body(),
    ]
    for heading, text, makers, remark in SECTIONS:
        parts += [f"## {heading}", text, *(_shown(make, evidence) for make in makers)]
        if told := remark(evidence):
            parts.append(told)
    parts += [*_wider(evidence), *_recipe(evidence), *_machine(evidence)]
    return "\n\n".join(parts) + "\n"


Maker = Callable[[Evidence], Table]


def _shown(make: Maker, evidence: Evidence) -> str:
    try:
        table = make(evidence)
    except Missing as why:
        return str(why)
    if not table.rows:
        return f"**{table.title}**: no runs are stored yet."
    return f"**{table.title}**\n\n{table.body()}"


SECTIONS: tuple[tuple[str, str, tuple[Maker, ...], Callable[[Evidence], str]], ...] = (
    (
        "Sensorless",
        "All 58,509 rows, divided 70/15/15; layers of 100, Adam, l2 of 1e-4, batches of 100, stopped after 15 "
        "epochs without improvement in validation: the paper's settings. The paper gives no deviations.",
        (tables.sensorless_paper, tables.sensorless_all, tables.dictionary_sizes),
        remarks.sensorless,
    ),
    (
        "SUSY",
        "**On a sample** of real rows, where the paper has 4,000,000 for training; the paper's values are for all "
        "rows. [Reproducing](reproduce.md#data) tells what the sample is. No accuracy is claimed from generated "
        "rows: they are for [throughput](speed.md) only.",
        (tables.susy,),
        remarks.on_susy,
    ),
    (
        "CIFAR-10",
        "50,000 images, of which 5,000 are for validation, and 10,000 for the test. The paper shows accuracies in "
        "a figure, without numbers. Networks with its 150 filters take many minutes an epoch here, so most cells "
        "are **smaller than the paper's**, alike for all three activations. So few filters and epochs may make "
        "depth a burden, which is why claim 7 asks about ELU's two modules as well as its five.",
        (
            lambda evidence: tables.modules(evidence, "small"),
            lambda evidence: tables.modules(evidence, "short"),
        ),
        remarks.on_cifar10,
    ),
    (
        "Reinforcement learning",
        "PPO with its published settings, on Gymnasium's current environments; the PPO paper has 1,000,000 "
        "steps. More in [its own page](reinforcement-learning.md).",
        (tables.policies,),
        lambda _: "",
    ),
)


def _wider(evidence: Evidence) -> list[str]:
    parts = [
        "## Beyond the paper's data",
        "More real tables, which come with scikit-learn, river and scikit-lego. Every activation, the edge-wise "
        "KAF and scikit-learn's trees get the same rows, and three values of one setting to choose from, by the "
        "validation part of each seed: the learning rate of networks and of boosting, the share of features of "
        f"forests. Networks have two hidden layers of {wider.HIDDEN[0]} (the edge-wise one has one of 32) and are "
        "trained by the earlier recipe, below. **That recipe was chosen for KAFs, and with the validation parts of these "
        "very tables**, so that KAFs have an advantage here which no correction takes away, and all networks one "
        "over trees, whose other settings are [fixed](reproduce.md#beyond-the-papers-data). Choices are often at an end of their three values. "
        "Sizes are not matched: activations with more parameters have more.",
    ]
    finished = tables.finished_sets(evidence)
    unfinished = [name for name in wider.SETS if name not in finished]
    if unfinished:
        parts.append(f"Not finished, and so left out: {', '.join(unfinished)}.")
    ranking = tables.ranking(evidence)
    if ranking is None:
        return parts
    places = {label: place for place, label in enumerate(ranking.ranks, 1)}
    ours = ranking.ranks["kaf"]
    with_unchanged = tables.ranking(evidence, unchanged=True)
    last = f"“{wider.UNCHANGED}”, last, has that recipe's own learning rate, and is not ranked since it had no choice"
    if with_unchanged is not None:
        place = list(with_unchanged.ranks).index(wider.UNCHANGED) + 1
        last += f"; with it among the others it would be in place {place} of {len(with_unchanged.ranks)}"
    worse, others = (
        [
            label
            for label, rank in ranking.ranks.items()
            if sign * (rank - ours) > ranking.critical_difference and ranking.friedman < LEVEL
        ]
        for sign in (1, -1)
    )
    told = [f"significantly better than {', '.join(worse)}"] if worse else []
    told += [f"significantly worse than {', '.join(others)}"] if others else []
    return [
        *parts,
        f"![Mean ranks]({DIAGRAM.relative_to('docs')})",
        f"Mean ranks over {ranking.sets} data sets; bars join what does not differ by more than Nemenyi's "
        f"critical difference of {ranking.critical_difference:.1f} (Friedman's test: p = "
        f"{ranking.friedman:.2g}). {next(iter(ranking.ranks))} has the best mean rank. kaf is in place "
        f"{places['kaf']} of {len(ranking.ranks)}, {' and '.join(told) or 'significantly different from none of the others'}; "
        f"kaf2d is in place {places['kaf2d']}. So many activations on so few tables can show only what is very much "
        "better.",
        f"Test scores over seeds, best mean rank first; parameters of trees are nodes. {last}.",
        tables.wider_scores(evidence, ranking.ranks).body(),
        "<details>\n<summary><b>Chosen in validation</b>, with the number of seeds</summary>",
        tables.chosen_settings(evidence, list(ranking.ranks)).body(),
        "</details>",
    ]


def _recipe(evidence: Evidence) -> list[str]:
    settings = wider.RECIPE.describe()
    parts = [
        "## The earlier recipe",
        "What the estimators and `kafnets compare` did by default when these runs were made. Their defaults are "
        "others now, see [training](training.md#the-recipe), and no stored run has been made with them. The "
        "earlier ones, which `kafnets reproduce wider` keeps: "
        + ", ".join(f"{name} {value}" for name, value in settings.items() if value not in (None, False))
        + f"; hidden layers {', '.join(map(str, wider.HIDDEN))}; features scaled to [-1, 1]; no dropout; the weights of the last epoch are kept; KAFs start as ELU. “auto” is a 32nd of the rows (from 32 to "
        "256) for batches; 3e-3 times the root of a 32nd of that for the learning rate; and a decay that shrinks "
        "what no gradient holds to 1/e over all epochs, but of no more than 1.",
        "It was chosen by validation scores on Sensorless and the tables above. Its number of epochs, cosine and "
        "start were first chosen, for an earlier version, by test scores on digits and breast cancer. All "
        "divisions are of the same rows: those that validated in the search are in part those that test here.",
    ]
    variants = tables.variants(evidence)
    if variants.rows:
        parts += [
            f"**{variants.title}** (`python scripts/search_recipe.py`)",
            variants.body(),
            remarks.on_variants(evidence),
        ]
    if not evidence.tuned("sensorless"):
        return [*parts, "No runs are stored yet: `kafnets reproduce wider --data sensorless`."]
    told = "**Sensorless**, test. “tuned” has the best of three values in validation; parameters of trees are nodes."
    return [*parts, told, tables.recipe(evidence).body()]


def _machine(evidence: Evidence) -> list[str]:
    """What the runs were made with."""
    stamps: dict[str, set[str]] = {"commit": set(), "processor": set(), "python": set(), "torch": set()}
    for record in evidence.records:
        stamp = record.provenance
        stamps["commit"].add(tables.commit(stamp))
        stamps["processor"].add(stamp["hardware"]["processor"])
        for name in ("python", "torch"):
            stamps[name].add(str(stamp["versions"].get(name)))
    listed = [f"{name} {', '.join(sorted(found))}" for name, found in stamps.items() if found]
    return ["## Made with", f"{'; '.join(listed) or 'nothing yet'}. Each run folder has its own stamp."]
