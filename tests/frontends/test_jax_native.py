"""The native kernels as JAX primitives: against the formulas, which agree with the oracle."""

import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kafnets.expansion import Expansion
from kafnets.jax import kaf, native

pytestmark = pytest.mark.skipif(not native.available(), reason="no native kernels for this version of XLA")


@pytest.mark.parametrize("options", [{}, {"tails": "linear"}, {"tails": "constant"}, {"base": "silu"}])
def test_transformations_agree_with_the_formulas(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    expansion = Expansion.of(1, dictionary_size=4, boundary=1.0, **options)
    with jax.enable_x64(True):
        generator = np.random.default_rng(0)
        x, alpha = jnp.asarray(generator.normal(size=(3, 4))), jnp.asarray(generator.normal(size=(4, 4)))
        several = jnp.stack([alpha, 2 * alpha], 2)

        def loss(x: Any, alpha: Any) -> Any:
            return jnp.sin(kaf(x, alpha, expansion)).sum()

        def transformed() -> Any:
            both = (0, 1)
            return [
                jax.jit(loss)(x, alpha),
                jax.jit(jax.grad(loss, both))(x, alpha),
                jax.grad(loss)(x, alpha),
                jax.grad(loss, 1)(x, alpha),
                jax.jvp(loss, (x, alpha), (x, alpha)),
                jax.jit(jax.hessian(loss, both))(x, alpha),
                jax.vmap(jax.grad(loss, both), (0, None))(x, alpha),
                jax.vmap(jax.grad(loss, both), (None, 2), (0, 2))(x, several),
                jax.grad(lambda x: jax.vmap(loss, (None, 2))(x, several).sum())(x),
                jax.jit(jax.jacfwd(jax.jacfwd(loss)))(x, alpha),
                jax.grad(loss, 1)(x[:0], alpha),
            ]

        found = transformed()
        assert "kafnets_gradients" in str(jax.make_jaxpr(jax.grad(loss, (0, 1)))(x, alpha))
        monkeypatch.setattr(native, "takes", lambda *_: False)
        jax.clear_caches()
        expected = transformed()
        jax.clear_caches()
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("tails", ["zero", "linear", "constant"])
def test_formulas_of_other_devices(tails: Any) -> None:
    expansion = Expansion.of(1, dictionary_size=6, boundary=1.0, tails=tails)
    with jax.enable_x64(True):
        generator = np.random.default_rng(0)
        x, alpha = jnp.asarray(generator.normal(size=(9, 4))), jnp.asarray(generator.normal(size=(4, 6)))
        for order in range(4):
            plain, plain_sums = (
                native._plain(expansion, order, x, alpha),
                native._plain_sums(expansion, order, x, x),
            )
            np.testing.assert_allclose(
                native.value(expansion, order, x, alpha), plain, rtol=1e-11, atol=1e-12
            )
            np.testing.assert_allclose(
                native.sums(expansion, order, x, x), plain_sums, rtol=1e-11, atol=1e-12
            )


def test_torch_is_not_imported() -> None:
    code = (
        "import sys, jax.numpy as jnp; from kafnets.jax import kaf, native; "
        "kaf(jnp.ones((2, 3)), jnp.ones((3, 20))); assert native.available(); "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
