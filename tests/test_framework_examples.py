"""The examples of all frameworks learn, and about equally well."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from examples import (
    autograd_regression,
    equinox_kaf,
    sensorless_autograd,
    sensorless_jax,
    sensorless_torch,
)

ROOT = Path(__file__).parents[1]
EPOCHS = 8
ACCURACY = 0.6  # one class in eleven would be 0.09; after so few epochs they are at about 0.7


@pytest.mark.parametrize(
    "train",
    [sensorless_torch.main, sensorless_jax.main, sensorless_autograd.main],
    ids=["torch", "jax", "autograd"],
)
def test_sensorless(train: Callable[[int], float]) -> None:
    assert train(EPOCHS) > ACCURACY


@pytest.mark.parametrize("backend", ["torch"])
def test_sensorless_in_keras(backend: str) -> None:
    """In a process of its own, since Keras chooses its backend once."""
    program = f"from examples.sensorless_keras import main; assert main({EPOCHS}) > {ACCURACY}"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"KERAS_BACKEND": backend, "OMP_NUM_THREADS": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert f"keras on {backend}" in done.stdout


@pytest.mark.parametrize("train", [equinox_kaf.main, autograd_regression.main], ids=["equinox", "autograd"])
def test_regression(train: Callable[[int], float]) -> None:
    """The wave itself deviates from its mean by 0.66."""
    assert train(200) < 0.1
