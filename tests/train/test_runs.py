"""Run folders: nothing that was cut short or changed is trusted."""

import hashlib
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from kafnets.train.runs import RunFolder


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    found = RunFolder(tmp_path / "run")
    found.begin({"a": 1})
    return found


def finish(folder: RunFolder) -> None:
    shapes = {"curve": np.arange(3, dtype=np.float32)}
    folder.finish({"score": 0.5}, {"w": torch.ones(2)}, shapes)


def test_a_run_is_done_when_everything_is_written(folder: RunFolder) -> None:
    assert not folder.done
    with pytest.raises(FileNotFoundError, match="the run is not finished"):
        folder.report()
    folder.save_checkpoint({"epoch": 3})
    finish(folder)
    assert folder.done
    assert folder.report() == {"score": 0.5}
    assert torch.equal(folder.weights()["w"], torch.ones(2))
    assert folder.load_checkpoint() is None
    assert not list(folder.path.glob(".*.*"))


@pytest.mark.parametrize("name", ["report.json", "shapes.npz", "config.json", "DONE"])
def test_changed_and_cut_files_are_noticed(folder: RunFolder, name: str) -> None:
    finish(folder)
    path = folder.path / name
    content = path.read_bytes()
    for damage in (content[:-3], b"", content.replace(b"0", b"1") + b" "):
        path.write_bytes(damage)
        assert not folder.done
    path.unlink()
    assert not folder.done


def test_weights_may_be_taken_away_but_not_changed(folder: RunFolder) -> None:
    finish(folder)
    (folder.path / "model.pt").write_bytes(b"something else")
    with pytest.raises(ValueError, match=r"model\.pt is missing or was changed"):
        folder.weights()
    (folder.path / "model.pt").unlink()
    assert folder.done


def test_a_run_is_copied_under_another_name_if_its_settings_are_the_same(
    folder: RunFolder, tmp_path: Path
) -> None:
    other, there, here = RunFolder(tmp_path / "other"), {"a": 1}, {"a": 1, "name": "other"}
    assert not other.adopt(folder, here, there)  # it is not finished
    finish(folder)
    assert not other.adopt(folder, here, {"a": 2})
    assert not other.path.exists()
    assert other.adopt(folder, here, there)
    assert (other.done, other.config(), other.report()) == (True, here, {"score": 0.5})
    assert torch.equal(other.weights()["w"], torch.ones(2))
    (folder.path / "model.pt").unlink()
    third = RunFolder(tmp_path / "third")
    assert third.adopt(folder, here, there)
    assert third.done
    with pytest.raises(ValueError, match=r"model\.pt is missing or was changed"):
        third.weights()


def test_checkpoints_are_checked(folder: RunFolder) -> None:
    assert folder.load_checkpoint() is None
    folder.save_checkpoint({"epoch": 3, "weights": torch.ones(4)})
    state = folder.load_checkpoint()
    assert state is not None
    assert state["epoch"] == 3
    path = folder.path / "checkpoint.pt"
    content = path.read_bytes()
    for damage in (content[:-1], content[:10], b"", content[:50] + b"x" + content[51:]):
        path.write_bytes(damage)
        assert folder.load_checkpoint() is None


def test_a_checkpoint_that_is_none_is_named(folder: RunFolder) -> None:
    for content in (b"", b"no tensors", pickle.dumps(Path("code")), pickle.dumps({"epoch": 3})[:-2]):
        (folder.path / "checkpoint.pt").write_bytes(hashlib.sha256(content).digest() + content)
        with pytest.raises(ValueError, match=r"checkpoint\.pt holds no tensors saved by kafnets"):
            folder.load_checkpoint()


def test_folders_in_place_of_files(folder: RunFolder) -> None:
    (folder.path / "config.json").unlink()
    for name in ("config.json", "checkpoint.pt", "DONE"):
        (folder.path / name).mkdir()
    assert folder.load_checkpoint() is None
    assert not folder.done
    with pytest.raises(
        IsADirectoryError, match=r"config\.json is a folder, but a file is to be written there"
    ):
        folder.begin({"a": 1})


def test_a_marker_without_hashes_is_no_reason_to_trust_weights(folder: RunFolder) -> None:
    finish(folder)
    for marker in ("{}", '{"sha256": 3}', '{"sha256": {}}'):
        (folder.path / "DONE").write_text(marker)
        with pytest.raises(ValueError, match=r"model\.pt is missing or was changed"):
            folder.weights()


def test_another_config_is_refused(folder: RunFolder) -> None:
    folder.begin({"a": 1})
    told = r"holds a run with different settings \(a: 1 stored, 2 requested; b: nothing stored, 3 requested\)"
    with pytest.raises(ValueError, match=told):
        folder.begin({"a": 2, "b": 3})


def test_only_what_has_changed_is_named(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.begin({"hidden": (100, 100), "seed": 0})
    folder.begin({"hidden": (100, 100), "seed": 0})
    with pytest.raises(ValueError, match=r"\(seed: 0 stored, 1 requested\)"):
        folder.begin({"hidden": (100, 100), "seed": 1})


def test_what_was_changed_after_the_end_is_damaged(folder: RunFolder) -> None:
    assert not folder.damaged
    finish(folder)
    assert not folder.damaged
    (folder.path / "report.json").write_text("{")
    assert folder.damaged


def test_one_process_at_a_time(folder: RunFolder) -> None:
    with folder.locked() as first, RunFolder(folder.path).locked() as second:
        assert first
        assert not second
    with folder.locked() as again:
        assert again
