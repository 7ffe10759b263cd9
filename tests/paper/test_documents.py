"""Documents say what is stored: tables between markers, and numbers in the prose around them."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from torch import nn
from typer.testing import CliRunner

import kafnets
from kafnets import registry
from kafnets.cli import app
from kafnets.comparison.summary import Cell
from kafnets.paper import cifar10, documents, susy, tables, wider
from kafnets.paper.claims import verdicts
from kafnets.paper.confirmatory import judge
from kafnets.paper.evidence import Evidence
from kafnets.paper.plan import PLAN, Plan
from kafnets.paper.policy_study import PLAN as POLICY_PLAN
from kafnets.paper.published import REVIEWED
from kafnets.paper.store import Store
from kafnets.paper.verdicts import Outcome
from kafnets.registry import facts_of

ROOT = Path(__file__).parents[2]
EVIDENCE = Evidence.of(ROOT)


def check(folder: Path) -> tuple[int, str]:
    shown = CliRunner().invoke(app, ["reproduce", "all", "--check", "--folder", str(folder)])
    return shown.exit_code, " ".join(shown.output.split())


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """One whose documents may be changed."""
    for name in ("results", "benchmarks"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "README.md", tmp_path)
    for path in (*documents.DOCUMENTS[1:], documents.DIAGRAM, documents.FOREST, PLAN, POLICY_PLAN):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    return tmp_path


def test_the_documents_say_what_is_stored() -> None:
    assert check(ROOT) == (0, "The documents are up to date.")


def test_everything_that_is_generated_is_shown() -> None:
    shown = {
        name for path in documents.DOCUMENTS for name in documents.BLOCK.findall((ROOT / path).read_text())
    }
    assert shown == documents.GENERATED.keys()


def test_changed_tables_are_found_and_written_again(checkout: Path) -> None:
    before = {path: (checkout / path).read_text() for path in documents.DOCUMENTS}
    for path, text in before.items():
        prose, marker, rest = text.partition("<!-- generated: ")
        (checkout / path).write_text(prose + marker + rest.replace(" | ", " | 1", 1))
    code, told = check(checkout)
    assert code == 2
    assert " ".join(map(str, before)) in told.replace(",", ""), told
    documents.write(checkout)
    assert {path: (checkout / path).read_text() for path in before} == before
    assert documents.stale(checkout) == []


def test_prose_is_left_alone(checkout: Path) -> None:
    document = checkout / "docs/results.md"
    document.write_text(document.read_text() + "\nA sentence.\n")
    assert documents.stale(checkout) == []


@pytest.mark.parametrize(
    ("path", "words"), [(documents.DIAGRAM, "Mean ranks over"), (documents.FOREST, "KAF, 2 layers / tanh")]
)
def test_a_changed_picture_is_found(checkout: Path, path: Path, words: str) -> None:
    picture = checkout / path
    assert words in picture.read_text()
    picture.write_text(picture.read_text().replace(words, "Something else"))
    assert documents.stale(checkout) == [path]


def test_unknown_markers_are_named(checkout: Path) -> None:
    with (checkout / "README.md").open("a") as stream:
        stream.write("<!-- generated: nonsense -->\n<!-- end -->\n")
    code, told = check(checkout)
    assert code == 2
    assert "nothing is called 'nonsense': there are confirmatory, " in told


def test_a_changed_store_is_named(checkout: Path) -> None:
    (checkout / "results").unlink()
    shutil.copytree(ROOT / "results", checkout / "results")
    with (checkout / "results/susy.jsonl").open("a") as stream:
        stream.write("{}\n")
    code, told = check(checkout)
    assert code == 2
    assert "results/susy.jsonl is not what SHA256SUMS says" in told


def test_elsewhere_it_says_what_it_needs(tmp_path: Path) -> None:
    code, told = check(tmp_path)
    assert code == 2
    assert "--folder must be a checkout of kafnets" in told


def test_susys_sample_is_not_mixed_with_other_profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    before = tables.susy(EVIDENCE, ["sample"])
    others = [
        replace(each, config=each.config | {"profile": "paper"}, test={"auc": 0.0})
        for each in EVIDENCE.of_experiment("susy", "sample")
    ]
    both = [*EVIDENCE.records, *others]
    monkeypatch.setattr(Store, "records", both)
    assert tables.susy(Evidence.of(ROOT), ["sample"]) == before


def test_plugins_do_not_change_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {**registry._registered})
    kafnets.register("mine")(nn.Tanh)
    assert "mine" in kafnets.names()
    assert "mine" not in registry.own_names()
    assert documents.stale(ROOT) == []


def best(found: list[Cell]) -> Cell:
    return max(found, key=lambda cell: cell.mean)


def there(experiment: str, profile: str, label: str, layers: int) -> Cell:
    found = EVIDENCE.cell(experiment, profile, label, layers)
    assert found is not None
    return found


def named(cell: Cell) -> str:
    return f"{cell.label} ({cell.shown_mean})"


def sensorless_sentences() -> Iterator[str]:
    plottable = [name for name in REVIEWED if facts_of(name).plottable]
    for family in ("fixed", "parametric"):
        members = [name for name in plottable if facts_of(name).family == family]
        found = best(EVIDENCE.cells("sensorless", "paper", members, [3]))
        yield f"The best {family} activation with three layers is {named(found)};"
    frozen = there("sensorless", "paper", "kaf frozen", 2)
    tanh, prelu = (there("sensorless", "paper", label, 3) for label in ("tanh", "prelu"))
    assert frozen.mean > max(tanh.mean, prelu.mean)
    yield f"KAFs with frozen random coefficients reach {frozen.shown_mean} with two layers, more than"
    yield f"three layers of {named(tanh)} and {named(prelu)};"
    *others, last = (name for name in REVIEWED if name not in plottable)
    yield f"not included: {', '.join(others)} and {last}."


def susy_sentences() -> Iterator[str]:
    found = best(EVIDENCE.cells("susy", "sample", susy.ACTIVATIONS))
    yield f"The best of them is {named(found)}, with {found.layers} layers."
    parts = []
    for label in ("kaf", "kaf2d"):
        one, two = (there("susy", "sample", label, layers) for layers in (1, 2))
        assert two.mean < one.mean
        parts.append(f"{label} ({one.shown_mean} to {two.shown_mean})")
    yield f"A second layer makes {' and '.join(parts)} worse"


def cifar10_sentences() -> Iterator[str]:
    filters, settings = cifar10.PROFILES["small"]
    found = EVIDENCE.cells("cifar10", "small", cifar10.ACTIVATIONS, cifar10.LAYERS)
    mean = {(cell.label, cell.layers): cell.mean for cell in found}
    depths = len(cifar10.LAYERS)
    below = {
        label: sum(mean[label, own] < mean["elu", own] for own in cifar10.LAYERS)
        for label in ("kaf", "kaf2d")
    }
    yield (
        f"With {filters} filters, kaf is below elu at {below['kaf']} of {depths} depths and kaf2d at "
        f"{below['kaf2d']} of {depths}."
    )
    epochs = [epoch for cell in found for epoch in cell.best_epochs.values()]
    yield f"In {epochs.count(settings.epochs)} of {len(epochs)} runs the best epoch is the last one allowed"


def wider_sentences() -> Iterator[str]:
    ranking = tables.ranking(EVIDENCE)
    ranks, difference = ranking.ranks, ranking.critical_difference
    place = {label: number for number, label in enumerate(ranks, 1)}
    yield f"Mean ranks over {ranking.sets} data sets"
    yield f"critical difference of {difference:.1f} (Friedman's test: p = {ranking.friedman:.2g})."
    yield f"The best mean rank is that of {next(iter(ranks))};"
    yield f"kaf is in place {place['kaf']} of {len(ranks)},"
    assert all(abs(ranks[ours] - rank) < difference for ours in ("kaf", "kaf2d") for rank in ranks.values())
    yield f"kaf2d in place {place['kaf2d']}, and neither differs significantly from any other."
    assert set(tables.finished_sets(EVIDENCE)) == set(wider.SETS)
    everything = list(tables.ranking(EVIDENCE, unchanged=True).ranks)
    yield f"would be in place {everything.index(wider.UNCHANGED) + 1} of {len(everything)}."


def recipe_sentences() -> Iterator[str]:
    recipe = wider.RECIPE
    yield (
        f"{recipe.epochs} epochs of {recipe.optimizer} with a {recipe.schedule} schedule; hidden layers of "
        f"{' and '.join(map(str, wider.HIDDEN))};"
    )
    found = EVIDENCE.benchmark("recipe")["variants"]
    base = found.pop("the recipe")
    better = {
        label: sum(scores["validation"] > base[name]["validation"] for name, scores in own.items())
        for label, own in found.items()
    }
    (winner,) = (label for label, number in better.items() if number == max(better.values()))
    yield (
        f"Of {len(found)} changes, the one that beats the recipe on most data sets does so on "
        f'{better[winner]} of {len(base)}: "{winner}".'
    )


def result_sentences() -> Iterator[str]:
    tested = sum(verdict.p_value is not None for verdict in verdicts(EVIDENCE))
    yield f"of the {tested} claims that have tests"
    yield from sensorless_sentences()
    yield from susy_sentences()
    yield from cifar10_sentences()
    yield from wider_sentences()
    yield from recipe_sentences()


def readme_sentences() -> Iterator[str]:
    outcomes = [verdict.outcome for verdict in verdicts(EVIDENCE)]
    confirmed, others, untested = (
        outcomes.count(outcome) for outcome in (Outcome.CONFIRMED, Outcome.NOT_CONFIRMED, Outcome.NOT_TESTED)
    )
    yield (
        f"Of {len(outcomes)} claims that we took from the paper, {confirmed} are confirmed by the stored "
        f"runs, {others} are not, and {untested} could not be tested"
    )
    plan = Plan.of(ROOT)
    judged = [each.outcome for each in judge(plan, EVIDENCE)]
    confirmed, refuted, undecided = (
        judged.count(outcome) for outcome in (Outcome.CONFIRMED, Outcome.REFUTED, Outcome.UNDECIDED)
    )
    yield (
        f"Of {len(judged)} claims about Sensorless that were judged again by {len(plan.seeds)} fresh seeds, "
        f"with planned tests, {confirmed} is confirmed, {refuted} are refuted and {undecided} are undecided"
    )
    bars = {bar["what"]: bar["measured"] for bar in EVIDENCE.benchmark("cpu/instruction-sets")["bars"]}
    best, common = (bars[f"KAF / PReLU, (1024, 1024), {each}"] for each in ("avx512", "avx2"))
    yield f"takes {best:.2f} times as long as `nn.PReLU` with AVX-512, and {common:.2f} times with AVX2"
    best, common = (bars[f"KAF / ReLU, training step, batch 100, {each}"] for each in ("avx512", "avx2"))
    yield f"layers of 300 takes {best:.2f} and {common:.2f} times as long with KAF as with ReLU"


def other_sentences() -> Iterator[str]:
    acting = EVIDENCE.benchmark("cpu/acting")
    yield f"the median of the ratios of {acting['turns']} turns of {acting['steps']} steps, one thread."
    yield f"an epoch of {EVIDENCE.benchmark('cpu/training')['rows']:,} rows"
    yield f"All threads ({EVIDENCE.benchmark('cpu/kernels')['all threads']['threads']})"
    rows, columns = EVIDENCE.benchmark("cpu/frameworks")["shape"]
    yield f"on {rows:,} x {columns} numbers, one thread"


@pytest.mark.parametrize(
    ("names", "sentences"),
    [
        (["results"], result_sentences),
        (["../README"], readme_sentences),
        (["reinforcement-learning", "speed", "frameworks"], other_sentences),
    ],
)
def test_numbers_in_sentences_are_those_that_are_stored(names: list[str], sentences: object) -> None:
    assert callable(sentences)
    text = " ".join(" ".join((ROOT / "docs" / f"{name}.md").read_text().split()) for name in names)
    for sentence in sentences():
        assert sentence in text
