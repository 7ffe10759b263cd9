"""Keras on TensorFlow, in an environment that has Triton too. `make test` runs these there."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("tensorflow", reason="`make test` runs these in an environment that has TensorFlow")
"""Nothing here imports it: pytest has done so, and every test has a process of its own."""

STARTS = {
    "kafnets.keras first": "import kafnets.keras, tensorflow",
    "kafnets first": "import kafnets; import kafnets.keras, tensorflow",
    "tensorflow first": "import tensorflow, kafnets, kafnets.keras",
    "tensorflow first, torch later": "import tensorflow, kafnets",
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
        [
            sys.executable,
            "-W",
            "ignore",
            "-c",
            "import kafnets\\n" + code if "kafnets" not in start else code,
        ],
        env=os.environ | {"KERAS_BACKEND": "tensorflow"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "alive" in done.stdout, done.stderr[-3000:]


def test_says_that_triton_is_kept_out() -> None:
    pytest.importorskip("triton")
    code = "import tensorflow, kafnets; print(kafnets.ops.backends.triton_obstacle())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "TensorFlow was imported first" in done.stdout, done.stderr[-3000:]
    assert "before tensorflow to have both" in done.stderr
