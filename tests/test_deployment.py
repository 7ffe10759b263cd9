"""Networks on their way to other programs: from the command line, and in the documents."""

import contextlib
import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from benchmarks.deployment import page, pruning
from kafnets.cli import app
from kafnets.comparison import plan
from kafnets.paper.documents import BLOCK

ROOT = Path(__file__).parents[1]


def test_the_pages_say_what_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names: list[str] = []
    for path in page.PAGES:
        text = path.read_text(encoding="utf-8")
        assert page.written(text) == text, f"{path} is stale: python -m benchmarks.deployment.page"
        names += BLOCK.findall(text)
    assert sorted(names) == sorted(page.BLOCKS)


def test_pruned_networks_are_chosen_by_validation() -> None:
    whole = {"penalty": "none", "validation": 0.9, "test": 0.9, "parameters": 100}
    smaller = {"penalty": "l1", "validation": 0.89, "test": 0.1, "parameters": 50}
    worse = {"penalty": "l1", "validation": 0.88, "test": 0.99, "parameters": 10}
    other = {"penalty": "group", "validation": 0.9, "test": 0.9, "parameters": 5}
    points: list[dict[str, Any]] = [whole, smaller, worse, other]
    assert pruning.smallest(points, "l1", 1.5) is smaller
    assert pruning.smallest(points, "l1", 0.5) is whole


def test_the_walk_through_kept_its_accuracy() -> None:
    stored = json.loads((ROOT / "benchmarks/results/deployment.json").read_text(encoding="utf-8"))
    accuracies = {each["step"]: each["accuracy"] for each in stored["steps"]}
    assert accuracies["converted"] == accuracies["trained with ReLU"]
    assert (
        accuracies["baked"] == accuracies["ONNX, run by onnxruntime"] == accuracies["C, an image at a time"]
    )


def test_a_comparison_becomes_files_of_other_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    command_line = importlib.import_module("benchmarks.deployment.command_line")

    def command_here(folder: Path, *arguments: str) -> str:
        """Without starting torch anew for each command."""
        with contextlib.chdir(folder):
            result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output
        return result.stdout

    monkeypatch.setattr(plan, "SECONDS_OF_TIMING", 0.01)
    monkeypatch.setattr(command_line, "kafnets_command", command_here)
    best = command_line.exported(tmp_path, epochs=2)
    found = command_line.measured(tmp_path, best)
    assert {each["step"] for each in found} >= {"kafnets", "torch.export", "onnxruntime"}
    for each in found:
        assert each["difference"] < 2e-5
        assert each["accuracy"] == pytest.approx(found[0]["accuracy"], abs=0.002)
    assert found[0]["accuracy"] > 0.5
