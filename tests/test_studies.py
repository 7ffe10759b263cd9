"""Documents about small studies say what is stored."""

import json
import re
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from benchmarks import study
from benchmarks.complex import run as complex_study
from benchmarks.gates import cost
from benchmarks.gates import run as gates_study

ROOT = Path(__file__).parents[1]


def rows(document: str) -> list[str]:
    text = (ROOT / "docs" / document).read_text(encoding="utf-8")
    return re.findall(r"^\| .* \|$", text.split("## Measurements")[1], re.MULTILINE)


def scores(runs: list[dict[str, Any]]) -> str:
    values = [each["scores"]["test"] for each in runs]
    return f"| {runs[0]['parameters']:,} | {fmean(values):.2f} ± {stdev(values):.2f} |"


def interval(path: Path, task: str, method: str, reference: str) -> str:
    mean, half = study.difference(path, task, method, reference)
    return f"{mean:+.2f}, from {mean - half:+.2f} to {mean + half:+.2f} |"


@pytest.mark.parametrize("study_of", [gates_study, complex_study])
def test_all_seeds_are_there(study_of: Any) -> None:
    runs = study.chosen(ROOT / study_of.OUTPUT)
    assert {len(each) for each in runs.values()} == {study.SEEDS}
    assert {task for task, _ in runs} == set(study_of.TASKS)


def test_gates() -> None:
    path, shown = ROOT / gates_study.OUTPUT, rows("recurrent.md")
    for (task, method), runs in study.chosen(path).items():
        kind, _, own = method.partition(", ")
        assert f"| {task} | {kind} | {'KAF' if own else 'plain'} {scores(runs)}" in shown
        if own:
            assert f"| {task} | {kind} | {interval(path, task, method, kind)}" in shown


def test_complex() -> None:
    path, shown = ROOT / complex_study.OUTPUT, rows("complex.md")
    for (task, method), runs in study.chosen(path).items():
        best = study.best(path, task, complex_study.FIXED)
        difference = "- |" if method == best else interval(path, task, method, best)
        assert f"| {task} | {method} {scores(runs)} {difference}" in shown


def test_cost_of_gates() -> None:
    stored = json.loads((ROOT / cost.OUTPUT).read_text(encoding="utf-8"))["rows"]
    text = (ROOT / "docs/recurrent.md").read_text(encoding="utf-8")
    for sizes in cost.SIZES:
        found = {
            row["kind"]: row["ratios"]
            for row in stored
            if (row["steps"], row["batch"], row["inputs"], row["hidden"]) == sizes
        }
        ratios = (found[kind][f"KAF {part}"] for kind in ("LSTM", "GRU") for part in ("layer", "cell"))
        assert " | ".join([", ".join(map(str, sizes)), *(f"{ratio:.2f}" for ratio in ratios)]) in text


@pytest.mark.parametrize(
    "path", sorted((ROOT / "benchmarks/results").glob("*.jsonl")), ids=lambda path: path.stem
)
def test_stored_lines_are_whole(path: Path) -> None:
    """Readers pass over a line that a crash has cut short, and would over marks of a merge, too."""
    lines = path.read_text(encoding="utf-8").splitlines()
    assert all(isinstance(json.loads(line), dict) for line in lines)
    assert len(set(lines)) == len(lines)
