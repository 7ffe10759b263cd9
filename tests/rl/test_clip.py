"""Moving pictures of policies."""

import json
import shutil
from pathlib import Path

import pytest
from PIL import Image, ImageSequence
from typer.testing import CliRunner

from kafnets.cli import app
from kafnets.comparison.runner import execute
from kafnets.paper import rl
from kafnets.rl import clip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clip")
    description = rl.PolicyDescription("kaf", "inverted_pendulum", "kaf", seed=0, steps=1, hidden=(4,))
    execute(description, folder)
    return folder / description.folder


def drawing_works() -> bool:
    try:
        clip._drawn("InvertedPendulum-v5", 0.99, 32).close()
    except OSError:
        return False
    return True


@pytest.mark.skipif(not drawing_works(), reason="no graphics library")
@pytest.mark.parametrize("ending", ["webp", "gif"])
def test_side_by_side(run: Path, tmp_path: Path, ending: str) -> None:
    output = tmp_path / f"clip.{ending}"
    command = ["clip", str(run), str(run), "--output", str(output), "--seconds", "0.4", "--size", "64"]
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0, shown.output
    with Image.open(output) as moving:
        assert moving.size == (128, 64 + clip.CAPTION)
        frames = list(ImageSequence.Iterator(moving))
        assert len(frames) > 1
        assert len(set(frames[-1].convert("RGB").get_flattened_data())) > 20  # something is to be seen


def test_without_a_graphics_library(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("no context")

    monkeypatch.setattr(clip, "environment", refuse)
    monkeypatch.setattr(clip, "trained_agent", _without_its_environment)
    shown = CliRunner().invoke(app, ["clip", str(run), "--output", str(tmp_path / "clip.webp")])
    assert shown.exit_code == 2
    assert "rendering failed (no context)" in shown.output
    assert "libegl1" in shown.output
    assert not list(tmp_path.iterdir())


def _without_its_environment(path: Path) -> object:
    class Model:
        gamma = 0.99

    class Agent:
        model = Model()

    return Agent(), json.loads((path / "config.json").read_text())


def test_refusals(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run")
    (tmp_path / "run/model.pt").unlink()
    for arguments, message in (
        ([str(run), "--output", str(tmp_path / "clip.mp4")], "output must end in .webp, .gif, .png"),
        ([str(tmp_path)], "is not a run folder"),
        ([str(tmp_path / "run")], "model.pt is missing"),
    ):
        shown = CliRunner().invoke(app, ["clip", *arguments])
        assert shown.exit_code == 2
        assert message in " ".join(shown.output.split())
