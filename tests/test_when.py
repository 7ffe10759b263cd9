"""The benchmarks behind the page on when to use learned activations."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.tables.run import stored
from benchmarks.when import run, summary
from benchmarks.when.formulas import FORMULAS

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_are_finite_on_their_ranges(name: str) -> None:
    x, y = FORMULAS[name].rows(2000, np.random.default_rng(0))
    assert x.shape == (2000, len(FORMULAS[name].ranges))
    assert y.shape == (2000,)
    assert np.abs(x).max() <= 1
    assert np.isfinite(y).all()
    assert y.std() > 0


@pytest.mark.parametrize("method", run.METHODS)
def test_networks_are_as_large_as_the_budget_allows(method: str) -> None:
    sizes = [
        sum(each.numel() for each in run.network(method, 3, 1, budget, seed=0).parameters())
        for budget in (300, 3000)
    ]
    assert sizes[0] <= 300 < sizes[1] <= 3000
    with pytest.raises(ValueError, match="no network of at most 5 parameters"):
        run.network(method, 3, 1, 5, seed=0)


@pytest.mark.parametrize("task", run.BUDGETS)
def test_runs_are_stored_once(task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "STEPS", {"formulas": (3, 500), "digits": (3, 64)})
    output = tmp_path / "when.jsonl"
    command = [task, "--seeds=1", "--methods=tanh,silu; 4 layers", f"--output={output}"]
    for _ in range(2):
        run.main([*command, "--names=I.6.2"])
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    assert len(lines) == 2 * len(run.BUDGETS[task])
    assert {line["method"] for line in lines} == {"tanh", "silu, 4 layers"}
    for line in lines:
        assert line["parameters"] <= line["budget"]
        best = min(line["tried"], key=lambda each: each["validation"])
        assert (line["rate"], line["error"]) == (best["rate"], best["test"])
        assert line["provenance"]["versions"]["torch"]


def test_the_page_says_what_is_stored() -> None:
    lines = list(stored(ROOT / run.OUTPUT))
    page = (ROOT / summary.PAGE).read_text(encoding="utf-8")
    assert summary.written(page, lines) == page
    assert all(f"generated: {name}" in page for name in summary.GENERATED)
    assert all((ROOT / path).exists() for path in summary.PICTURES.values())


def test_only_seeds_that_all_methods_have_are_compared() -> None:
    line = {"task": "digits", "name": "digits", "budget": 500, "method": "relu", "seed": 0, "error": 0.1}
    lines = [line, line | {"seed": 1, "error": 0.3}, line | {"method": "kaf", "error": 0.2}]
    assert summary.errors(lines, "digits") == {("digits", 500): {"relu": {0: 0.1}, "kaf": {0: 0.2}}}
    assert summary.digits_table(lines).rows == (("500", "1", "**10.00%**", "20.00%"),)
    assert summary.geometric([0.1, 0.001]) == pytest.approx(0.01)
