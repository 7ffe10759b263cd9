"""Where sweeps run, and what they log."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from kafnets.cli import app
from kafnets.experiments import comparison
from kafnets.experiments.summary import cells
from kafnets.experiments.sweep import execute_all
from kafnets.train import Settings

SHORT = Settings(epochs=3, patience=3)


def test_on_ray_as_here(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    runs = comparison.descriptions("iris", ["kaf"], hidden=(8,), seeds=2, settings=SHORT)
    told: list[str] = []
    execute_all(runs, tmp_path / "ray", engine="ray", told=lambda _, outcome: told.append(outcome))
    assert told == ["trained"] * 4
    execute_all(runs, tmp_path / "here")
    for one, two in zip(cells(runs, tmp_path / "ray"), cells(runs, tmp_path / "here"), strict=True):
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
