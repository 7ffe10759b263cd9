"""A user's own tables, good and bad."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kafnets.data import tables
from kafnets.data.encoding import Encoding
from kafnets.data.reading import read_frame
from kafnets.data.splits import stratified_rows


@pytest.fixture
def frame() -> Any:
    """Numbers, text, truth values, gaps: 200 rows."""
    generator = np.random.default_rng(0)
    size = generator.normal(size=200)
    table = pd.DataFrame(
        {
            "size": np.where(generator.random(200) < 0.1, np.nan, size),
            "color": generator.choice(["red", "green", "blue"], 200),
            "old": generator.random(200) < 0.5,
            "label": np.where(size > 0, "big", "small"),
            "price": size * 3 + 10,
        }
    )
    table.loc[generator.random(200) < 0.05, "color"] = None
    return table


def saved(frame: Any, folder: Path, name: str = "table.csv") -> Path:
    path = folder / name
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz", "table.zip", "table.parquet"])
def test_mixed_columns_with_gaps(frame: Any, tmp_path: Path, name: str) -> None:
    splits = tables.load(saved(frame, tmp_path, name), "label", drop=["price"])
    assert splits.task == "binary"
    assert splits.classes == ("big", "small")
    assert splits.inputs == 1 + 4 + 1  # color: three, and gaps
    assert (len(splits.train), len(splits.validation), len(splits.test)) == (140, 30, 30)
    for part in (splits.train, splits.validation, splits.test):
        assert part.features.dtype == np.float32
        assert np.isfinite(part.features).all()
    assert splits.train.features.min() == -1
    assert splits.train.features.max() == 1


def test_regression_and_its_scale(frame: Any, tmp_path: Path) -> None:
    splits = tables.load(saved(frame, tmp_path), "price", drop=["label"])
    assert splits.task == "regression"
    assert splits.train.target.mean() == pytest.approx(0, abs=1e-6)
    assert splits.train.target.std() == pytest.approx(1, abs=1e-5)
    mean, deviation = splits.target_scale
    assert mean == pytest.approx(10, abs=1)
    assert deviation == pytest.approx(3, abs=0.6)


def test_the_task_is_guessed_and_may_be_said(frame: Any, tmp_path: Path) -> None:
    frame["grade"] = np.arange(200) % 5
    frame["count"] = np.arange(200)
    path = saved(frame, tmp_path)
    assert tables.load(path, "grade").task == "multiclass"
    assert tables.load(path, "old").task == "binary"
    assert tables.load(path, "count").task == "regression"
    assert tables.load(path, "grade", task="regression").task == "regression"


def test_the_seed_decides_and_the_digest_does_not_depend_on_it(frame: Any, tmp_path: Path) -> None:
    path = saved(frame, tmp_path)
    first, again, other = (tables.load(path, "label", seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.test.features, again.test.features)
    assert not np.array_equal(first.test.features, other.test.features)
    assert first.digest == other.digest
    frame.loc[3, "size"] = 99.0
    assert tables.load(saved(frame, tmp_path, "changed.csv"), "label").digest != first.digest


def test_rows_without_a_target_are_left_out_and_it_is_said(frame: Any, tmp_path: Path) -> None:
    frame.loc[:4, "label"] = None
    splits = tables.load(saved(frame, tmp_path), "label")
    assert len(splits.train) + len(splits.validation) + len(splits.test) == 195
    assert splits.notes == ("5 rows without a value of label were omitted",)


def test_categories_come_from_the_training_part(frame: Any, tmp_path: Path) -> None:
    rows = tables.load(saved(frame, tmp_path), "label")
    frame.loc[0, "color"] = "ultraviolet"
    known = [tables.load(saved(frame, tmp_path), "label", seed).inputs for seed in range(12)]
    assert set(known) == {rows.inputs, rows.inputs + 1}  # it is in the training part for some seeds only


def _damage(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def test_damaged_files(frame: Any, tmp_path: Path) -> None:
    for name in ("cut.csv.gz", "cut.zip", "cut.parquet"):
        path = saved(frame, tmp_path, name)
        _damage(path)
        with pytest.raises(ValueError, match=f"{name} (is truncated or damaged|cannot be read as parquet)"):
            tables.load(path, "label")
    empty = tmp_path / "empty.csv"
    empty.touch()
    with pytest.raises(ValueError, match=r"empty\.csv is empty"):
        tables.load(empty, "label")
    header = tmp_path / "header.csv"
    header.write_text("a,label\n")
    with pytest.raises(ValueError, match="has a header but no rows"):
        tables.load(header, "label")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        tables.load(tmp_path / "nowhere.csv", "label")
    with pytest.raises(ValueError, match=r"must be a \.csv"):
        tables.load(saved(frame, tmp_path, "table.xls"), "label")
    (tmp_path / "odd.csv").write_bytes(b"a,label\n1,\xff\xfe\n")
    with pytest.raises(ValueError, match=r"is not UTF-8 .* save it as UTF-8"):
        tables.load(tmp_path / "odd.csv", "label")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.assign(label="big"), "all rows have label = 'big': there must be two classes or more"),
        (
            lambda f: f.assign(size=np.nan),
            "the column 'size' has missing values only: drop it",
        ),
        (
            lambda f: f.assign(old=np.inf),
            "the column 'old' is infinite in row 1 and 199 more: leave it empty if",
        ),
        (
            lambda f: f.assign(size=["many" if i == 7 else i for i in range(200)]),
            "the column 'size' holds numbers but for 'many' in row 8: correct it",
        ),
        (lambda f: f.assign(color=[f"id{i}" for i in range(200)]), "'color' has 200 different texts"),
        (lambda f: f.rename(columns={"label": "labels"}), "has no column 'label': did you mean 'labels'?"),
        (lambda f: f.head(5), "has 5 rows with a value of label: at least 10 are needed"),
        (lambda f: f[["label"]], "has no column to predict 'label' from"),
    ],
)
def test_mistakes_are_named(frame: Any, tmp_path: Path, change: Any, message: str) -> None:
    path = saved(change(frame), tmp_path)
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        tables.load(path, "label")
    assert message in str(caught.value)


def predictor_of(path: Path, frame: pd.DataFrame) -> Encoding:
    frame.to_csv(path, index=False)
    encoding = tables.load(path, "y").encoding
    assert encoding is not None
    return encoding


def test_categories_do_not_depend_on_what_else_is_in_a_file(tmp_path: Path) -> None:
    """A reader takes the same column as text in one file, and as numbers or truth values in another."""
    for given in (["true", "false", "unknown"], ["1", "2", "x"], ["01", "02", "x"], ["1.5", "2.5", "x"]):
        frame = pd.DataFrame({"a": given * 40, "b": np.arange(120.0), "y": ["u", "v"] * 60})
        encoding = predictor_of(tmp_path / "train.csv", frame)
        fewer = frame[frame["a"] != given[2]]
        fewer.to_csv(tmp_path / "new.csv", index=False)
        read = read_frame(tmp_path / "new.csv")
        np.testing.assert_array_equal(
            encoding.apply(read, "new"), encoding.apply(frame, "old")[frame["a"] != given[2]]
        )


def test_truth_values_with_gaps_are_numbers(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [True, False, None] * 40, "b": np.arange(120.0), "y": ["u", "v"] * 60})
    encoding = predictor_of(tmp_path / "t.csv", frame)
    assert encoding.columns[0].categories is None
    text = pd.DataFrame({"a": ["1", "2", "12"] * 40, 7: np.arange(120.0), "y": ["u", "v"] * 60})
    text.index = pd.Index([f"row {number}" for number in range(120)])
    text.rename(columns=str).to_parquet(tmp_path / "t.parquet")
    assert tables.load(tmp_path / "t.parquet", "y").inputs == 2


def test_large_numbers_that_differ_little_keep_their_differences(tmp_path: Path) -> None:
    frame = pd.DataFrame({"seconds": 1.6e9 + np.arange(200), "y": ["u", "v"] * 100})
    frame.to_csv(tmp_path / "t.csv", index=False)
    splits = tables.load(tmp_path / "t.csv", "y")
    assert len(np.unique(splits.train.features)) == len(splits.train)


def test_gaps_that_fill_a_training_part(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": np.arange(60.0), "rare": np.nan, "y": [0, 1] * 30})
    frame.loc[0, "rare"] = 1.0
    table = tables.read(saved(frame, tmp_path), "y")
    labels, shares = np.arange(60) % 2, tables.SHARES
    divisions = {seed: stratified_rows(labels, shares, np.random.default_rng(seed)) for seed in range(20)}
    outside = [seed for seed, rows in divisions.items() if 0 not in rows[0]]
    assert 0 < len(outside) < 20
    for seed in outside:
        with pytest.raises(ValueError, match="'rare' has missing values only in the training part: drop it"):
            table.divide(seed)


def test_parts_that_cannot_be_scored_are_refused(tmp_path: Path) -> None:
    rare = pd.DataFrame({"a": np.arange(60.0), "y": ["u"] * 57 + ["v"] * 3})
    rare.to_csv(tmp_path / "rare.csv", index=False)
    with pytest.raises(
        ValueError, match=r"the (validation|test) part, .* does not have rows of both classes"
    ):
        tables.load(tmp_path / "rare.csv", "y")
    few = pd.DataFrame({"a": np.arange(10.0), "y": np.arange(10) / 7})
    few.to_csv(tmp_path / "few.csv", index=False)
    with pytest.raises(ValueError, match="does not have different targets: give more rows"):
        tables.load(tmp_path / "few.csv", "y")


def test_targets_that_are_no_targets(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": np.arange(100.0), "name": [f"n{number}" for number in range(100)]})
    frame["weight"] = [f"{70 + number / 10}" if number else "7O.5" for number in range(100)]
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ValueError, match=r"holds numbers but for '7O\.5' in row 1"):
        tables.load(tmp_path / "t.csv", "weight", drop=["name"])
    with pytest.raises(ValueError, match="name has 100 different values in 100 rows, too many for classes"):
        tables.load(tmp_path / "t.csv", "name", drop=["weight"])
    with pytest.raises(ValueError, match="'a' cannot be both the target and dropped"):
        tables.load(tmp_path / "t.csv", "a", drop=["a"])
    frame.to_csv(tmp_path / "semicolons.csv", index=False, sep=";")
    with pytest.raises(ValueError, match="columns seem to be separated by ';', save it with commas"):
        tables.load(tmp_path / "semicolons.csv", "a")


@pytest.mark.parametrize("task", [None, "classification"])
def test_whole_numbers_are_classes_by_their_size(tmp_path: Path, task: Any) -> None:
    frame = pd.DataFrame({"a": np.linspace(0, 1, 120), "k": np.arange(120) % 12})
    assert tables.load(saved(frame, tmp_path), "k", task=task).classes == tuple(map(str, range(12)))
    frame.loc[3, "k"] = np.nan
    assert tables.load(saved(frame, tmp_path), "k", task=task).classes == tuple(map(str, range(12)))


def test_long_codes_stay_apart(tmp_path: Path) -> None:
    codes = ["1000001", "1000002", "12345678901234567890", "12345678901234567891", "1_0", "10", "A17"]
    frame = pd.DataFrame({"code": codes * 20, "a": np.linspace(0, 1, 140), "y": [0, 1] * 70})
    found = predictor_of(saved(frame, tmp_path), frame)
    assert found.columns[0].categories == tuple(sorted(codes))
    same = found.apply(pd.DataFrame({"code": ["10", "10.0", 10, 10.0], "a": 0.0}), "new")
    assert (same == same[0]).all()
    assert same[0, :-1].sum() == 1


def test_a_stored_index_is_left_out_and_other_counters_are_told(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": np.linspace(0, 1, 60), "y": [0] * 30 + [1] * 30})
    frame.to_csv(tmp_path / "index.csv")
    found = tables.load(tmp_path / "index.csv", "y")
    assert found.inputs == 1
    assert "counts the rows, was omitted" in found.notes[0]
    frame.insert(0, "id", range(1, 61))
    found = tables.load(saved(frame, tmp_path), "y")
    assert found.inputs == 2
    assert found.notes == ("the column 'id' counts the rows: if it carries no information, drop it",)
    frame["id"] = frame["id"] * 2
    assert tables.load(saved(frame, tmp_path), "y").notes == ()


def test_all_refused_columns_are_told_at_once(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": np.linspace(0, 1, 200), "y": [0, 1] * 100})
    frame["name"] = [f"n{number}" for number in range(200)]
    frame["empty"] = np.nan
    frame["price"] = ["many", *(f"{number}.5" for number in range(199))]
    with pytest.raises(
        ValueError,
        match=r"'name' has .* 'empty' has missing .* but for 'many' in row 1.* to drop: name, empty, price",
    ):
        tables.load(saved(frame, tmp_path), "y")


def test_columns_that_new_rows_lack_are_hinted_at(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": np.linspace(0, 1, 60), "b": 1.0, "y": [0, 1] * 30})
    found = predictor_of(saved(frame, tmp_path), frame)
    with pytest.raises(ValueError, match=r"new\.csv has no column 'age': did you mean 'Age'\?"):
        found.apply(frame.rename(columns={"age": "Age"}), "new.csv")
    with pytest.raises(ValueError, match="separated by ';'"):
        found.apply(pd.DataFrame({"age;b": [1]}), "new.csv")
