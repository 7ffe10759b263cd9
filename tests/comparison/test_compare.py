"""kafnets compare, from the command line, as its users do."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from typer.testing import CliRunner, Result

import kafnets
from kafnets import registry
from kafnets.cli import app
from kafnets.comparison import plan as planning
from kafnets.comparison.plan import plan
from kafnets.data import tables
from kafnets.data.scaling import RobustScaling
from kafnets.train import Predictor
from kafnets.train.recipe import RECIPE


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Mixed columns with holes, whose label follows from them."""
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "length": generator.normal(size=300),
            "color": generator.choice(["red", "green", "blue"], 300),
            "open": generator.random(300) < 0.5,
            "count": generator.integers(0, 50, 300),
        }
    )
    frame["label"] = np.where((frame["length"] > 0) ^ (frame["color"] == "red"), "yes", "no")
    frame["price"] = frame["length"] * 3 + frame["count"] / 10 + 100
    frame.loc[::7, "length"] = np.nan
    frame.loc[::11, "color"] = None
    path = tmp_path / "my table.csv"
    frame.to_csv(path, index=False)
    return path


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["compare", *map(str, arguments)], env={"COLUMNS": "160"})


def quick(output: Path) -> list[str | Path]:
    return [
        "--seeds", "2", "--epochs", "8", "--hidden", "12", "--activations", "kaf,kaf2d", "--output", output
    ]  # fmt: skip


@pytest.fixture(autouse=True)
def short_timing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "SECONDS_OF_TIMING", 0.01)


def test_a_table_goes_through(table: Path, tmp_path: Path) -> None:
    output = tmp_path / "runs"
    result = run(table, "--target", "label", "--drop", "price", *quick(output))
    assert result.exit_code == 0, result.output
    for expected in ("binary, 2 seeds", "test auc", "kaf2d", "relu", "Predictor.load"):
        assert expected in result.output
    (folder,) = (output / "compare").iterdir()
    assert folder.name.startswith("my_table-")
    ranking = json.loads((folder / "ranking.json").read_text())
    assert [row["mean"] for row in ranking["rows"]] == sorted(
        (row["mean"] for row in ranking["rows"]), reverse=True
    )
    assert {row["activation"] for row in ranking["rows"]} == {"relu", "kaf", "kaf2d"}
    (config, *_) = (json.loads(path.read_text()) for path in folder.rglob("config.json"))
    assert (config["dropout"], config["scaling"]) == ([0.15], "robust")
    assert config["settings"]["keep"] == "best"
    assert config["settings"]["regularization_schedule"] == RECIPE.regularization_schedule
    predictor = Predictor.load(folder / "best")
    assert isinstance(predictor.scaling, RobustScaling)
    new = pd.DataFrame(
        {"length": [1.0, np.nan], "color": ["blue", "violet"], "open": [True, False], "count": 3}
    )
    with pytest.warns(
        UserWarning, match="column 'color' has 'violet', not seen in training: encoded as zeros"
    ):
        assert set(predictor.predict(new)) <= {"yes", "no"}
    again = run(table, "--target", "label", "--drop", "price", "--json", *quick(output))
    assert "6 found finished" in again.stderr
    assert json.loads(again.stdout) == {"folder": str(folder), "unfinished": []} | ranking
    # A table that was changed is another comparison, beside the first.
    table.write_text(table.read_text().replace("red", "pink"))
    assert run(table, "--target", "label", "--drop", "price", *quick(output)).exit_code == 0
    assert len(list((output / "compare").iterdir())) == 2


def test_a_network_that_diverges_does_not_stop_the_others(tmp_path: Path) -> None:
    def explode(features: int) -> nn.Module:
        return nn.Threshold(torch.inf, torch.nan)

    kafnets.register("exploding")(explode)
    try:
        result = run("--data", "iris", *quick(tmp_path), "--activations", "exploding")
    finally:
        registry._registered.pop("exploding")
    assert result.exit_code == 0, result.output
    assert "relu" in result.output
    ranking = json.loads(next(tmp_path.rglob("ranking.json")).read_text())
    assert {row["activation"] for row in ranking["rows"]} == {"relu"}
    assert "note: exploding, 1 layer, seed 0 diverged" in result.output


def test_regression_and_parquet(table: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(table)
    frame.to_parquet(tmp_path / "rows.parquet")
    result = run(tmp_path / "rows.parquet", "--target", "price", "--drop", "label", *quick(tmp_path / "runs"))
    assert result.exit_code == 0, result.output
    assert "test r2" in result.output
    (folder,) = (tmp_path / "runs" / "compare").iterdir()
    predicted = Predictor.load(folder / "best").predict(table)
    assert predicted.shape == (300,)
    assert 80 < predicted.mean() < 120  # in the units of the table
    assert Predictor.load(folder / "best").predict(frame.head(0)).shape == (0,)


def test_what_goes_wrong_with_a_later_seed_is_told_before_the_first(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": np.linspace(0, 1, 40), "y": [0, 1] * 20})
    frame["rare"] = np.nan
    path = tmp_path / "rare.csv"
    for row in range(40):
        frame["rare"] = np.where(np.arange(40) == row, 1.0, np.nan)
        frame.to_csv(path, index=False)
        try:
            tables.load(path, "y", 0)
        except ValueError:
            continue
        try:
            tables.load(path, "y", 2)
        except ValueError:
            break
    result = run(path, "--target", "y", *quick(tmp_path / "runs"), "--seeds", "3")
    assert result.exit_code == 2
    assert "'rare' has missing values only in the training part" in " ".join(result.output.split())
    assert not (tmp_path / "runs").exists()


def test_the_saved_network_is_the_trained_one(tmp_path: Path) -> None:
    chosen = plan("iris", None, ["kaf"], hidden=(8,), seeds=1).networks
    splits = chosen[0].load()
    model = chosen[0].build(splits)
    before = Predictor.of(model, chosen[0].architecture(splits), splits)
    before.save(tmp_path)
    after = Predictor.load(tmp_path)
    rows = np.random.default_rng(0).normal(3, 2, size=(20, 4))
    np.testing.assert_array_equal(before.predict_proba(rows), after.predict_proba(rows))
    np.testing.assert_allclose(after.predict_proba(rows).sum(1), 1, rtol=1e-5)
    assert set(after.predict(rows)) <= {"setosa", "versicolor", "virginica"}
    with pytest.raises(ValueError, match=r"rows must have the shape \(rows, 4\), got \(20, 3\)"):
        after.predict(rows[:, :3])
    with pytest.raises(FileNotFoundError, match=r"has no predictor\.json"):
        Predictor.load(tmp_path / "nowhere")


def test_a_predictor_of_a_data_set_by_name_goes_by_names_that_it_knows() -> None:
    one = plan("iris", None, ["relu"], hidden=(8,), seeds=1).networks[0]
    predictor = Predictor.of(one.build(splits := one.load()), one.architecture(splits), splits)
    rows = np.random.default_rng(0).normal(3, 2, size=(20, 4))
    expected = predictor.predict_proba(rows)
    frame = pd.DataFrame(rows, columns=list(predictor.feature_names))
    for same in (
        frame[frame.columns[::-1]],
        frame.assign(other="text"),
        frame.rename(columns="its {}".format),
    ):
        np.testing.assert_array_equal(predictor.predict_proba(same), expected)
    with pytest.raises(ValueError, match="the table has no column 'x2'"):
        predictor.predict(frame.rename(columns={"x2": "y"}))


def test_targets_that_scores_are_for(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({"a": generator.normal(size=60)})
    frame["y"] = [f"{20_000 + 5_000 * each:,.1f}" for each in frame["a"]]
    planned = plan(frame, "y", ["relu"], hidden=(8,), seeds=1, output=tmp_path)
    splits, one = planned.splits(0), planned.networks[0]
    predictor = Predictor.of(one.build(splits), one.architecture(splits), splits, planned.target)
    numbers = [float(each.replace(",", "")) for each in frame["y"]]
    assert predictor.scores(frame) == predictor.scores(frame[["a"]], numbers)
    with pytest.raises(ValueError, match="target has no value in row 3: leave such rows out"):
        predictor.score(frame, [*numbers[:2], None, *numbers[3:]])
    with pytest.raises(ValueError, match=r"target must have one value per row, 60, got the shape \(1,\)"):
        predictor.score(frame, numbers[:1])
    with pytest.raises(ValueError, match="target: the column 'y' should hold numbers"):
        predictor.score(frame, ["many"] * 60)


def test_a_damaged_predictor_is_refused_in_one_line(tmp_path: Path) -> None:
    splits = (one := plan("iris", None, ["kaf"], hidden=(8,), seeds=1).networks[0]).load()
    Predictor.of(one.build(splits), one.architecture(splits), splits).save(tmp_path / "best")
    description, weights = (tmp_path / "best" / name for name in ("predictor.json", "predictor.pt"))
    text, tensors = description.read_text(), weights.read_bytes()
    rows = tmp_path / "rows.csv"
    rows.write_text("a,b,c,d\n1,2,3,4\n")
    other = text.replace('"hidden": [\n      8\n    ]', '"hidden": [\n      9\n    ]')
    assert other != text
    for content, stored in (
        ("", tensors),
        ("[]", tensors),
        ("{}", tensors),
        ("[" * 100_000, tensors),
        (other, tensors),
        (text, b""),
        (text, b"no tensors"),
        (text, tensors[:-100]),
        (text, pickle.dumps(tmp_path)),
    ):
        description.write_text(content)
        weights.write_bytes(stored)
        result = CliRunner().invoke(app, ["predict", str(tmp_path / "best"), str(rows)])
        assert (result.exit_code, type(result.exception)) == (2, SystemExit), result.output
        assert str(tmp_path / "best") in result.output


def test_a_predictor_of_a_table_asks_for_its_columns(table: Path) -> None:
    planned = plan(table, "label", ["kaf"], hidden=(8,), seeds=1, drop=["price"])
    splits, one = planned.splits(0), planned.networks[0]
    predictor = Predictor.of(one.build(splits), one.architecture(splits), splits, planned.target)
    assert predictor.feature_names == ("length", "color", "open", "count")
    assert predictor.score(table) == (predictor.predict(table) == pd.read_csv(table)["label"]).mean()
    row = {"length": 1.0, "color": "red", "open": True, "count": 2}
    assert predictor.predict(row) == predictor.predict(pd.DataFrame([row]))
    with pytest.raises(ValueError, match="rows have no column 'label'"):
        predictor.score(row)
    assert predictor.transform(row).shape == (1, splits.inputs)
    assert len(predictor.predict(pd.read_csv(table))) == 300
    with pytest.raises(ValueError, match="the table has no columns 'color', 'open'"):
        predictor.predict(pd.DataFrame({"length": [1.0], "count": [2]}))
    with pytest.raises(
        TypeError, match="rows must be a DataFrame, a dictionary or the path of a table, got ndarray"
    ):
        predictor.predict(np.zeros((2, 4)))
    with pytest.raises(ValueError, match="the column 'count' should hold numbers"):
        predictor.predict(pd.DataFrame({"length": [1.0], "color": "red", "open": True, "count": "many"}))


def test_bad_input_is_refused_in_one_line(table: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for arguments, message in (
        ([], "give either a table, with --target, or --data"),
        ([table], "name the column of"),
        ([table, "--target", "lable"], "did you mean 'label'?"),
        ([tmp_path / "no.csv", "--target", "x"], "no.csv does not exist"),
        (["--data", "digit"], "did you mean 'digits'?"),
        (["--data", "digits", "--target", "x"], "target, task and drop are for tables"),
        (["--data", "digits", "--activations", "kaff"], "no activation is called 'kaff'"),
        (["--data", "digits", "--activations", "KAF"], "no activation is called 'KAF': did you mean 'kaf'?"),
        (["--data", "digits", "--rivals", "trees"], "rivals must be among forest, boosting, lightgbm"),
        (["--data", "digits", "--hidden", "ten"], "--hidden must be comma-separated integers"),
        (["--data", "digits", "--hidden", "7", "--activations", "kaf2d"], "num_features must be even"),
        (["--data", "digits", "--hidden", "10000000000"], "hidden must be at most 16777216, got 10000000000"),
        (["--data", "iris", "--hidden", "100000,100000"], "choose smaller layers"),
        (["--data", "digits", "--output", tmp_path / "file"], "file is a file, but a folder is needed there"),
        (
            [table, "--target", "label", "--output", tmp_path / "file" / "below"],
            "file is a file, but a folder",
        ),
        (["--data", "digits", "--precision", "8"], "precision must be one of"),
        (
            [table, "--target", "label", "--task", "ranking"],
            "task must be 'classification', 'regression' or None, got 'ranking'",
        ),
    ):
        result = run("--output", tmp_path / "runs", *arguments)
        assert result.exit_code == 2, result.output
        assert message in result.output
        assert len(result.output.strip().splitlines()) == 1, result.output


def test_interrupted_it_says_how_to_go_on(tmp_path: Path) -> None:
    """In one process; in several it does so, too: see test_signals.py."""
    command = [sys.executable, "-c", "from kafnets.cli import main; main()", "compare", "--data", "digits"]
    command += ["--epochs", "2000", "--patience", "2000", "--activations", "kaf", "--seeds", "2"]
    command += ["--jobs", "1", "--output", str(tmp_path)]
    process = subprocess.Popen(
        command,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        # Where tests run in the background, a shell may have told all processes to ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 90
    while not list(tmp_path.rglob("checkpoint.pt")) and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    try:
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, output
    assert "the same command resumes them" in " ".join(output.split())
    assert "Traceback" not in output
    assert list(tmp_path.rglob("checkpoint.pt"))
