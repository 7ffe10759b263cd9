"""Tables as they come: commas, dates, codes, identifiers, long rows, files that are something else."""

import gzip
import zipfile
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import polars as pl
import pytest

from kafnets.data import tables
from kafnets.data.encoding import Column, Encoding
from kafnets.data.reading import frame_of, read_frame

TEXTS = ["1,234", "20,376", "950"] * 20


def table_of(**columns: Any) -> tables.Table:
    """With a target of its own."""
    frame = pd.DataFrame(columns)
    return tables.read(frame.assign(y=np.arange(len(frame)) % 2), "y")


def csv_of(folder: Path, **columns: Any) -> Path:
    frame = pd.DataFrame(columns)
    path = folder / "table.csv"
    frame.assign(y=np.arange(len(frame)) % 2).to_csv(path, index=False)
    return path


def applied(table: tables.Table, **columns: Any) -> Any:
    return Encoding(table.columns).apply(pd.DataFrame(columns), "new")


def test_thousands_are_no_decimals(tmp_path: Path) -> None:
    table = tables.read(csv_of(tmp_path, price=TEXTS), "y")
    np.testing.assert_array_equal(table.values[0][:3, 0], [1234, 20376, 950])
    assert table.notes == ("commas in the column 'price' were read as thousands separators, as in 1,234",)
    # New rows are read in the same way, also where a reader finds numbers.
    np.testing.assert_array_equal(
        applied(table, price=["1,000,000.5", None, "7"])[:, 0], [1e6 + 0.5, np.nan, 7]
    )
    np.testing.assert_array_equal(applied(table, price=[7, 8])[:, 0], [7, 8])
    with pytest.raises(ValueError, match=r"new: the column 'price' should hold numbers: .*cheap"):
        applied(table, price=["1,000", "cheap"])


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["1,5", "20,376", "7"], [1.5, 20.376, 7]),
        (["0,376", "1,234", "0,5"], [0.376, 1.234, 0.5]),
        (["1.234,5", "-12,25", "3"], [1234.5, -12.25, 3]),
    ],
)
def test_decimal_commas(texts: list[str], numbers: list[float]) -> None:
    table = table_of(size=texts * 20)
    np.testing.assert_array_equal(table.values[0][:3, 0], numbers)
    assert "read as decimal commas" in table.notes[0]


def test_new_rows_with_other_commas_are_refused() -> None:
    for old, new in ((["0,5", "1.234,5", "2"], "0.5"), (["20,376", "1,000", "12"], "1,2")):
        table = table_of(a=old * 10)
        assert applied(table, a=["7", None]).shape == (2, 1)
        with pytest.raises(
            ValueError, match=f"'a' should hold numbers: '{new}' in row 2 does not have the form"
        ):
            applied(table, a=["7", new])


def test_names_of_several_levels_are_refused() -> None:
    names = pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])
    with pytest.raises(ValueError, match="columns must have one name each, got 2 levels: join them"):
        tables.read(pd.DataFrame(np.zeros((20, 2)), columns=names), np.arange(20) % 2)


def test_commas_that_may_be_either_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"'size' holds 1500 and 20,376: the comma may separate thousands or"
    ):
        table_of(size=["1500", "20,376", "7"] * 20)


def test_commas_in_the_target() -> None:
    frame = pd.DataFrame({"a": np.arange(60.0), "y": [f"{1000 + number:,}" for number in range(60)]})
    table = tables.read(frame, "y")
    np.testing.assert_array_equal(table.target, 1000.0 + np.arange(60))
    assert "thousands" in table.notes[-1]


@pytest.mark.parametrize("start", [0, 1, 1001])
def test_identifiers_from_any_number(start: int) -> None:
    numbers = start + np.arange(60)
    for order in (numbers, np.random.default_rng(0).permutation(numbers)):
        table = table_of(id=order, a=np.linspace(0, 1, 60))
        assert table.notes == ("the column 'id' counts the rows: if it carries no information, drop it",)
    assert table_of(a=numbers * 2).notes == ()


@pytest.mark.parametrize(
    ("form", "told"), [("%Y-%m-%d", ""), ("%d.%m.%Y", " (%d.%m.%Y)"), ("%m/%d/%Y", " (%m/%d/%Y)"), (None, "")]
)
def test_dates_become_numbers(form: str | None, told: str) -> None:
    days = pd.Series(pd.date_range("2019-11-20", periods=200, freq="D"))
    given = days.dt.strftime(form) if form else days
    table = table_of(seen=given.where(np.arange(200) != 5))
    assert table.notes == (f"the dates{told} in the column 'seen' became numbers: year, month, day, weekday",)
    wanted = np.stack([days.dt.year, days.dt.month, days.dt.day, days.dt.day_of_week], axis=1).astype(float)
    wanted[5] = np.nan
    np.testing.assert_array_equal(table.values[0], wanted)
    encoding = table.divide().encoding
    assert encoding is not None
    assert encoding.features == ("seen: year", "seen: month", "seen: day", "seen: weekday")
    with pytest.raises(ValueError, match="new: the column 'seen' holds dates but for 'soon' in row 2"):
        applied(table, seen=[given[0], "soon"])


def test_times_of_day() -> None:
    moments = pd.Series(pd.date_range("2024-03-04 06:30", periods=60, freq="90min"))
    table = table_of(at=moments.dt.strftime("%Y-%m-%dT%H:%M:%S"))
    assert table.columns[0].parts == ("day", "weekday", "hour")  # year and month do not vary
    np.testing.assert_allclose(table.values[0][:3, 2], [6.5, 8, 9.5])
    # The same moments, with a time zone.
    aware = table_of(at=moments.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"))
    np.testing.assert_array_equal(aware.values[0], table.values[0])


def test_days_and_months_are_told_apart_by_all_rows() -> None:
    assert table_of(at=["03/04/2024", "25/04/2024"] * 20).columns[0].form == "%d/%m/%Y"
    assert table_of(at=["03/04/2024", "04/25/2024"] * 20).columns[0].form == "%m/%d/%Y"
    with pytest.raises(ValueError, match=r"'at' holds dates but for '2024-02-31' in row 20"):
        table_of(at=["2024-01-05"] * 19 + ["2024-02-31"])
    assert table_of(at=["1.2.3", "1.2.4"] * 20).columns[0].categories == ("1.2.3", "1.2.4")


def test_codes_with_leading_zeros_stay_text(tmp_path: Path) -> None:
    path = csv_of(
        tmp_path, zip=["01234", "98765", "10115"] * 20, month=["01", "12", ""] * 20, a=["0.5", "0", "00"] * 20
    )
    table = tables.read(path, "y")
    assert table.columns[0].categories == ("01234", "10115", "98765")
    assert table.columns[1].categories == ("01", "12", "")
    assert table.columns[2].categories is None
    assert table.notes[0] == "the column 'zip' was read as text because of leading zeros, as in 01234"
    new = read_frame(path).drop(columns="y").head(1)
    assert Encoding(table.columns).apply(new, "new")[0].tolist() == [1, 0, 0, 1, 0, 0, 0.5]
    with gzip.open(tmp_path / "packed.csv.gz", "wb") as stream:
        stream.write(path.read_bytes())
    assert tables.read(tmp_path / "packed.csv.gz", "y").columns == table.columns
    with pytest.raises(
        ValueError, match=r"'zip' has 200 different texts, .*leading zeros, as in 01000\): drop it"
    ):
        table_of(zip=[f"{number:05}" for number in range(1000, 1200)])


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz", "table.zip"])
def test_rows_longer_than_the_header_are_an_error(tmp_path: Path, name: str) -> None:
    text = "a,b,y\n" + "1,2,3,0\n" * 20
    if name.endswith(".zip"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("table.csv", text)
    else:
        (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    with pytest.raises(ValueError, match=rf"{name}, line 2: 4 fields, but the header has 3: quote fields"):
        tables.read(tmp_path / name, "y")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_row_numbers_without_a_name_are_an_error(tmp_path: Path, end: str) -> None:
    """Pandas makes an index of them that looks like its own."""
    path = tmp_path / "table.csv"
    for first, step in ((0, 1), (1, 1), (100, -2)):
        rows = [f"{first + step * number},{number},{number % 2}" for number in range(40)]
        path.write_bytes(end.join(["a,y", *rows]).encode())
        with pytest.raises(ValueError, match=r"table\.csv, line 2: 3 fields, but the header has 2"):
            tables.read(path, "y")


def test_one_longer_row_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,y\n1,0\n2,1\n3,0,4\n" + "1,0\n" * 20)
    with pytest.raises(
        ValueError, match=r"table\.csv cannot be read as csv: Expected 2 fields in line 4, saw 3"
    ):
        tables.read(path, "y")
    path.write_text("a,y\n1,0,5\n2,1\n" + "1,0\n" * 20)
    with pytest.raises(ValueError, match=r"table\.csv, line 2: 3 fields, but the header has 2"):
        tables.read(path, "y")
    path.write_text("a,y\n" + "1,0,5\n" * 20 + "x" * 200_000 + ",0,5\n")
    with pytest.raises(ValueError, match=r"table\.csv, line 2: 3 fields, but the header has 2"):
        tables.read(path, "y")
    path.write_text("x" * 200_000 + ",y\n" + "1,0,5\n" * 20)
    with pytest.raises(ValueError, match=r"table\.csv cannot be read as csv: field larger than field limit"):
        tables.read(path, "y")


@pytest.mark.parametrize("huge", [1e300, -1.7e308])
def test_numbers_too_large_to_compute_with(huge: float) -> None:
    values = np.arange(60.0)
    values[3] = huge
    message = (
        r"table: the column '{}' is beyond ±1e\+150, too large to compute with, in row 4: leave it empty"
    )
    with pytest.raises(ValueError, match=message.format("a")):
        table_of(a=values)
    with pytest.raises(ValueError, match=message.format("y")):
        tables.read(pd.DataFrame({"a": np.arange(60.0), "y": values}), "y")


def test_lists_in_columns(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [None, *([[1, 2]] * 59)], "y": [0, 1] * 30})
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(
        ValueError, match=r"t\.parquet: the column 'a' holds lists, the first in row 2: use one column"
    ):
        tables.read(tmp_path / "t.parquet", "y")
    assert tables.read(pl.DataFrame({"b": range(60), "y": [0, 1] * 30}), "y").columns[0].name == "b"
    with pytest.raises(ValueError, match="the column 'a' holds complex numbers: split it into two columns"):
        table_of(a=np.arange(60) + 1j)
    with pytest.raises(ValueError, match="'a' holds lists"):
        tables.read(pl.DataFrame({"a": [[1, 2]] * 60, "y": [0, 1] * 30}), "y")


def test_compressed_files_cut_anywhere(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    whole = gzip.compress(csv_of(tmp_path, a=generator.normal(size=20_000)).read_bytes())
    path = tmp_path / "cut.csv.gz"
    for length in (5, 15, 1000, len(whole) // 2, len(whole) - 9, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"cut\.csv\.gz is (truncated or damaged|empty)"):
            tables.read(path, "y")


def test_files_that_are_something_else(tmp_path: Path) -> None:
    content = csv_of(tmp_path, a=np.arange(60.0)).read_bytes()
    for name, bytes_, message in (
        (
            "packed.csv",
            gzip.compress(content),
            r"packed\.csv is a gzip file: rename it .* ends with \.csv\.gz",
        ),
        ("plain.csv.gz", content, r"plain\.csv\.gz is no compressed file: rename it .* ends with \.csv$"),
        ("book.csv", b"PK\x03\x04 and more", r"book\.csv is a zip archive or an Excel workbook: rename it"),
        (
            "table.parquet.gz",
            gzip.compress(content),
            r"must be a \.csv, \.csv\.gz, \.zip, \.parquet or \.xlsx file",
        ),
        ("book.xlsx", content, r"book\.xlsx (is truncated or damaged|cannot be read as xlsx)"),
    ):
        (tmp_path / name).write_bytes(bytes_)
        with pytest.raises(ValueError, match=message):
            tables.read(tmp_path / name, "y")


def test_excel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openpyxl")
    frame = pd.DataFrame({"a": np.linspace(0, 1, 60), "color": ["red", "blue"] * 30, "y": [0, 1] * 30})
    frame.to_excel(tmp_path / "book.xlsx", index=False)
    frame.to_csv(tmp_path / "table.csv", index=False)
    book, table = (tables.read(tmp_path / name, "y").divide() for name in ("book.xlsx", "table.csv"))
    np.testing.assert_array_equal(book.train.features, table.train.features)

    def missing(*_: Any) -> None:
        raise ImportError("Missing optional dependency 'openpyxl'")

    monkeypatch.setattr(pd, "read_excel", missing)
    with pytest.raises(
        ValueError, match=r"book\.xlsx cannot be read without openpyxl: pip install openpyxl, or"
    ):
        tables.read(tmp_path / "book.xlsx", "y")


@pytest.mark.parametrize(
    ("target", "values"),
    [
        ([3, 2, 5], (2, 3, 5)),
        ([True, False, True], (False, True)),
        (["3", "2", "10"], ("2", "3", "10")),
        (["2,000", "10,000", "2,000"], ("2,000", "10,000")),
        (["yes", "no", "yes"], ("no", "yes")),
        ([1.0, 0.0, 1.0], (0.0, 1.0)),
        ([0.5, 1.5, 0.5], (0.5, 1.5)),
        ([3, 2, None], (2, 3)),
        ([True, False, None], (False, True)),
        (pd.array([3, 2, None], dtype="Int64"), (2, 3)),
        (pd.Categorical([3, 2, None]), (2, 3)),
        (pd.Categorical([True, False, True]), (False, True)),
        (pd.Categorical(["yes", "no", "yes"]), ("no", "yes")),
    ],
)
def test_classes_stay_what_they_were(target: Any, values: tuple[Any, ...]) -> None:
    given = pd.concat([pd.Series(target)] * 40, ignore_index=True)
    table = tables.read(pd.DataFrame({"a": np.arange(120.0), "y": given}), "y", task="classification")
    splits = table.divide()
    assert splits.class_values == values
    assert [type(each) for each in splits.class_values] == [type(each) for each in values]
    assert splits.classes == tuple(f"{each:g}" if isinstance(each, float) else str(each) for each in values)


def test_a_target_that_is_a_column_too_is_not_learned_from() -> None:
    frame = pd.DataFrame({"a": np.linspace(0, 1, 60), "y": np.arange(60) % 2})
    for target, name in ((frame["y"], "y"), (frame["y"].to_numpy(), "target")):
        given = frame.rename(columns={"y": name})
        with pytest.raises(ValueError, match=f"target is called '{name}', as a column is: give target="):
            tables.read(given, target)
        assert [each.name for each in tables.read(given, target, drop=[name]).columns] == ["a"]
    numbered = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)))
    assert [each.name for each in tables.read(numbered, "2", drop=cast(Any, [0])).columns] == ["1"]
    with pytest.raises(ValueError, match="has no column '7': it has 0, 1, 2"):
        tables.read(numbered, "2", drop=cast(Any, [7]))


def test_classes_of_a_csv_stay_what_they_were(tmp_path: Path) -> None:
    for texts, values in (
        (["1", "0"], (0, 1)),
        (["true", "false"], (False, True)),
        (["01", "02"], ("01", "02")),
    ):
        path = tmp_path / "t.csv"
        path.write_text("a,y\n" + "".join(f"{number},{texts[number % 2]}\n" for number in range(60)))
        assert tables.load(path, "y").class_values == values


def test_sources_of_all_kinds_give_the_same(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    array, labels = generator.normal(size=(80, 3)), np.arange(80) % 3
    frame = pd.DataFrame(array, columns=["x0", "x1", "x2"])
    path = tmp_path / "table.parquet"
    frame.assign(target=labels).to_parquet(path)
    wanted = tables.read(path, "target").divide(3, "robust")
    for source, target in (
        (frame.assign(target=labels), "target"),
        (frame, labels),
        (frame, pd.Series(labels, name="target")),
        (pl.DataFrame(frame.assign(target=labels).to_dict("list")), "target"),
        (dict(frame.assign(target=labels)), "target"),
        (array, labels),
        (array, labels.tolist()),
    ):
        given = tables.read(source, target).divide(3, "robust")
        np.testing.assert_array_equal(given.test.features, wanted.test.features)
        np.testing.assert_array_equal(given.test.target, wanted.test.target)
        assert given.digest == wanted.digest
    with pytest.raises(
        ValueError, match=r"target must be .* one value per row, 80 of them, got the shape \(79,\)"
    ):
        tables.read(array, labels[:79])
    with pytest.raises(TypeError, match=r"must be a path, a DataFrame, .* got ndarray of shape \(3,\)"):
        frame_of(np.zeros(3))
    with pytest.raises(ValueError, match="two columns called 'a'"):
        frame_of(pd.DataFrame(np.zeros((3, 2)), columns=["a", "a"]))


def test_dictionaries_of_one_row() -> None:
    assert frame_of({"a": 1, "b": "x"}).to_dict("list") == {"a": [1], "b": ["x"]}
    assert frame_of({"a": [1, 2], "b": [3, 4]}).to_dict("list") == {"a": [1, 2], "b": [3, 4]}


def test_one_reading_serves_all_seeds(tmp_path: Path) -> None:
    path = csv_of(tmp_path, a=np.linspace(0, 1, 60), color=["red", "green", None] * 20)
    table = tables.read(path, "y")
    for seed in range(3):
        once, anew = table.divide(seed, "robust"), tables.load(path, "y", seed, scaling="robust")
        np.testing.assert_array_equal(once.train.features, anew.train.features)
        assert once.encoding == anew.encoding


def test_categorical_columns_are_categories() -> None:
    table = table_of(grade=pd.Categorical([1, 2, 3] * 20), a=np.arange(60.0) / 7)
    assert table.columns[0].categories == ("1", "2", "3")


def test_descriptions_of_encodings() -> None:
    encoding = Encoding((Column("a"), Column("b", ("x", "")), Column("d", form="ISO8601", parts=("year",))))
    assert Encoding.described(encoding.describe()) == encoding
    assert encoding.features == ("a", "b = x", "b = missing", "d: year")
    # As it was before there were forms.
    assert Encoding.described({"columns": [{"name": "a", "categories": ["x"]}]}).columns == (
        Column("a", ("x",)),
    )
