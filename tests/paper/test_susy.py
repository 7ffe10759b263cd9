"""The SUSY experiment, on a generated file in the layout of the published one."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from kafnets import data
from kafnets.cli import app
from kafnets.data import folder, susy
from kafnets.paper import susy as experiment
from kafnets.paper import tables
from kafnets.paper.evidence import Evidence
from kafnets.train.runs import RunFolder
from tests.data.susy_file import susy_file

COMMAND = ["reproduce", "susy", "--profile", "paper", "--activations", "kaf", "--layers", "1", "--seeds", "1"]
SHOWN = {"COLUMNS": "140"}


def test_the_command_on_a_file_of_the_published_layout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, runs = tmp_path / "data", tmp_path / "runs"
    files.mkdir()
    (files / "SUSY.csv.gz").write_bytes(susy_file(1200))
    monkeypatch.setenv("KAFNETS_DATA", str(files))
    # Fewer rows and epochs; all else is the setting of the paper.
    monkeypatch.setattr(susy, "HELD_OUT", 200)
    monkeypatch.setattr(susy, "CHUNK", 500)
    name, settings = experiment.PROFILES["paper"]
    monkeypatch.setitem(experiment.PROFILES, "paper", (name, replace(settings, epochs=4)))

    result = CliRunner().invoke(app, [*COMMAND, "--output", str(runs)], env=SHOWN)
    assert result.exit_code == 0, result.output
    kept = folder.load_arrays(files / "susy.npz")
    assert kept["X"].shape == (1200, 18)
    np.testing.assert_array_equal(kept["y"], np.arange(1200) % 2)

    (described,) = experiment.descriptions("paper", ["kaf"], [1], seeds=1)
    run = RunFolder(runs / described.folder)
    report = run.report()
    assert report["rows"] == [800, 200, 200]
    assert report["parameters"] == 12_001  # as in the paper's Table 2
    assert report["data"]["sha256"] == data.load("susy").digest
    assert len(report["epochs"]) == 4
    auc = report["test"]["auc"]
    assert auc > 0.8  # the label is that of its row

    shown = " ".join(result.output.split())
    assert "susy, paper profile, on susy" in shown
    assert f"{auc:.4f}" in shown
    assert "12,001" in shown
    assert f"{auc - 0.8756:+.4f}" in shown  # the paper's value
    assert "The paper's values are for its own setting" not in shown

    (files / "SUSY.csv.gz").unlink()  # the compact form is enough from now on
    again = CliRunner().invoke(app, [*COMMAND, "--output", str(runs), "--json"])
    assert again.exit_code == 0, again.output
    (cell,) = json.loads(again.stdout)
    assert cell["mean"] == pytest.approx(auc)

    table = tables.susy(Evidence(runs))
    assert table.title.startswith("SUSY, paper profile, on susy")
    assert f"| KAF, 1 layer | {auc:.4f} | 1 |" in table.markdown()
