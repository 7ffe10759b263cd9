"""kafnets.compare as a function: tables, frames and arrays."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import kafnets
from kafnets.comparison import plan
from kafnets.inspection.curves import from_arrays
from kafnets.train.runs import RunFolder

QUICK: dict[str, Any] = {"activations": ["kaf"], "seeds": 2, "epochs": 4, "hidden": (6,), "progress": False}


@pytest.fixture(autouse=True)
def short_timing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "SECONDS_OF_TIMING", 0.01)


@pytest.fixture
def frame() -> pd.DataFrame:
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({"a": generator.normal(size=120), "b [/x]": generator.choice(["u", "v"], 120)})
    frame["y"] = (frame["a"] + (frame["b [/x]"] == "u") > 0.5).astype(int)
    return frame


def numbers(ranking: pd.DataFrame) -> Any:
    return json.loads(ranking.drop(columns="step_time").to_json(orient="records", double_precision=15))


def test_frames_and_arrays_are_as_good_as_files(frame: pd.DataFrame, tmp_path: Path) -> None:
    whole = kafnets.compare(frame, "y", output=tmp_path, **QUICK)
    again = kafnets.compare(frame.drop(columns="y"), frame["y"], output=tmp_path / "two", **QUICK)
    assert numbers(again.ranking) == numbers(whole.ranking)
    arrays = kafnets.compare(
        frame[["a"]].to_numpy(),
        frame["y"].to_numpy() == 1,
        output=tmp_path / "three",
        rivals=["forest"],
        **QUICK,
    )
    assert set(arrays.ranking["activation"]) == {"relu", "kaf", "random forest", "random forest tuned"}
    assert arrays.best.predict(frame[["a"]].to_numpy()).dtype == bool
    polars = pytest.importorskip("polars")
    third = kafnets.compare(polars.from_pandas(frame), "y", output=tmp_path / "four", **QUICK)
    assert numbers(third.ranking) == numbers(whole.ranking)


def test_a_table_needs_a_target(frame: pd.DataFrame) -> None:
    for data in ("rows.csv", frame):
        with pytest.raises(ValueError, match="target must be the column to predict, or its values"):
            kafnets.compare(data)


def test_data_sets_by_name_have_a_target_and_training_has_known_options(tmp_path: Path) -> None:
    for given in ({"target": "y"}, {"task": "regression"}, {"drop": ["x"]}):
        with pytest.raises(ValueError, match="target, task and drop are for tables: omit them, 'iris' is"):
            kafnets.compare("iris", output=tmp_path, **given)
    for name, meant in (
        ("learning_rates", "learning_rate"),
        ("activation", "activations"),
        ("Seeds", "seeds"),
    ):
        with pytest.raises(TypeError, match=f"compare has no option '{name}': did you mean '{meant}'"):
            kafnets.compare("iris", **{name: 1})  # type: ignore[arg-type]


def test_folders_of_the_user_stay_and_targets_are_stripped(frame: pd.DataFrame, tmp_path: Path) -> None:
    for folder, stays in ((tmp_path, True), (tmp_path / "new", False)):
        with pytest.raises(ValueError, match="num_features must be even"):
            kafnets.compare(frame, "y", output=folder, **(QUICK | {"activations": ["kaf2d"], "hidden": 7}))
        assert folder.exists() is stays
        assert not list(tmp_path.iterdir())
    texts = frame.assign(y=[f" {each}s".ljust(4 + row % 2) for row, each in enumerate(frame["y"])])
    found = kafnets.compare(pd.concat([texts, texts[:1].assign(y=" ")]), "y", output=tmp_path, **QUICK)
    assert found.best.classes == ("0s", "1s")
    assert found.notes == ("1 rows without a value of y were omitted",)
    assert found.best.score(texts) == (found.best.predict(texts) == texts["y"].str.strip()).mean()


def test_one_width_and_whole_numbers_of_numpy(frame: pd.DataFrame, tmp_path: Path) -> None:
    again = QUICK | {"hidden": np.int64(6), "epochs": np.int64(4)}
    one, other = (kafnets.compare(frame, "y", output=tmp_path, **each) for each in (QUICK, again))
    assert one.folder == other.folder
    assert one.runs == other.runs  # nothing is trained twice


def test_names_that_are_no_lists(frame: pd.DataFrame) -> None:
    for name in ("activations", "rivals", "drop"):
        with pytest.raises(ValueError, match=rf"{name} must be a list of names, got 'ab': give \['ab'\]"):
            kafnets.compare(frame, "y", **(QUICK | {name: "ab"}))
    for name, value in (("seeds", 2.5), ("jobs", 0), ("task", "ranking")):
        with pytest.raises((ValueError, TypeError), match=f"{name} must be .*, got {value!r}"):
            kafnets.compare(frame, "y", **(QUICK | {name: value}))


def test_trees_alone_are_no_comparison_of_networks(frame: pd.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no run of a network finished \(kaf, 1 layer, seed 0 diverged"):
        kafnets.compare(frame, "y", rivals=["forest"], learning_rate=1e38, output=tmp_path, **QUICK)


def test_divided_rows_stay_while_another_process_needs_them(frame: pd.DataFrame, tmp_path: Path) -> None:
    found = kafnets.compare(frame, "y", output=tmp_path, **QUICK)
    other = RunFolder(found.folder / "elu-1x6" / "seed-0")
    with other.locked():
        kafnets.compare(frame, "y", output=tmp_path, **(QUICK | {"seeds": 3}))
        assert list(found.folder.glob(".rows/*.pt"))
    kafnets.compare(frame, "y", output=tmp_path, **QUICK)
    assert not list(found.folder.glob(".rows"))


def test_the_global_generator_stays(frame: pd.DataFrame, tmp_path: Path) -> None:
    before = torch.get_rng_state()
    kafnets.compare(frame, "y", output=tmp_path, **QUICK)
    assert torch.equal(torch.get_rng_state(), before)


def test_an_odd_run_folder_is_skipped_with_a_note(frame: pd.DataFrame, tmp_path: Path) -> None:
    found = kafnets.compare(frame, "y", output=tmp_path, **QUICK)
    folder = found.folder / "kaf-1x6" / "seed-0"
    report = json.loads((folder / "report.json").read_text())
    del report["rows"]
    (folder / "report.json").write_text(json.dumps(report))
    import hashlib

    done = json.loads((folder / "DONE").read_text())
    done["sha256"]["report.json"] = hashlib.sha256((folder / "report.json").read_bytes()).hexdigest()
    (folder / "DONE").write_text(json.dumps(done))
    with pytest.warns(UserWarning, match="skipped: .*seed-0: config.json and report.json do not describe"):
        again = kafnets.compare(frame, "y", output=tmp_path, **QUICK)
    assert again.ranking.set_index("activation")["seeds"].to_dict() == {"kaf": 1, "relu": 2}


def test_networks_are_averaged_and_features_have_functions(frame: pd.DataFrame, tmp_path: Path) -> None:
    options: dict[str, Any] = QUICK | {"n_members": 2, "embedding": "auto"}
    found = kafnets.compare(frame, "y", output=tmp_path, **options)
    plain = kafnets.compare(frame, "y", output=tmp_path, **QUICK)
    assert plain.folder != found.folder
    assert {each.config.get("members") for each in found.runs} == {2}
    assert "members" not in plain.runs[0].config
    best = found.best
    assert isinstance(best.model, kafnets.nn.Averaged)
    assert best.architecture.embeddings == (None, "kaf")
    assert best.architecture.embedded == (0,)  # the other column has two values
    kaf = next(each for each in found.runs if each.label == "kaf" and each.seed == 0)
    stored = {each.layer: each for each in from_arrays(kaf_functions(found.folder, kaf.seed))}
    layer = stored["members.1.0"]
    assert layer.features == ("a",)
    assert layer.values("end").shape == (1, 4, 101)
    train = frame["a"].min(), frame["a"].max()
    assert (
        train[0] <= layer.quantiles[0][0] < layer.quantiles[0][2] < layer.quantiles[0][4] <= train[1] + 1e-3
    )
    again = kafnets.compare(frame, "y", output=tmp_path, **options)
    assert numbers(again.ranking) == numbers(found.ranking)


def test_one_network_has_nobody_to_share_weights_with(frame: pd.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"share_weights needs several networks: .* must be 2 or more, got 1"
    ):
        kafnets.compare(frame, "y", output=tmp_path, share_weights=True, **QUICK)


def kaf_functions(folder: Path, seed: int) -> Any:
    return dict(np.load(next(folder.glob(f"kaf-*/seed-{seed}/shapes.npz"))))


def test_the_saved_network_is_calibrated(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    table = pd.DataFrame(generator.normal(size=(900, 2)), columns=["a", "b"])
    table["y"] = table["a"].gt(-0.4).astype(int) + table["a"].gt(0.4)
    options: dict[str, Any] = QUICK | {"epochs": 20, "hidden": 10, "seeds": 1}
    smooth = kafnets.compare(table, "y", output=tmp_path, **options).best
    plain = kafnets.compare(table, "y", output=tmp_path, label_smoothing=0.0, **options).best
    assert smooth.temperature < 1 == plain.temperature
