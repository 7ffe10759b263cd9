"""A user's own tables, good and bad."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kafnets.data import tables


@pytest.fixture
def frame() -> Any:
    """Numbers, text, truth values, gaps: 200 rows."""
    generator = np.random.default_rng(0)
    size = generator.normal(size=200)
    table = pd.DataFrame(
        {
            "size": np.where(generator.random(200) < 0.1, np.nan, size),
            "colour": generator.choice(["red", "green", "blue"], 200),
            "old": generator.random(200) < 0.5,
            "label": np.where(size > 0, "big", "small"),
            "price": size * 3 + 10,
        }
    )
    table.loc[generator.random(200) < 0.05, "colour"] = None
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
    assert splits.inputs == 1 + 4 + 1  # colour: three, and gaps
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
    assert splits.notes == ("5 rows without a label were left out",)


def test_categories_come_from_the_training_part(frame: Any, tmp_path: Path) -> None:
    rows = tables.load(saved(frame, tmp_path), "label")
    frame.loc[0, "colour"] = "ultraviolet"
    known = [tables.load(saved(frame, tmp_path), "label", seed).inputs for seed in range(12)]
    assert set(known) == {rows.inputs, rows.inputs + 1}  # it is in the training part for some seeds only


def _damage(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def test_damaged_files(frame: Any, tmp_path: Path) -> None:
    for name in ("cut.csv.gz", "cut.zip", "cut.parquet"):
        path = saved(frame, tmp_path, name)
        _damage(path)
        with pytest.raises(ValueError, match=f"{name} (is cut short or damaged|cannot be read as parquet)"):
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
    with pytest.raises(ValueError, match="cannot be read as csv"):
        tables.load(tmp_path / "odd.csv", "label")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.assign(label="big"), "all rows have label = 'big': there must be two classes or more"),
        (
            lambda f: f.assign(size=np.nan),
            "the column 'size' holds nothing but gaps in the training part: drop it",
        ),
        (
            lambda f: f.assign(old=np.inf),
            "the column 'old' is infinite in row 1 and 199 more: replace or drop",
        ),
        (
            lambda f: f.assign(size=["many" if i == 7 else i for i in range(200)]),
            "the column 'size' holds numbers but for 'many' in row 8: correct it",
        ),
        (lambda f: f.assign(colour=[f"id{i}" for i in range(200)]), "'colour' has 140 different texts"),
        (lambda f: f.rename(columns={"label": "labels"}), "has no column 'label': did you mean 'labels'?"),
        (lambda f: f.head(5), "has 5 rows with a label: at least 10 are needed"),
        (lambda f: f[["label"]], "has no column to predict 'label' from"),
    ],
)
def test_mistakes_are_named(frame: Any, tmp_path: Path, change: Any, message: str) -> None:
    path = saved(change(frame), tmp_path)
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        tables.load(path, "label")
    assert message in str(caught.value)
