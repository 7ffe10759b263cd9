"""The page of results: verdicts from tests, documents from verdicts."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from torch import nn
from typer.testing import CliRunner

import kafnets
from kafnets import registry
from kafnets.cli import app
from kafnets.comparison.statistics import equivalence_test, holm, paired_test
from kafnets.comparison.summary import Cell
from kafnets.paper import claims, page, remarks, susy
from kafnets.paper import results_tables as tables
from kafnets.paper.evidence import Evidence
from kafnets.paper.store import Store

ROOT = Path(__file__).parents[2]


def cell(*scores: float, parameters: int = 100) -> Cell:
    return Cell("kaf", 1, "rows", "accuracy", dict(enumerate(scores)), {}, 5, parameters, 0.0)


def asking(found: list[claims.Question]) -> Callable[[Evidence], list[claims.Question]]:
    return lambda _: found


GOOD, BAD = cell(0.91, 0.92, 0.93, 0.91, 0.92), cell(0.81, 0.80, 0.83, 0.80, 0.82)


def test_the_documents_say_what_is_stored() -> None:
    shown = CliRunner().invoke(app, ["reproduce", "all", "--check", "--folder", str(ROOT)])
    assert shown.exit_code == 0, shown.output


def test_a_changed_number_is_found(tmp_path: Path) -> None:
    for name in ("README.md", "docs/results.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shown = CliRunner().invoke(app, ["reproduce", "all", "--check", "--folder", str(tmp_path)])
    assert shown.exit_code == 2
    assert "docs/results.md" in " ".join(shown.output.split())
    (tmp_path / "docs/images").mkdir()
    page.write(tmp_path)
    assert page.stale(tmp_path) == []
    assert "could not be tested here, because" in (tmp_path / "docs/results.md").read_text()


def test_a_changed_diagram_is_found(tmp_path: Path) -> None:
    for name in ("README.md", "docs", "results", "benchmarks"):
        (tmp_path / name).symlink_to(ROOT / name)
    assert page.stale(tmp_path) == []
    (tmp_path / "docs").unlink()
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    diagram = tmp_path / page.DIAGRAM
    diagram.write_text(diagram.read_text().replace("Mean ranks over", "Ranks over"))
    assert page.stale(tmp_path) == [page.DIAGRAM]


def test_a_changed_store_is_named(tmp_path: Path) -> None:
    for name in ("README.md", "docs", "benchmarks"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "results", tmp_path / "results")
    with (tmp_path / "results/susy.jsonl").open("a") as stream:
        stream.write("{}\n")
    shown = CliRunner().invoke(app, ["reproduce", "all", "--check", "--folder", str(tmp_path)])
    assert shown.exit_code == 2
    assert "results/susy.jsonl is not what SHA256SUMS says" in " ".join(shown.output.split())


def test_elsewhere_it_says_what_it_needs(tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["reproduce", "all", "--folder", str(tmp_path)])
    assert shown.exit_code == 2
    assert "--folder must be a checkout of kafnets" in " ".join(shown.output.split())


def test_susys_sample_is_not_mixed_with_other_profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = Evidence.of(ROOT)
    before = tables.susy(evidence)
    others = [
        replace(each, config=each.config | {"profile": "paper"}, test={"auc": 0.0})
        for each in evidence.of_experiment("susy", "sample")
    ]
    monkeypatch.setattr(Store, "records", [*evidence.records, *others])
    assert tables.susy(evidence) == before


def test_plugins_do_not_change_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {**registry._registered})
    kafnets.register("mine")(nn.Tanh)
    assert "mine" in kafnets.names()
    assert "mine" not in registry.own_names()
    assert page.stale(ROOT) == []


def test_what_the_search_found_is_told(tmp_path: Path) -> None:
    stored = tmp_path / "benchmarks/results/recipe.json"
    stored.parent.mkdir(parents=True)
    scores = {"the recipe": 0.9, "no decay": 0.95, "D = 10": 0.8, "learning rate x 3": None}
    variants = {label: {"wine": {"validation": score}} for label, score in scores.items()}
    stored.write_text(json.dumps({"variants": variants}))
    told = remarks.on_variants(Evidence.of(tmp_path))
    assert told.endswith("those that beat the recipe on most data sets do so on 1 of 1: “no decay”.")
    assert remarks.on_variants(Evidence.of(tmp_path / "nowhere")) == ""


def test_claims_are_as_sure_as_their_least_sure_test(monkeypatch: pytest.MonkeyPatch) -> None:
    sure, unsure = claims.better(GOOD, BAD, "good over bad"), claims.better(BAD, GOOD, "bad over good")
    asked = {
        "all hold": [sure, claims.Question("count", holds=True)],
        "one does not": [sure, unsure],
        "a count does not": [sure, claims.Question("count", holds=False)],
        "nothing is stored": [sure, claims.better(None, BAD, "nothing over bad")],
        "one is missing, one does not": [unsure, claims.better(None, BAD, "nothing over bad")],
        "nothing is asked": [],
        "too few seeds": [claims.better(cell(0.9, 0.5), cell(0.8, 0.49), "two seeds")],
    }
    monkeypatch.setattr(
        claims, "CLAIMS", [claims.Claim(name, "here", asking(found)) for name, found in asked.items()]
    )
    found = {verdict.claim.statement: verdict for verdict in claims.verdicts(Evidence.of(ROOT))}
    assert found["all hold"].word == claims.CONFIRMED
    assert found["one does not"].word.startswith(
        f"{claims.NOT_CONFIRMED}: the opposite of a part of it holds here (p = "
    )
    assert unsure.test is not None
    assert found["one does not"].opposite == pytest.approx(5 * 2 * unsure.test.opposite)
    assert found["too few seeds"].word == f"{claims.NOT_CONFIRMED}, though all means point that way"
    assert found["a count does not"].word == claims.NOT_CONFIRMED
    assert found["nothing is stored"].word.startswith("could not be tested here, because there are no stored")
    assert found["one is missing, one does not"].word.startswith(f"{claims.NOT_CONFIRMED}: the opposite")
    assert found["nothing is asked"].word == "could not be tested here, because nothing is stored"
    assert sure.test is not None
    assert found["all hold"].p_value == pytest.approx(6 * sure.test.p_value)


def p_of(question: claims.Question) -> float:
    assert question.test is not None
    return question.test.p_value


def test_margins_are_shares_of_the_errors() -> None:
    assert p_of(claims.much_better(GOOD, BAD, "18 % of errors are more than twice 8 %")) < 0.01
    assert p_of(claims.much_better(GOOD, cell(0.87, 0.88, 0.89, 0.86, 0.88), "12 % are not")) > 0.9
    near = cell(0.9101, 0.9202, 0.9301, 0.9103, 0.9201)
    assert p_of(claims.equal(near, GOOD, "near")) < 0.01
    assert p_of(claims.equal(BAD, GOOD, "far")) > 0.9
    assert p_of(claims.no_gain(BAD, GOOD, "worse")) < 0.01
    perfect = cell(1.0, 1.0, 1.0, 1.0, 1.0)
    almost = cell(0.9985, 0.9986, 0.9987, 0.9986, 0.9985)
    assert p_of(claims.no_gain(perfect, almost, "all errors gone is a gain")) > 0.9
    assert claims.better(cell(0.5), cell(0.4), "one seed").missing


def test_means_are_of_the_seeds_that_are_compared() -> None:
    more = replace(GOOD, test=GOOD.test | {5: 0.1})
    found = claims.better(more, BAD, "good over bad")
    assert found.found == claims.better(GOOD, BAD, "good over bad").found
    assert found.difference == f"{GOOD.mean - BAD.mean:+.4g}"


def test_much_worse_is_told_in_errors() -> None:
    found = claims.much_better(cell(0.90, 0.91, 0.89), cell(0.70, 0.71, 0.72), "three times")
    assert found.difference == "2.90 times the errors"


def test_remarks_need_no_runs(tmp_path: Path) -> None:
    nothing = Evidence.of(tmp_path)
    assert remarks.on_susy(nothing) == remarks.on_cifar10(nothing) == ""
    assert remarks.sensorless(nothing).startswith("Left out")


def test_remarks_name_who_is_better() -> None:
    evidence = Evidence.of(ROOT)
    best = max(evidence.cells("susy", "sample", susy.ACTIVATIONS), key=lambda found: found.mean)
    assert f"{best.label} ({best.mean:.4f})" in remarks.on_susy(evidence)


def test_statistics() -> None:
    ours, theirs = [1.0, 2.0, 4.0, 3.0], [0.5, 1.0, 3.0, 3.5]
    both = paired_test(ours, theirs)
    greater = paired_test(ours, theirs, alternative="greater")
    assert both is not None
    assert greater is not None
    assert greater.p_value == pytest.approx(both.p_value / 2)
    assert greater.opposite == pytest.approx(1 - greater.p_value)
    assert both.opposite == 1
    within, beyond = equivalence_test(ours, theirs, 5.0), equivalence_test(ours, theirs, 0.001)
    assert within is not None
    assert within.p_value < 0.05 < within.opposite
    assert beyond is not None
    assert beyond.opposite == pytest.approx(both.p_value, rel=0.02)
    assert equivalence_test(ours, ours, 0.1) is None
    by_seed = paired_test(ours, theirs, alternative="greater", margin=[0.1, 0.2, 0.3, 0.2])
    shifted = paired_test(ours, [0.6, 1.2, 3.3, 3.7], alternative="greater")
    assert by_seed is not None
    assert shifted is not None
    assert by_seed.p_value == pytest.approx(shifted.p_value)
    assert by_seed.difference == both.difference
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
