"""The examples run, and so does the code in the documents."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDES = [
    ROOT / "docs" / f"{name}.md"
    for name in (
        "compare",
        "depth",
        "edgewise",
        "reproduce",
        "reinforcement-learning",
        "training",
        "estimators",
        "looking",
        "frameworks",
    )
]
PAGES = [*sorted((ROOT / "docs/zoo").glob("*.md")), *GUIDES]


def run(*arguments: str, folder: Path | None = None) -> str:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, *arguments]
    output = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=folder)
    assert output.returncode == 0, output.stderr
    return output.stdout


def test_own_activation() -> None:
    printed = run(str(ROOT / "examples/own_activation.py"))
    assert re.findall(r"^\w+", printed, re.MULTILINE) == ["relu", "kaf", "sine", "snake"]


def test_deep_residual() -> None:
    printed = run(str(ROOT / "examples/deep_residual.py"))
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", printed)]
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_code_in_the_pages(page: Path, tmp_path: Path) -> None:
    """One after the other, as a reader would, in a folder of their own."""
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    run("-c", "\n".join(blocks), folder=tmp_path)
