"""The Sensorless experiment, on the sample that ships with the package."""

import json
import os
import pickle
import random
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from kafnets.cli import app
from kafnets.comparison.description import Description
from kafnets.comparison.runner import execute, finished
from kafnets.comparison.summary import cells
from kafnets.comparison.sweep import execute_all
from kafnets.paper import published, sensorless
from kafnets.train.runs import RunFolder
from kafnets.train.settings import Settings


def short(label: str, epochs: int = 3, seed: int = 0) -> Description:
    (one,) = sensorless.descriptions("quick", [label], [1], seeds=1)
    return replace(one, settings=Settings(epochs=epochs, patience=epochs), seed=seed)


def test_descriptions_are_the_papers() -> None:
    found = sensorless.descriptions()
    assert len(found) == 4 * 2 * 5
    assert {each.hidden for each in found} == {(100,), (100, 100)}
    assert {each.data for each in found} == {"sensorless"}
    kaf = next(each for each in found if each.label == "kaf")
    assert kaf.settings == Settings()
    with pytest.raises(ValueError, match="profile must be one of paper, quick, got 'slow'"):
        sensorless.descriptions("slow")
    with pytest.raises(ValueError, match="no activation is called 'kav'"):
        sensorless.descriptions(activations=["kav"])


def test_every_published_value_has_a_run() -> None:
    for label, layers in published.SENSORLESS:
        assert sensorless.descriptions(activations=[label], layers=[layers])


def test_a_run_leaves_everything_behind(tmp_path: Path) -> None:
    description = short("kaf")
    assert execute(description, tmp_path) == "trained"
    assert execute(description, tmp_path) == "found finished"
    folder = RunFolder(tmp_path / description.folder)
    report = folder.report()
    assert report["rows"] == [3850, 825, 825]
    assert report["parameters"] == 48 * 100 + 100 + 100 * 20 + 100 * 11 + 11
    assert len(report["epochs"]) == 3
    assert report["provenance"]["versions"]["torch"]
    config = json.loads((folder.path / "config.json").read_text())
    assert config["settings"]["batch_size"] == 100
    with np.load(folder.path / "shapes.npz") as shapes:
        assert shapes["1/start/curves"].shape == (12, 101)
        assert shapes["1/end/curves"].shape == (100, 101)
        assert shapes["1/end/histogram"].shape == (100, 50)
        np.testing.assert_allclose(shapes["1/end/histogram"].sum(1), 1, rtol=1e-5)
        assert np.abs(shapes["1/end/curves"][:12] - shapes["1/start/curves"]).max() > 1e-3
    splits = description.load()
    model = description.build(splits)
    model.load_state_dict(folder.weights())


def test_controls(tmp_path: Path) -> None:
    frozen = short("kaf frozen")
    execute(frozen, tmp_path)
    folder = RunFolder(tmp_path / frozen.folder)
    assert folder.report()["trained_parameters"] == 48 * 100 + 100 + 100 * 11 + 11
    with np.load(folder.path / "shapes.npz") as shapes:
        np.testing.assert_array_equal(shapes["1/end/curves"][:12], shapes["1/start/curves"])
    (tanh,) = sensorless.descriptions("quick", ["kaf from tanh"], [1], seeds=1)
    assert tanh.options == {"init": "tanh"}


def test_killed_runs_go_on_to_the_last_bit(tmp_path: Path) -> None:
    description = short("kaf", epochs=40)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    execute(description, whole)
    program = (
        "import pickle, sys; from pathlib import Path; from kafnets.comparison.runner import execute; "
        "import torch; torch.set_num_threads(1); "
        "execute(pickle.load(sys.stdin.buffer), Path(sys.argv[1]))"
    )
    moments = random.Random(0)
    checkpoint = killed / description.folder / "checkpoint.pt"
    for _ in range(3):
        seen = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        process = subprocess.Popen(
            [sys.executable, "-c", program, str(killed)],
            stdin=subprocess.PIPE,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        assert process.stdin is not None
        process.stdin.write(pickle.dumps(description))
        process.stdin.close()
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if checkpoint.exists() and checkpoint.stat().st_mtime_ns != seen:
                break
            time.sleep(0.005)
        time.sleep(moments.random() * 0.1)
        process.kill()
        process.wait()
    execute(description, killed)
    first, second = (RunFolder(path / description.folder) for path in (whole, killed))
    for part in ("test", "validation", "epochs", "best_epoch"):
        assert first.report()[part] == second.report()[part]
    weights = second.weights()
    assert all((value == weights[name]).all() for name, value in first.weights().items())
    with np.load(first.path / "shapes.npz") as one, np.load(second.path / "shapes.npz") as two:
        assert {"1/start/curves", "1/epoch 1/curves", "1/epoch 32/curves", "1/end/curves"} <= set(one)
        assert set(one) == set(two)
        assert all((one[name] == two[name]).all() for name in one)


def test_side_by_side_gives_the_same(tmp_path: Path) -> None:
    runs = [short("tanh", seed=seed) for seed in range(3)]
    execute_all(runs, tmp_path / "one")
    told: list[str] = []
    execute_all(runs, tmp_path / "two", jobs=2, told=lambda _, outcome: told.append(outcome))
    assert told == ["trained"] * 3
    one, two = (cells(finished(runs, tmp_path / name), wanted=3)[0] for name in ("one", "two"))
    assert one.test == pytest.approx(two.test, abs=0.005)  # threads may differ, and with them roundings
    assert one.wanted == 3


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = ("sensorless_sample", Settings(epochs=2, patience=2))
    monkeypatch.setattr(sensorless, "PROFILES", {"quick": quick})
    command = ["reproduce", "sensorless", "--profile", "quick", "--activations", "tanh,kaf", "--seeds", "2"]
    command += ["--layers", "1", "--output", str(tmp_path)]
    result = CliRunner().invoke(app, command, env={"COLUMNS": "140"})
    assert result.exit_code == 0, result.output
    assert "quick profile" in result.output
    assert "0.9904" in result.output  # the paper's
    again = CliRunner().invoke(app, command, env={"COLUMNS": "140"})
    assert again.exit_code == 0
    for wrong, message in (
        (["reproduce", "nonsense"], "No such command 'nonsense'"),
        (["reproduce", "sensorless", "--profile", "slow"], "profile must be one of quick, got 'slow'"),
        (
            ["reproduce", "sensorless", "--profile", "quick", "--activations", "kav"],
            "no activation is called",
        ),
    ):
        refused = CliRunner().invoke(app, wrong)
        assert refused.exit_code == 2
        assert message in refused.output
