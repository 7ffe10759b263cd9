"""Activations in timm: by name, as classes and partials, and converted."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(importlib.util.find_spec("timm") is None, reason="timm is not installed")
def test_timm() -> None:
    """In a process of its own, since a stub of torchvision may have to be imported."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.integrations.timm_program"],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.startswith("timm ")
