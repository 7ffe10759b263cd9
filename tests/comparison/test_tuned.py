"""kafnets.compare with tuned activations: trials, runs that are taken over, what is told."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kafnets
from kafnets.comparison import plan, tuned
from kafnets.report.collect import collect
from kafnets.report.payload import payload
from kafnets.train.loop import fit
from kafnets.train.search import Trial, search

ROWS = np.random.default_rng(0).normal(size=(150, 3))
LABELS = ROWS[:, 0] > 0
QUICK: dict[str, Any] = {"seeds": 1, "epochs": 2, "hidden": (8, 8), "progress": False}
WIDE = {"width": 10, "depth": 2, "learning_rate": 0.00412, "weight_decay": 0.5, "dropout": 0.0}


@pytest.fixture(autouse=True)
def short_timing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "SECONDS_OF_TIMING", 0.01)


def test_every_activation_is_tuned_with_as_many_trials(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(150, 3))
    labels = rows[:, 0] > 0
    options: dict[str, Any] = {"seeds": 2, "epochs": 2, "output": tmp_path, "progress": False}

    def compared(tune: int) -> Any:
        return kafnets.compare(rows, labels, ["kaf", "tanh"], hidden=(8, 8), tune=tune, **options)

    def trials_of(label: str) -> int:
        (journal,) = tmp_path.glob(f"compare/*-trials/{label}.journal")
        return journal.read_text(encoding="utf-8").count('"parameters"')

    found = compared(2)
    chosen = json.loads((found.folder / "tuned.json").read_text(encoding="utf-8"))
    assert sorted(chosen) == ["kaf", "relu", "tanh"]
    for label, arguments in chosen.items():
        assert trials_of(label) == 2
        widths = set(map(tuple, ([arguments["hidden"]] if arguments else [[8, 8]])))
        hidden = {tuple(each.config["hidden"]) for each in found.runs if each.label == label}
        assert hidden == widths
        assert len(next(iter(hidden))) == 2  # the depth stays
    again = compared(2)
    assert again.folder == found.folder
    assert [each.test for each in again.runs] == [each.test for each in found.runs]
    assert compared(0).folder != found.folder
    more = compared(3)
    assert (trials_of("kaf"), more.folder == found.folder) == (3, False)  # two of them are those of before
    fewer = compared(2)
    assert (fewer.folder, json.loads((fewer.folder / "tuned.json").read_text(encoding="utf-8"))) == (
        found.folder,
        chosen,
    )
    assert found.best.predict(rows).shape == (150,)
    with pytest.raises(ValueError, match="tune must be an integer ≥ 0, got -1"):
        compared(-1)


def test_a_first_trial_that_is_interrupted_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: dict[str, list[Trial]] = {}
    calls = 0

    def spied(path: Path, *arguments: Any, **options: Any) -> list[Trial]:
        found[path.stem] = search(path, *arguments, **options)
        return found[path.stem]

    def interrupted(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise KeyboardInterrupt
        return fit(*arguments, **options)

    monkeypatch.setattr(tuned, "search", spied)
    monkeypatch.setattr(tuned, "fit", interrupted)
    options: dict[str, Any] = QUICK | {"tune": 2, "output": tmp_path}
    with pytest.raises(KeyboardInterrupt):
        kafnets.compare(ROWS, LABELS, ["kaf"], **options)
    kafnets.compare(ROWS, LABELS, ["kaf"], **options)
    assert sorted(found) == ["kaf", "relu"]
    for trials in found.values():
        assert [bool(each.parameters) for each in trials] == [False, True]


def test_runs_with_the_same_settings_are_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    best: dict[str, dict[str, Any]] = {}

    def chosen(path: Path, *_: Any, **__: Any) -> list[Trial]:
        return [Trial(0, best.get(path.stem, {}), 0.5, 0.5, 1.0)]

    def compared(tune: int, rivals: tuple[str, ...] = ("forest",)) -> Any:
        options: dict[str, Any] = QUICK | {"rivals": rivals, "tune": tune, "output": tmp_path}
        return kafnets.compare(ROWS, LABELS, ["kaf", "tanh"], **options)

    def seconds(comparison: Any) -> dict[str, float]:
        return {each.label: each.seconds for each in comparison.runs}

    monkeypatch.setattr(tuned, "search", chosen)
    plain = compared(0)
    best["kaf"] = WIDE | {"base": "silu", "dictionary_size": 9}
    two = compared(2)
    assert two.folder != plain.folder
    assert {label for label, each in seconds(two).items() if each != seconds(plain)[label]} == {"kaf"}
    best["tanh"] = WIDE
    four = compared(4)
    assert {label for label, each in seconds(four).items() if each != seconds(two)[label]} == {"tanh"}
    assert {each.profile for each in four.runs} == {four.folder.name}
    assert four.best.predict(ROWS).shape == (150,)
    kaf = (
        "kaf: hidden 10 x 2, learning_rate 0.0041, weight_decay 0.5, dropout 0, base silu, dictionary_size 9"
    )
    assert two.tuning == f"Tuned, 2 trials each: {kaf}; tanh: as given; relu: as given"
    for text in (repr(two), two._repr_html_()):
        assert two.tuning in text
    assert plain.tuning == ""
    assert "Tuned" not in repr(plain)

    (page,) = payload(collect(two.folder), "")[0]["comparisons"]  # one, although the widths differ
    assert page["tuning"] == two.tuning
    assert {row["activation"] for row in page["rows"]} == set(seconds(two))
    pages = payload(collect(tmp_path), "")[0]["comparisons"]
    assert [each["tuning"] for each in pages] == [plain.tuning, two.tuning, four.tuning]
