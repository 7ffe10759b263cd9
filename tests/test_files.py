"""Files that are written whole or not at all."""

from pathlib import Path

import pytest

from kafnets import files
from kafnets.train.runs import RunFolder


def test_what_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "ranking.json"
    files.write(path, "first")

    def fail() -> None:
        with files.written_at_once(path) as temporary:
            temporary.write_bytes(b"half of the sec")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "first"
    assert list(tmp_path.iterdir()) == [path]


def test_links_are_not_followed(tmp_path: Path) -> None:
    victim, link = tmp_path / "precious", tmp_path / "report.html"
    victim.write_text("mine")
    link.symlink_to(victim)
    files.write(link, "page")
    assert (victim.read_text(), link.read_text(), link.is_symlink()) == ("mine", "page", False)


def test_the_next_run_removes_what_a_killed_save_has_left(tmp_path: Path) -> None:
    left = tmp_path / ".checkpoint.0123456789abcdef0123456789abcdef.pt"
    left.write_bytes(b"half")
    (tmp_path / ".lock").touch()
    RunFolder(tmp_path).begin({"seed": 0})
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "config.json"]
