"""Where sweeps run, and what they log."""

import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kafnets.cli import app
from kafnets.comparison import progress
from kafnets.comparison.plan import plan
from kafnets.comparison.runner import finished
from kafnets.comparison.summary import cells
from kafnets.comparison.sweep import execute_all
from kafnets.train import Settings

SHORT = Settings(epochs=3, patience=3)


def test_on_ray_as_here(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    runs = plan("iris", None, ["kaf"], hidden=(8,), seeds=2, settings=SHORT).networks
    told: list[str] = []
    execute_all(runs, tmp_path / "ray", engine="ray", told=lambda _, outcome: told.append(outcome))
    assert told == ["trained"] * 4
    execute_all(runs, tmp_path / "here")
    for one, two in zip(*(cells(finished(runs, tmp_path / place)) for place in ("ray", "here")), strict=True):
        assert one.test == pytest.approx(two.test, abs=1e-6)


def test_epochs_for_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    command = ["compare", "--data", "iris", "--seeds", "1", "--epochs", "3", "--activations", "relu"]
    result = CliRunner().invoke(app, [*command, "--hidden", "4", "--tensorboard", "--output", str(tmp_path)])
    assert result.exit_code == 0, result.output
    (folder,) = tmp_path.rglob("tensorboard")
    events = EventAccumulator(str(folder)).Reload()
    assert [event.step for event in events.Scalars("train_loss")] == [1, 2, 3]
    assert "validation_accuracy" in events.Tags()["scalars"]


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks at processes in /proc")
def test_workers_leave_with_the_first_process(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from kafnets.cli import main; main()", "compare", "--data", "digits"]
    command += ["--jobs", "2", "--epochs", "500", "--seeds", "4", "--activations", "kaf"]
    command += ["--output", str(tmp_path)]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: len(list(tmp_path.rglob("checkpoint.pt"))) >= 2)
        workers = [each for each in children_of(first.pid) if "spawn_main" in command_of(each)]
        assert len(workers) >= 2
    finally:
        first.kill()  # it has no time to stop anybody
        first.wait()
    wait_until(lambda: not any(map(at_work, workers)))


def wait_until(true: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.1)


def at_work(process: int) -> bool:
    """Neither gone nor a zombie, which is what is left where nobody asks how it ended."""
    status = Path(f"/proc/{process}/status")
    try:
        return "State:\tZ" not in status.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def children_of(process: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def command_of(process: int) -> str:
    return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()


def test_progress_is_told_in_lines_where_there_is_no_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = plan("iris", None, ["kaf"], hidden=(4,), seeds=1, settings=SHORT).networks
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    assert progress.run_all(runs, tmp_path) == []
    told = capsys.readouterr().err
    assert re.match(r"0 of 2 runs, \d+ s; kaf, 1 layer, seed 0: epoch 1, validation 0\.\d{4}\n", told)
    assert told.endswith("2 of 2 runs: 2 trained\n")
    progress.run_all(runs, tmp_path, quiet=True)
    assert capsys.readouterr().err == ""
