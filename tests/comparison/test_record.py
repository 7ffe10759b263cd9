"""Records: nothing is lost on the way from a run folder to a line of JSON and back."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafnets.comparison.record import DataFacts, Record, Tuning
from kafnets.comparison.summary import cells
from kafnets.train.runs import RunFolder

CONFIG = {"experiment": "e", "profile": "p", "label": "kaf", "data": "rows", "hidden": [8, 8], "seed": 21}
REPORT: dict[str, Any] = {
    "data": {"name": "my rows", "sha256": "0f", "notes": ["é"], "task": "binary", "classes": ["no", "yes"]},
    "rows": [70, 15, 15],
    "parameters": 30,
    "trained_parameters": 20,
    "test": {"loss": 0.1, "auc": 0.9},
    "validation": {"loss": 0.2, "auc": 0.8},
    "best_epoch": 2,
    "seconds_of_training": 1.5,
    "epochs": [{"epoch": 1, "train_loss": 0.5}, {"epoch": 2, "train_loss": 1 / 3}],
    "processes": 2,
    "threads": 4,
    "provenance": {"commit": "abc"},
}


def folder_with(path: Path, report: dict[str, Any]) -> RunFolder:
    folder = RunFolder(path)
    folder.begin(CONFIG)
    folder.finish(report, {}, {})
    return folder


def test_of_a_finished_run(tmp_path: Path) -> None:
    found = Record.of(folder_with(tmp_path, REPORT))
    assert found.key == ("e", "p", "rows", "kaf", (8, 8), 21)
    assert found.data == DataFacts("my rows", "binary", (70, 15, 15), "0f", ("no", "yes"), ("é",))
    assert (found.parameters, found.trained_parameters, found.seconds) == (30, 20, 1.5)
    assert (found.threads, found.processes, found.best_epoch) == (4, 2, 2)
    assert found.epochs == tuple(REPORT["epochs"])
    assert found.tuning is None
    assert found.provenance == {"commit": "abc"}


def test_a_line_of_json_holds_all_of_it(tmp_path: Path) -> None:
    found = Record.of(folder_with(tmp_path / "one", REPORT))
    line = found.to_json()
    assert "\n" not in line
    assert Record.from_json(line) == found
    assert json.loads(line)["epochs"]["train_loss"] == [0.5, 1 / 3]
    tuned = {
        name: value for name, value in REPORT.items() if name not in ("epochs", "best_epoch", "processes")
    }
    tuned |= {"tuned": "learning_rate", "chosen": 0.1, "tried": [{"learning_rate": 0.1}]}
    tuned["data"] = {"name": "my rows", "task": "binary"}
    other = Record.of(folder_with(tmp_path / "two", tuned))
    assert other.tuning == Tuning("learning_rate", 0.1, ({"learning_rate": 0.1},))
    assert Record.from_json(other.to_json()) == other


def test_what_is_not_finished_or_not_whole_is_refused(tmp_path: Path) -> None:
    unfinished = RunFolder(tmp_path / "unfinished")
    unfinished.begin(CONFIG)
    with pytest.raises(ValueError, match="unfinished has no finished run"):
        Record.of(unfinished)
    changed = folder_with(tmp_path / "changed", REPORT)
    (changed.path / "report.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match="changed was changed after the run had finished"):
        Record.of(changed)
    part = folder_with(tmp_path / "part", {"data": {}})
    with pytest.raises(ValueError, match="do not describe a complete run"):
        Record.of(part)


def test_any_seed_is_seen(tmp_path: Path) -> None:
    one = Record.of(folder_with(tmp_path, REPORT))
    many = [replace(one, config=one.config | {"seed": seed}) for seed in (0, 19, 20, 1000)]
    (cell,) = cells(many, wanted=5)
    assert list(cell.test) == [0, 19, 20, 1000]
    assert cell.wanted == 5
    assert cell.best_epochs == dict.fromkeys(cell.test, 2)
