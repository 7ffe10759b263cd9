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


def test_files_and_folders_in_the_way_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(NotADirectoryError, match="file is a file, but a folder is needed there"):
        files.write(tmp_path / "file" / "below" / "page.html", "page")
    with pytest.raises(IsADirectoryError, match="folder is a folder, but a file is to be written there"):
        files.write(tmp_path / "folder", "page")
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    with pytest.raises(NotADirectoryError, match="broken is a broken link, but a folder is needed there"):
        files.write(tmp_path / "broken" / "page.html", "page")
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    files.write(tmp_path / "link", "page")
    assert (tmp_path / "link").read_text() == "page"


def test_the_next_run_removes_what_a_killed_save_has_left(tmp_path: Path) -> None:
    left = tmp_path / ".checkpoint.0123456789abcdef0123456789abcdef.pt"
    left.write_bytes(b"half")
    (tmp_path / ".lock").touch()
    RunFolder(tmp_path).begin({"seed": 0})
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "config.json"]
