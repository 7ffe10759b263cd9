"""The benchmark's machinery. No time is asserted: machines are noisy."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from kafnets.benchmark import instruction_sets, kernels, memory, rivals, training
from kafnets.benchmark.correctness import error_ratios
from kafnets.cli import app
from kafnets.ops import native
from kafnets.registry import facts_of, names
from kafnets.timing import interleaved


def test_runs_take_turns() -> None:
    order: list[str] = []
    timings = interleaved(
        {"a": lambda: order.append("a"), "b": lambda: order.append("b")}, seconds_a_run=10.0, most=3
    )
    assert order[-12:] == ["a", "a", "b", "b"] * 3  # each once untimed, once timed
    assert timings["a"].repetitions == 3
    assert timings["a"].p10 <= timings["a"].median <= timings["a"].p90


def test_errors_are_compared_before_anything_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(ratio <= 4 for ratio in error_ratios(1, 20).values())
    monkeypatch.setattr(kernels, "error_ratios", lambda *_: {"output": 5.0})
    with pytest.raises(RuntimeError, match=r"error of the output is 5.0 times the composite's"):
        kernels.run(quick=True, say=lambda _: None)


@pytest.mark.skipif(not memory.available(), reason="needs Linux's /proc")
def test_memory_counts_what_a_step_needs() -> None:
    rise = memory.peak_rise("ELU", 0, "auto", (2048, 1024))
    assert 15 < rise < 20  # output and gradient, 8 MB each


def test_bench_stores_and_draws_a_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "SHAPES", [(4, 6), (5, 6), (2, 6, 2, 2)])
    monkeypatch.setattr(kernels, "SIZES", [5, 10])
    monkeypatch.setattr(kernels, "ROWS_A_BATCH", [1, 2])
    monkeypatch.setattr(memory, "peak_rise", lambda *_: 2.0)
    monkeypatch.setattr(kernels, "interleaved", _few)
    outcome = CliRunner().invoke(app, ["bench", "--quick", "--output", str(tmp_path)])
    assert outcome.exit_code == 0, outcome.output
    assert "checking against float64\n(4, 6), one thread\n" in outcome.stderr  # progress, if redirected
    result = json.loads((tmp_path / "kernels.json").read_text())
    assert result["profile"] == "quick"
    assert result["provenance"]["versions"]["torch"]
    assert len(result["bars"]) == 14
    assert (tmp_path / "kernels.png").stat().st_size > 10_000


@pytest.mark.skipif(native.kernels is None, reason="the native kernels were not built")
def test_bench_of_every_instruction_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instruction_sets, "SHAPES", [(4, 6), (2, 6, 2, 2)])
    monkeypatch.setattr(instruction_sets, "INFERENCE_SHAPES", [(4, 6)])
    monkeypatch.setattr(instruction_sets, "INFERENCE_BARS", {("baked KAF / KAF", (4, 6)): 0.5})
    monkeypatch.setattr(instruction_sets, "BARS", {("KAF / PReLU", (4, 6)): {"baseline": 2.0}})
    monkeypatch.setattr(instruction_sets, "SIZES", [5, 10])
    monkeypatch.setattr(instruction_sets, "ROWS", [1, 2])
    monkeypatch.setattr(instruction_sets, "interleaved", _few)
    used = native.kernels
    outcome = CliRunner().invoke(app, ["bench", "instruction-sets", "--quick", "--output", str(tmp_path)])
    assert outcome.exit_code == 0, outcome.output
    assert native.kernels is used
    result = json.loads((tmp_path / "instruction-sets.json").read_text())
    names = [name for name in native.INSTRUCTION_SETS if native.load(name).module is not None]
    assert result["instruction sets"] == names
    assert {f"KAF with linear tails, {name}" for name in names} < set(result["times"]["(4, 6)"])
    assert len(result["by rows"]) == len(names) * 3 * 2
    assert {bar["what"] for bar in result["bars"]} == {
        "KAF / PReLU, (4, 6), baseline",
        *(f"baked KAF / KAF, (4, 6), {name}" for name in names),
    }
    assert (tmp_path / "instruction-sets.png").stat().st_size > 10_000


def test_bench_into_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    outcome = CliRunner().invoke(app, ["bench", "--output", str(tmp_path / "file")])
    assert outcome.exit_code == 2
    assert "file is a file, but a folder is needed there: choose another" in outcome.output


def test_bench_of_the_rivals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rivals, "SHAPES", [(4, 6)])
    monkeypatch.setattr(rivals, "interleaved", _few)
    threads = torch.get_num_threads()
    outcome = CliRunner().invoke(app, ["bench", "rivals", "--quick", "--output", str(tmp_path)])
    assert outcome.exit_code == 0, outcome.output
    result = json.loads((tmp_path / "rivals.json").read_text())
    assert set(result["times"]["(4, 6)"]) == set(rivals.PLAIN)
    assert torch.get_num_threads() == threads
    own = {name for name in names() if facts_of(name).family not in ("fixed", "expansions")}
    assert own - set(rivals.PLAIN) == {"rrelu", "network_in_network"}  # torch's own, and nothing but


def _few(runs: Any, **_: Any) -> Any:
    return interleaved(runs, seconds_a_run=0.0, least=2, most=2)


def test_bench_of_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lightning_fabric")
    monkeypatch.setattr(training, "interleaved", _few)
    monkeypatch.setattr(training, "ACTIVATIONS", ("relu",))
    outcome = CliRunner().invoke(app, ["bench", "training", "--quick", "--output", str(tmp_path)])
    assert outcome.exit_code == 0, outcome.output
    result = json.loads((tmp_path / "training.json").read_text())
    assert set(result["times"]["relu"]) == set(training.LOOPS)
    assert len(result["bars"]) == 2


def test_a_loop_that_learns_something_else_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "LOOPS", {"bare": training._bare, "lazy": lambda *_: lambda: None})
    with pytest.raises(AssertionError, match="the lazy loop does not learn what the bare one does"):
        training.run(quick=True, say=lambda _: None)
