"""Front ends stand on NumPy and their own framework: torch is not imported, nor anything that needs it."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import kafnets

PACKAGE = Path(kafnets.__file__).parent

PROGRAMS = {
    "jax": """
import jax, jax.numpy as jnp
from flax import nnx
import kafnets, kafnets.jax as front
x, alpha = jnp.ones((3, 4)), front.coefficients(4, key=jax.random.key(0))
jax.grad(lambda alpha: front.kaf(x, alpha).sum())(alpha)
front.KAF2D(4, rngs=nnx.Rngs(0), kernel=kafnets.Periodic())(x)
front.KAF(init="elu")(x)
""",
    "autograd": """
import autograd, numpy as np
import kafnets.autograd as front
autograd.grad(lambda alpha: front.kaf(np.ones((3, 4)), alpha).sum())(front.coefficients(4))
""",
    "keras": """
import numpy as np
import kafnets, kafnets.keras as front
import keras
net = keras.Sequential([keras.layers.Dense(4), front.KAF(init="elu"), front.KAF2D(groups=1)])
net.compile("sgd", "mse")
net.fit(np.ones((8, 3), np.float32), np.ones((8, 2), np.float32), verbose=0)
""",
}


def torch_is_imported_by(program: str, **environment: str) -> bool:
    code = f"{program}\nimport sys; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.split()[-1] == "True"


@pytest.mark.parametrize("name", PROGRAMS)
def test_torch_is_not_imported(name: str) -> None:
    assert not torch_is_imported_by(PROGRAMS[name], KERAS_BACKEND="jax")


def test_front_ends_import_nothing_of_torch() -> None:
    files = [PACKAGE / "autograd.py"]
    for folder in ("arrays", "frontends", "jax", "keras"):
        files += (PACKAGE / folder).rglob("*.py")
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = (
                [each.name for each in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            )
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{each}" for each in names]
            for name in names:
                refused = ("kafnets.nn", "kafnets.ops", "kafnets.zoo", "kafnets.registry")
                assert not name.startswith(refused), f"{file}: {name}"
