"""Keras on TensorFlow, in an environment that has Triton too. `make test` runs these there."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.frontends.test_imports import PROGRAMS, torch_is_imported_by

# Not imported here: every test has a process of its own.
pytestmark = pytest.mark.skipif(
    find_spec("tensorflow") is None, reason="`make test` runs these in an environment that has TensorFlow"
)

STARTS = {
    "kafnets.keras first": "import kafnets.keras, tensorflow",
    "kafnets first": "import kafnets, kafnets.keras, tensorflow",
    "tensorflow first": "import tensorflow, kafnets, kafnets.keras",
    "without Keras": "import tensorflow, kafnets",
}


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
def test_with_triton_in_one_process(start: str) -> None:
    pytest.importorskip("triton")
    code = f"""
{start}
import torch
net = kafnets.mlp(4, (8,), 1)
adam = torch.optim.Adam(net.parameters())  # asks for Triton
net(torch.ones(2, 4)).sum().backward()
adam.step()
print("alive", kafnets.backend())
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=os.environ | {"KERAS_BACKEND": "tensorflow"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "alive" in done.stdout, done.stderr[-3000:]


def test_keras_layers() -> None:
    checks = Path(__file__).parents[1] / "frontends/keras_checks.py"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", str(checks)],
        env=os.environ | {"KERAS_BACKEND": "tensorflow"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]


def test_torch_is_not_imported() -> None:
    assert not torch_is_imported_by(PROGRAMS["keras"], KERAS_BACKEND="tensorflow")


def test_says_that_triton_is_kept_out() -> None:
    pytest.importorskip("triton")
    code = "import tensorflow, kafnets; from kafnets.ops import backends; print(backends.triton_obstacle())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "TensorFlow was imported first" in done.stdout, done.stderr[-3000:]
    assert "To use both, import kafnets.keras" in done.stderr
