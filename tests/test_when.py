"""The benchmarks behind the page on when to use learned activations."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.when import run
from benchmarks.when.formulas import FORMULAS


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
