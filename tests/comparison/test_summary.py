"""Cells: only runs that were made as described, and on the same data, are put together."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from kafnets.cli import app
from kafnets.comparison.description import Description
from kafnets.comparison.runner import execute, finished
from kafnets.comparison.summary import cells
from kafnets.paper import cifar10, sensorless, susy, wider
from kafnets.train import Settings
from kafnets.train.runs import RunFolder


def finish(output: Path, seeds: int = 2, digest: str = "same") -> list[Description]:
    described = sensorless.descriptions("quick", ["tanh"], [1], seeds)
    for each in described:
        folder = RunFolder(output / each.folder)
        folder.begin(each.config())
        report = {
            "data": {"name": "rows", "task": "multiclass", "sha256": digest if each.seed else "same"},
            "rows": [70, 15, 15],
            "test": {"accuracy": 0.9},
            "validation": {"accuracy": 0.9},
            "parameters": 3,
            "trained_parameters": 3,
            "seconds_of_training": 1.0,
            "threads": 1,
            "provenance": {},
        }
        folder.finish(report, {}, {})
    return described


def test_runs_with_other_settings_than_described_are_refused(tmp_path: Path) -> None:
    described = finish(tmp_path)
    (cell,) = cells(finished(described, tmp_path))
    assert cell.test_rows == 15
    other = [replace(each, dropout=(0.9,)) for each in described]
    with pytest.raises(
        ValueError, match=r"seed-0 holds a run with different settings \(dropout: \[\] stored, \[0.9\]"
    ):
        finished(other, tmp_path)


def test_runs_on_other_data_are_refused(tmp_path: Path) -> None:
    described = finish(tmp_path, digest="other")
    with pytest.raises(ValueError, match="were made on data that differ"):
        cells(finished(described, tmp_path))


def test_a_run_does_not_go_on_with_other_data(tmp_path: Path) -> None:
    (one,) = sensorless.descriptions("quick", ["tanh"], [1], 1)
    described = replace(one, settings=Settings(epochs=1, patience=1))
    folder = RunFolder(tmp_path / described.folder)
    folder.begin(described.config())
    folder.save_checkpoint({"sha256": "of other rows", "weights": torch.ones(1)})
    with pytest.raises(ValueError, match="holds a run that began on other data"):
        execute(described, tmp_path)


def test_functions_are_no_settings_of_a_run_folder() -> None:
    (one,) = sensorless.descriptions("quick", ["tanh"], [1], 1)
    named = Settings(optimizer="AdamW", schedule="cosine")
    assert json.dumps(replace(one, settings=named).config())
    for settings in (
        Settings(optimizer=lambda groups: torch.optim.SGD(groups, lr=0.1)),
        Settings(schedule=lambda optimizer: torch.optim.lr_scheduler.ConstantLR(optimizer)),
    ):
        with pytest.raises(ValueError, match="optimizer and schedule must be names"):
            replace(one, settings=settings).config()


def test_nothing_is_described_twice() -> None:
    for module in (sensorless, susy, cifar10):
        twice = module.descriptions(activations=["kaf", "kaf"], layers=[2, 2], seeds=1)
        assert len(twice) == 1
    assert len(wider.descriptions(["wine"], ["random forest", "random forest"], seeds=1)) == 1


def test_depths_are_the_papers() -> None:
    found = {(each.label, len(each.hidden)): each for each in susy.descriptions(seeds=1)}
    assert {label for label, layers in found if layers == 5} == {"relu", "elu", "selu", "prelu"}
    assert found["relu", 5].dropout == (0.0, 0.0, 0.0, 0.5, 0.5)
    assert found["kaf", 2].dropout == ()
    images = {each.label: each for each in cifar10.descriptions(layers=[3], seeds=1)}
    assert images["kaf"].options == images["kaf2d"].options == {"init": "elu"}
    assert images["elu"].options == {}
    assert images["elu"].dropout == (0.25,) * 3
    assert images["elu"].hidden == (150,) * 3


@pytest.mark.parametrize("module", [sensorless, susy, cifar10])
def test_the_command_names_all_profiles(module: Any) -> None:
    name = module.__name__.rsplit(".", 1)[1]
    shown = CliRunner().invoke(app, ["reproduce", name, "--help"], env={"COLUMNS": "200"})
    assert f"One of {', '.join(module.PROFILES)}." in shown.output
