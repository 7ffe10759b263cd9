"""kafnets.jax: pure functions and Flax modules."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from flax import nnx

import kafnets
import kafnets.jax as front
from kafnets.benchmark.adapters import Jax
from tests.frontends.agreement import (
    assert_agrees,
    both_dimensions,
    both_precisions,
    case,
    every_dictionary,
    every_kernel,
    every_shape,
)


@every_kernel
@both_precisions
def test_kernels(dimensions: int, kernel: kafnets.Kernel, dtype: Any) -> None:
    assert_agrees(Jax(), case(dimensions, kernel=kernel), dtype)


@both_dimensions
@every_shape
@both_precisions
def test_shapes(dimensions: int, shape: tuple[int, ...], axis: int, dtype: Any) -> None:
    assert_agrees(Jax(), case(dimensions, shape=shape, axis=axis), dtype)


@both_dimensions
@every_dictionary
@both_precisions
def test_dictionaries(dimensions: int, options: dict[str, Any], dtype: Any) -> None:
    assert_agrees(Jax(), case(dimensions, **options), dtype)


FUNCTIONS = [(front.kaf, (4, 14), (4, 4)), (front.kaf2d, (2, 5, 5), (4, 4))]
with_functions = pytest.mark.parametrize(("function", "alpha", "x"), FUNCTIONS, ids=["kaf", "kaf2d"])


def plain(x: Any, alpha: Any) -> Any:
    """The sum as it is written, for JAX to differentiate by itself."""
    d = np.linspace(-3, 3, alpha.shape[-1])
    gamma = 1 / (6 * (d[1] - d[0]) ** 2) * (2**0.5 if alpha.ndim == 3 else 1)
    values = jnp.exp(-gamma * (x[..., None] - d) ** 2)
    if alpha.ndim == 2:
        return (values * alpha).sum(-1)
    return jnp.einsum("...pi,pij,...pj->...p", values[..., 0::2, :], alpha, values[..., 1::2, :])


@with_functions
def test_transformations(function: Callable[..., Any], alpha: tuple[int, ...], x: tuple[int, ...]) -> None:
    generator = np.random.default_rng(0)
    with jax.enable_x64(True):
        s, a, b = (jnp.asarray(generator.normal(size=shape)) for shape in (x, alpha, (4, *alpha)))
        moved = jax.tree.map(jnp.ones_like, (s, a))

        def compare(make: Callable[[Any], Any], *arguments: Any) -> None:
            ours, theirs = jax.jit(make(function))(*arguments), make(plain)(*arguments)
            jax.tree.map(lambda one, two: np.testing.assert_allclose(one, two, atol=1e-9), ours, theirs)

        compare(lambda f: lambda s, a: jax.jvp(f, (s, a), moved), s, a)
        compare(lambda f: jax.grad(lambda s, a: jnp.sin(f(s, a)).sum(), (0, 1)), s, a)
        compare(lambda f: jax.jacfwd(f, (0, 1)), s, a)
        compare(lambda f: jax.hessian(lambda s, a: jnp.sin(f(s, a)).sum()), s[:1], a)
        compare(lambda f: jax.vmap(jax.grad(lambda s, a: f(s, a).sum(), 1), (0, None)), s, a)
        compare(lambda f: jax.vmap(f, (None, 0)), s, b)  # many sets of coefficients
        compare(lambda f: jax.vmap(f, (0, 0), 1), s[:4], b)
        compare(lambda f: jax.grad(lambda b: jnp.sin(jax.vmap(f, (None, 0))(s, b)).sum()), b)


@pytest.mark.parametrize("learned", [(), (3,)])
def test_many_learned_bandwidths(learned: tuple[int, ...]) -> None:
    generator = np.random.default_rng(0)
    rows, alpha = generator.normal(size=(5, 3)), generator.normal(size=(4, 3, 10))
    gamma = np.exp(generator.normal(size=(4, *learned)))
    with jax.enable_x64(True):
        x = jnp.asarray(rows)
        found = jax.vmap(lambda a, g: front.kaf(x, a, gamma=g))(alpha, gamma)
        for one, a, g in zip(found, alpha, gamma, strict=True):
            np.testing.assert_allclose(one, front.kaf(x, a, gamma=jnp.asarray(g)), atol=1e-12)


def test_sharded_rows_and_channels() -> None:
    # Devices are counted once a process, so this needs one of its own.
    code = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
import kafnets.jax as front
assert jax.device_count() == 4
mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("rows", "channels"))
x, a = np.random.default_rng(0).normal(size=(8, 6)), np.ones((6, 20)) + np.arange(20)
loss = jax.jit(jax.value_and_grad(lambda x, a: jnp.sin(front.kaf(x, a)).sum(), (0, 1)))
expected = loss(x, a)
placed = (
    jax.device_put(x, NamedSharding(mesh, P("rows", "channels"))),
    jax.device_put(a, NamedSharding(mesh, P("channels", None))),
)
found = loss(*placed)
assert found[1][0].sharding.spec == P("rows", "channels"), found[1][0].sharding
jax.tree.map(lambda one, two: np.testing.assert_allclose(one, two, rtol=2e-4, atol=2e-4), found, expected)
one = jax.shard_map(front.kaf, mesh=mesh, in_specs=(P("rows", "channels"), P("channels", None)),
    out_specs=P("rows", "channels"), check_vma=False)(*placed)
np.testing.assert_allclose(one, front.kaf(x, a), atol=2e-4)
"""
    environment = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}

    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize(
    ("function", "alphas"),
    [
        (front.kaf, [(64, size) for size in (10, 40, 80)]),
        (front.kaf2d, [(32, size, size) for size in (9, 27)]),
    ],
    ids=["kaf", "kaf2d"],
)
def test_memory_does_not_grow_with_the_dictionary(
    function: Callable[..., Any], alphas: list[tuple[int, ...]]
) -> None:
    x = jnp.zeros((2000, 64))
    gradient = jax.jit(jax.grad(lambda x, a: jnp.square(function(x, a)).sum(), (0, 1)))
    used: list[float] = []
    for shape in alphas:
        compiled = gradient.lower(x, jnp.zeros(shape)).compile()
        analysis = compiled.memory_analysis()
        assert analysis is not None
        used.append(analysis.temp_size_in_bytes / x.nbytes)
    assert max(used) < 12  # times the input, where a table of all terms would be 80 or 729 times
    assert max(used[1:]) <= 1.5 * used[0]


def test_infinity_nan_and_half_precision() -> None:
    alpha = front.coefficients(1)
    x = jnp.array([[jnp.inf], [-jnp.inf], [1e30], [jnp.nan]])
    value, slope = jax.vjp(lambda x: front.kaf(x, alpha), x)
    np.testing.assert_array_equal(value, [[0], [0], [0], [np.nan]])
    np.testing.assert_array_equal(slope(jnp.ones_like(x))[0][:3], np.zeros((3, 1)))
    half = front.kaf(jnp.ones((2, 1), jnp.bfloat16), alpha)
    assert half.dtype == jnp.bfloat16
    np.testing.assert_allclose(half.astype(float), front.kaf(jnp.ones((2, 1)), alpha), rtol=1e-2)


@pytest.mark.parametrize("cls", [front.KAF, front.KAF2D])
@pytest.mark.parametrize("kernel", [None, kafnets.Gaussian(learn_gamma="neuron"), kafnets.Periodic()])
def test_flax_modules_and_torch(cls: Any, kernel: Any) -> None:
    module = cls(6, rngs=nnx.Rngs(0), kernel=kernel, axis=1)
    x = np.random.default_rng(0).normal(size=(4, 6, 3)).astype(np.float32)
    there = front.to_torch(module)
    np.testing.assert_allclose(module(jnp.asarray(x)), there(torch.from_numpy(x)).detach(), atol=5e-6)
    back = front.from_torch(there)
    assert type(back) is cls
    assert back.axis == 1
    np.testing.assert_allclose(back(jnp.asarray(x)), module(jnp.asarray(x)), atol=1e-6)
    gradients = nnx.grad(lambda module: module(x).sum())(module)
    assert set(gradients) == ({"alpha", "log_gamma"} if isinstance(kernel, kafnets.Gaussian) else {"alpha"})


def test_first_values() -> None:
    one, two = (front.KAF(200, rngs=nnx.Rngs(seed)).alpha[...] for seed in (0, 1))
    assert not np.array_equal(one, two)
    assert np.std(one) == pytest.approx(0.3**0.5, rel=0.05)
    x = np.linspace(-2.5, 2.5, 50)[:, None]
    followed = front.KAF(1, init="tanh")  # nothing random, so no keys
    np.testing.assert_allclose(followed(jnp.asarray(x)), np.tanh(x), atol=0.02)
    assert front.coefficients(3, dimensions=2, seed=jax.random.key(0)).shape == (3, 10, 10)
    drawn = [float(front.coefficients(1, seed=jax.random.key(number))[0, 0]) for number in range(6)]
    assert len(set(drawn)) == 6
    np.testing.assert_array_equal(front.coefficients(3, seed=4), front.coefficients(3, seed=4))


def test_first_values_under_a_trace() -> None:
    abstract = nnx.eval_shape(lambda: front.KAF(4, rngs=nnx.Rngs(0)))
    assert abstract.alpha.shape == (4, 20)
    made = nnx.jit(lambda: front.KAF2D(4, rngs=nnx.Rngs(0)))()
    np.testing.assert_allclose(made.alpha[...], front.KAF2D(4, rngs=nnx.Rngs(0)).alpha[...], atol=1e-6)
    keys = jax.random.split(jax.random.key(0), 3)
    many = jax.vmap(lambda key: front.coefficients(4, seed=key))(keys)
    assert many.shape == (3, 4, 20)


@pytest.mark.parametrize("kernel", [kafnets.Gaussian(learn_gamma=True), kafnets.Softplus()])
def test_memory_of_other_kernels(kernel: kafnets.Kernel) -> None:
    used = []
    for size in (10, 80):
        module = front.KAF(64, dictionary_size=size, kernel=kernel, rngs=nnx.Rngs(0))
        graph, state = nnx.split(module)
        x = jnp.zeros((2000, 64))

        def loss(state: Any, x: Any, graph: Any = graph) -> Any:
            return jnp.square(nnx.merge(graph, state)(x)).sum()

        analysis = jax.jit(jax.grad(loss, (0, 1))).lower(state, x).compile().memory_analysis()
        assert analysis is not None
        used.append(analysis.temp_size_in_bytes / x.nbytes)
    assert max(used) < 10
    assert used[1] <= 1.5 * used[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: front.kaf(jnp.ones((2, 3), int), jnp.ones((3, 5))), "floating-point array, got int"),
        (
            lambda: front.kaf(jnp.ones((2, 3)), jnp.ones((4, 5))),
            "has 3 channels .* alpha is for 4",
        ),
        (lambda: front.kaf(jnp.ones((2, 3)), jnp.ones(3)), r"alpha must have the shape \(N, D\)"),
        (lambda: front.kaf(jnp.ones(3), jnp.ones((3, 5)), axis=1), "axis must be one of the 1 axes"),
        (lambda: front.kaf(jnp.ones(3), jnp.ones((3, 5)), dictionary=[0.0, 1.0]), "each of the 2 elements"),
        (
            lambda: front.kaf(jnp.ones(3), jnp.ones((3, 5)), gamma=jnp.ones(2)),
            "one for each of the 3 neurons",
        ),
        (
            lambda: front.kaf(jnp.ones(3), jnp.ones((3, 5)), kernel=kafnets.Periodic(), gamma=1.0),
            "has no place",
        ),
        (
            lambda: front.kaf(jnp.ones(3), jnp.ones((3, 5)), kernel=kafnets.Gaussian(learn_gamma=True)),
            "give its present value as gamma",
        ),
        (
            lambda: front.kaf2d(jnp.ones(2), jnp.ones((1, 5, 5)), kernel=kafnets.ReLUKernel()),
            "two dimensions",
        ),
        (lambda: front.KAF(3), "rngs must be given"),
        (lambda: front.KAF(3, init=front.Normal(1.0)), "rngs must be given"),
        (lambda: front.KAF(3, rngs=0), "rngs must be nnx.Rngs"),  # type: ignore[arg-type]
        (lambda: front.KAF2D(3, rngs=nnx.Rngs(0)), "num_features must be even"),
    ],
)
def test_refusals(call: Callable[[], Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        call()
