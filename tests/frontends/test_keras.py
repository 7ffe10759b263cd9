"""kafnets.keras on JAX and torch: a backend is chosen once a process, so each has one of its own.

On TensorFlow, which has an environment of its own, the same checks run from tests/tensorflow.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECKS = Path(__file__).with_name("keras_checks.py")


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_on(backend: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", str(CHECKS)]
    environment = os.environ | {"KERAS_BACKEND": backend}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]


@pytest.mark.parametrize(("backend", "message"), [("tensorflow", "Keras runs on tensorflow here")])
def test_without_its_backend(backend: str, message: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import kafnets.keras"],
        env=os.environ | {"KERAS_BACKEND": backend},
        capture_output=True,
        text=True,
        check=False,
    )
    assert message in done.stderr
    assert "KERAS_BACKEND=torch" in done.stderr
