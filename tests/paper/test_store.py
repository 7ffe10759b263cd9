"""The store: all runs are there, as their experiments describe them, and only such are added."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from kafnets.cli import app
from kafnets.comparison.record import Record
from kafnets.paper import sensorless
from kafnets.paper.experiments import describe
from kafnets.paper.store import CHECKSUMS, RunFolders, Store, runs_in
from kafnets.train.runs import RunFolder

RESULTS = Path(__file__).parents[2] / "results"


def write(root: Path, seed: int = 0, label: str = "kaf", digest: str = "0f", **config: Any) -> RunFolder:
    """A finished run of Sensorless, made up."""
    (one,) = sensorless.descriptions("paper", [label], [1], seeds=1)
    one = replace(one, seed=seed)
    folder = RunFolder(root / one.folder)
    folder.begin(one.config() | config)
    report = {
        "data": {"name": "rows", "task": "multiclass", "sha256": digest},
        "rows": [70, 15, 15],
        "test": {"accuracy": 0.9},
        "validation": {"accuracy": 0.9},
        "parameters": 3,
        "trained_parameters": 3,
        "best_epoch": 2,
        "epochs": [{"epoch": 1, "train_loss": 0.1}, {"epoch": 2, "train_loss": 1 / 3}],
        "seconds_of_training": 1.0,
        "threads": 1,
        "provenance": {},
    }
    folder.finish(report, {}, {"1/end/curves": np.ones((2, 3), np.float16)})
    return folder


def test_all_runs_are_there_as_described() -> None:
    records = Store(RESULTS).records
    assert len(records) >= 1971
    assert len({record.key for record in records}) == len(records)
    for record in records:
        assert json.loads(json.dumps(describe(record).config())) == record.config


def test_it_is_small() -> None:
    files = [path for path in RESULTS.rglob("*") if path.is_file()]
    assert len(files) <= 40
    assert sum(path.stat().st_size for path in files) < 15e6
    listed = {line.split()[1] for line in (RESULTS / CHECKSUMS).read_text().splitlines()}
    assert {path.name for path in files} == {*listed, CHECKSUMS}


def test_lines_are_sorted_and_written_alike() -> None:
    for path in RESULTS.glob("*.jsonl"):
        lines = path.read_text(encoding="utf-8").splitlines()
        records = [Record.from_json(line) for line in lines]
        assert [record.to_json() for record in records] == lines
        assert records == sorted(records, key=lambda record: record.key)
        assert {record.experiment for record in records} == {path.stem.removesuffix("-confirmatory")}


def test_added_runs_come_back(tmp_path: Path) -> None:
    runs, store = tmp_path / "runs", tmp_path / "results"
    folders = [write(runs, 0), write(runs, 25), write(runs, 1, "kaf2d")]
    for count in (3, 0):  # the second time, nothing is new
        assert len(Store(store).add(runs)) == count
    found = runs_in(store)
    assert isinstance(found, Store)
    assert [(each.label, each.seed) for each in found.records] == [("kaf", 0), ("kaf", 25), ("kaf2d", 1)]
    for record, folder in zip(found.records, folders, strict=True):
        whole = Record.of(folder)
        assert found.epochs(record) == whole.epochs
        assert replace(record, epochs=found.epochs(record)) == whole
    shown, *others = found.records
    assert found.shapes(shown)["1/end/curves"].shape == (2, 3)
    assert not any(map(found.shapes, others))
    for seed in (2, 3):  # to the same store
        write(tmp_path / f"more-{seed}", seed)
        assert [each.seed for each in found.add(tmp_path / f"more-{seed}")] == [seed]
    assert [each.seed for each in Store(store).records] == [0, 2, 3, 25, 1]
    assert Store(store).epochs(Store(store).records[0]) == Record.of(folders[0]).epochs


def test_what_does_not_belong_there_is_refused(tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    store.add(write(tmp_path / "good", 0).path)
    before = (store.path / "sensorless.jsonl").read_bytes()
    store = Store(store.path)
    refused = {
        "other settings": (
            write(tmp_path / "a", 1, dropout=[0.5]),
            r"dropout: \[0.5\] stored, \[\] requested",
        ),
        "other data": (write(tmp_path / "b", 1, digest="ff"), "were made on data that differ"),
        "another experiment": (write(tmp_path / "c", 1, experiment="compare"), "no experiment is called"),
        "another profile": (write(tmp_path / "d", 1, profile="mine"), "profile must be one of paper, quick"),
        "a run that is there": (write(tmp_path / "e", 0, digest="ff"), "not the stored run of the same"),
    }
    damaged = write(tmp_path / "f", 1)
    (damaged.path / "report.json").write_text("{}", encoding="utf-8")
    refused["a damaged run"] = (damaged, "was changed after the run had finished")
    for folder, message in refused.values():
        write(folder.path / "beside", 3)  # a good run beside it is not stored either
        with pytest.raises(ValueError, match=message):
            store.add(folder.path)
    assert (store.path / "sensorless.jsonl").read_bytes() == before


def test_a_run_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "one")
    write(tmp_path / "two")
    with pytest.raises(ValueError, match="hold the same run: delete one of them"):
        _ = RunFolders(tmp_path).records


@pytest.mark.parametrize("name", ["sensorless.jsonl", "sensorless.npz"])
def test_changed_files_are_named(tmp_path: Path, name: str) -> None:
    store = Store(tmp_path / "results")
    store.add(write(tmp_path / "runs").path)
    with (store.path / name).open("ab") as stream:
        stream.write(b"\n")
    fresh = Store(store.path)
    with pytest.raises(ValueError, match=f"{name} is not what {CHECKSUMS} says"):
        fresh.epochs(fresh.records[0])


def test_the_command(tmp_path: Path) -> None:
    write(tmp_path / "runs")
    command = ["reproduce", "store", str(tmp_path / "runs"), "--folder", str(tmp_path)]
    elsewhere = CliRunner().invoke(app, command)
    assert elsewhere.exit_code == 2
    assert "--folder must be a checkout of kafnets" in " ".join(elsewhere.output.split())
    Store(tmp_path / "results").add(write(tmp_path / "more", 7).path)
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0, shown.output
    assert "1 runs added" in shown.output
    write(tmp_path / "runs", 1, dropout=[0.5])
    refused = CliRunner().invoke(app, command)
    assert refused.exit_code == 2
    assert "different settings" in refused.output
    shutil.rmtree(tmp_path / "runs")
    assert "does not exist" in CliRunner().invoke(app, command).output
