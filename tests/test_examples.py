"""The examples run."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


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
