"""The benchmark's machinery. No time is asserted: machines are noisy."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from kafnets.benchmark import images, instruction_sets, kernels, memory, peers, rivals, training
from kafnets.benchmark.correctness import error_ratios
from kafnets.cli import app
from kafnets.ops import native
from kafnets.randomness import own_randomness
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


def test_bench_of_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "FILTERS", (4,))
    monkeypatch.setattr(images, "BATCH", 20)
    monkeypatch.setattr(images, "interleaved", _few)
    command = ["bench", "images", "--quick", "--output", str(tmp_path)]
    outcome = CliRunner().invoke(app, command, env={"COLUMNS": "140"})
    assert outcome.exit_code == 0, outcome.output
    result = json.loads((tmp_path / "images.json").read_text())
    assert [(each["activation"], each["modules"]) for each in result["times"]["4"]] == list(images.NETWORKS)
    (table,) = images.tables(result)
    assert table.rows[0][4] == "1.00"
    one, two = (images.network("kaf", 2, 4, variant) for variant in (images.OURS, images.CONTIGUOUS))
    with torch.no_grad():
        next(two.parameters()).add_(1)
    with pytest.raises(AssertionError):
        images.check(one, two, torch.ones(1, 3, 32, 32))


@pytest.mark.skipif(native.kernels is None, reason="the native kernels were not built")
def test_bench_of_every_instruction_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instruction_sets, "SHAPES", [(4, 6), (2, 6, 2, 2)])
    monkeypatch.setattr(instruction_sets, "INFERENCE_SHAPES", [(4, 6)])
    bars = {
        ("times", "(4, 6)", "KAF / PReLU"): {"baseline": 2.0},
        ("inference", "(4, 6)", "baked KAF / KAF"): {"baseline": 0.5},
        ("steps", instruction_sets.PHYSICS, "KAF / Tanh"): {"baseline": 2.5},
        ("threads", "(4, 6)", "two threads / one thread"): {"baseline": 1.0},
        ("threads", "(9, 9)", "two threads / one thread"): {"baseline": 1.0},
    }
    monkeypatch.setattr(instruction_sets, "BARS", bars)
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
        f"{what}, {case}, baseline" for _, case, what in list(bars)[: 4 if (os.cpu_count() or 1) > 1 else 3]
    }
    assert set(result["steps"]["training step, batch 100"]) == {"ReLU", *(f"KAF, {name}" for name in names)}
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


def test_bench_of_peers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With those of this package, one that is not installed, and one that is easily beaten."""
    slow = peers.Peer("PAU of torch-activation, 2 x 64", lambda: torch.nn.Linear(peers.INPUTS, 1))
    missing = peers.Peer("KAN of pykan, 64", lambda: torch.nn.Identity(), "pykan", "no_such_module")
    monkeypatch.setattr(peers, "PEERS", [*peers.PEERS[:4], missing, slow])
    monkeypatch.setattr(peers, "STEPS", 100)
    monkeypatch.setattr(peers, "interleaved", _few)
    outcome = CliRunner().invoke(app, ["bench", "peers", "--quick", "--output", str(tmp_path)])
    assert outcome.exit_code == 0, outcome.output
    assert "not installed: pykan" in " ".join(outcome.output.split())
    result = json.loads((tmp_path / "peers.json").read_text())
    assert set(result["networks"]) == {"ReLU, 2 x 64", *peers.KAFNETS, slow.name}
    assert result["networks"][peers.KAFNET]["parameters"] == 8001
    assert result["networks"][slow.name]["test"] > 0.8  # of a target that is not linear
    assert [bar["what"].startswith(f"step of {slow.name} / of ") for bar in result["bars"]] == [True]


def test_a_less_accurate_kafnet_does_not_meet_the_bar_however_fast() -> None:
    def network(validation: float, median: float) -> dict[str, Any]:
        return {"validation": validation, "time": {"median": median}}

    networks = dict(
        zip(peers.KAFNETS, (network(0.3, 1.0), network(0.2, 2.0), network(0.1, 3.0)), strict=True)
    )
    networks |= {"efficient-kan, 64": network(0.2, 8.0), "KAN of pykan, 64": network(0.05, 30.0)}
    pykan, efficient = peers.bars({"networks": networks})
    assert efficient["what"] == "step of efficient-kan, 64 / of KAF, 2 x 128"
    assert (efficient["measured"], efficient["met"]) == (4.0, True)
    assert pykan["what"] == "step of KAN of pykan, 64 / of edge-wise KAF, 64, which is less accurate"
    assert (pykan["measured"], pykan["met"]) == (10.0, False)


def test_a_network_with_a_wrong_gradient_is_not_timed() -> None:
    class Wrong(torch.nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            right = super().forward(x)
            return 2 * right - right.detach()

    wrong = peers.Peer("wrong", lambda: Wrong(peers.INPUTS, 1))
    with own_randomness(), pytest.raises(AssertionError, match="wrong: the loss rises by"):
        peers.check(wrong, peers.formula_data())
