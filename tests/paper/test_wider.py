"""Beyond the paper's data: tuned runs, trees, ranks."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

from kafnets import data
from kafnets.cli import app
from kafnets.comparison import rivals
from kafnets.comparison.mean_ranks import alike, mean_ranks
from kafnets.comparison.runner import execute, finished
from kafnets.comparison.summary import cells
from kafnets.paper import wider
from kafnets.paper.figures.ranks import critical_difference
from kafnets.train.runs import RunFolder


def test_each_seed_takes_what_its_validation_likes_best(tmp_path: Path) -> None:
    (run,) = wider.descriptions(["wine"], ["kaf"], seeds=1, epochs=2)
    assert execute(run, tmp_path) == "trained"
    report = RunFolder(tmp_path / run.folder).report()
    assert [one["learning_rate"] for one in report["tried"]] == list(wider.LEARNING_RATES)
    best = max(report["tried"], key=lambda one: one["validation"]["accuracy"])
    assert report["chosen"] == best["learning_rate"]
    assert report["test"] == best["test"]
    assert execute(run, tmp_path) == "found finished"


def test_interrupted_it_does_not_try_again_what_it_has_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = wider.descriptions(["wine"], ["relu"], seeds=1, epochs=1)
    attempt, tried = wider.Tuned._attempt, []

    def interrupted(self: wider.Tuned, value: float, *others: object) -> object:
        tried.append(value)
        if len(tried) == 2:
            raise KeyboardInterrupt
        return attempt(self, value, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(wider.Tuned, "_attempt", interrupted)
    with pytest.raises(KeyboardInterrupt):
        execute(run, tmp_path)
    execute(run, tmp_path)
    assert tried == [1e-3, 3e-3, 3e-3, 1e-2]


@pytest.mark.parametrize("name", ["wine", "breast_cancer", "diabetes"])
@pytest.mark.parametrize("label", wider.TREES)
def test_trees_are_scored_as_networks_are(label: str, name: str) -> None:
    splits = data.load(name)
    found = rivals.attempt(wider.TREES[label], 0.3, splits, seed=0)
    assert found["parameters"] > 100
    assert found["test"]["r2" if name == "diabetes" else "accuracy"] > (0.2 if name == "diabetes" else 0.9)
    assert np.isfinite(found["test"]["loss"])


def test_the_edgewise_network_is_one_of_them(tmp_path: Path) -> None:
    (run,) = wider.descriptions(["wine"], [wider.EDGEWISE], seeds=1, epochs=20)
    execute(run, tmp_path)
    (cell,) = cells(finished([run], tmp_path))
    assert cell.mean > 0.9
    assert cell.parameters == 13 * 32 * 9 + 32 + 2 * 32 + 32 * 3 * 9 + 3


def test_the_command_and_its_mistakes(tmp_path: Path) -> None:
    options = ["--data", "wine", "--activations", "random forest", "--seeds", "1", "--output", str(tmp_path)]
    shown = CliRunner().invoke(app, ["reproduce", "wider", *options])
    assert shown.exit_code == 0, shown.output
    assert "random forest" in shown.output
    page = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert "0 runs, 1 of `reproduce wider` omitted" in " ".join(page.output.split())
    unknown = CliRunner().invoke(app, ["reproduce", "wider", "--data", "wain", "--output", str(tmp_path)])
    assert unknown.exit_code == 2
    assert "no data set is called 'wain': did you mean 'wine'?" in unknown.output
    assert not (tmp_path / "wider/wain").exists()
    wrong = CliRunner().invoke(app, ["reproduce", "wider", "--activations", "forest"])
    assert wrong.exit_code == 2
    assert "no activation is called 'forest'" in wrong.output


def scores(differences: list[float], sets: int = 12) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(0)
    return {
        f"set {number}": {f"label {k}": value + rng.normal() for k, value in enumerate(differences)}
        for number in range(sets)
    }


def test_ranks_are_demsars() -> None:
    table = scores([0.0, 0.1, 3.0, 3.1])
    found = mean_ranks(table)
    assert set(list(found.ranks)[:2]) == {"label 2", "label 3"}
    assert sum(found.ranks.values()) == pytest.approx(10)
    columns = [[own[label] for own in table.values()] for label in table["set 0"]]
    assert found.friedman == pytest.approx(stats.friedmanchisquare(*columns).pvalue)
    # Demšar (2006), table 5: q is 2.569 for four classifiers at the 5 % level.
    assert found.critical_difference == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 12)), rel=1e-3)
    groups = alike(found)
    assert all(len(group) > 1 for group in groups)
    for group in groups:
        ends = found.ranks[group[-1]] - found.ranks[group[0]]
        assert ends <= found.critical_difference
    everything = replace(found, critical_difference=10.0)
    assert alike(everything) == [tuple(found.ranks)]
    assert alike(replace(found, critical_difference=0.0)) == []


def test_rounding_breaks_no_ties() -> None:
    one, other = 0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1
    found = mean_ranks({name: {"a": one, "b": other, "c": 0.2} for name in ("x", "y", "z")})
    assert one != other
    assert found.ranks == {"a": 1.5, "b": 1.5, "c": 3.0}


def test_what_cannot_be_ranked() -> None:
    table = scores([0.0, 1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="at least three labels and two data sets, got 4 and 1"):
        mean_ranks({"one": table["set 0"]})
    table["set 3"]["label 1"] = float("nan")
    with pytest.raises(ValueError, match="NaN"):
        mean_ranks(table)
    del table["set 3"]["label 1"]
    with pytest.raises(ValueError, match="same labels"):
        mean_ranks(table)


def test_the_diagram_names_all() -> None:
    figure = critical_difference(mean_ranks(scores([0.0, 0.5, 1.0, 1.5, 2.0])), highlighted=("label 4",))
    written = " ".join(text.get_text() for text in figure.axes[0].texts)
    assert all(f"label {number}" in written for number in range(5))
    assert "12 data sets" in written
