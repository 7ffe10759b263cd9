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
    LEARNED,
    Laplacian,
    assert_agrees,
    assert_own_kernel_agrees,
    both_dimensions,
    both_precisions,
    case,
    every_dictionary,
    every_kernel,
    every_shape,
    every_sharing,
)

wherever_axes_matter = pytest.mark.parametrize(
    ("dimensions", "dtype"), [(1, np.float64), (1, np.float32), (2, np.float64)]
)
"""2D-KAFs are formulas that XLA takes seconds to compile. What precision does to them depends on kernel and
dictionary, and is tested with those."""


@every_kernel
@both_precisions
def test_kernels(dimensions: int, kernel: kafnets.Kernel, dtype: Any) -> None:
    assert_agrees(Jax(), case(dimensions, kernel=kernel), dtype)


@wherever_axes_matter
@every_shape
def test_shapes(dimensions: int, shape: tuple[int, ...], dim: int, dtype: Any) -> None:
    assert_agrees(Jax(), case(dimensions, shape=shape, dim=dim), dtype)


@both_dimensions
@every_dictionary
@both_precisions
def test_dictionaries(dimensions: int, options: dict[str, Any], dtype: Any) -> None:
    assert_agrees(Jax(), case(dimensions, **options), dtype)


@wherever_axes_matter
@every_sharing
def test_functions_shared_by_channels(dimensions: int, options: dict[str, Any], dtype: Any) -> None:
    assert_agrees(Jax(), case(dimensions, shape=(5, 12, 3), dim=1, **options), dtype)


@both_dimensions
@both_precisions
def test_kernel_of_ones_own(dimensions: int, dtype: Any) -> None:
    assert_own_kernel_agrees(Jax(), dimensions, dtype)


FUNCTIONS = [(front.kaf, (4, 14), (4, 4)), (front.kaf2d, (2, 3, 3), (4, 4))]
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
        expansion = kafnets.Expansion.of(dictionary_size=10, kernel=LEARNED)
        found = jax.vmap(lambda a, g: front.kaf(x, a, expansion, gamma=g))(alpha, gamma)
        for one, a, g in zip(found, alpha, gamma, strict=True):
            expected = front.kaf(x, a, expansion, gamma=jnp.asarray(g))
            np.testing.assert_allclose(one, expected, atol=1e-12)


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
    run_on_devices(4, code)


@pytest.mark.parametrize("kernel", ["Gaussian()", "Periodic()", "Gaussian(learn_gamma=True)"])
def test_gradients_by_parameters_that_all_devices_share(kernel: str) -> None:
    """Rows are spread over devices; gradients of coefficients are sums over all of them."""
    code = f"""
import jax, jax.numpy as jnp, numpy as np, kafnets, kafnets.jax as front
from jax.sharding import Mesh, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()), ("rows",))
for dimensions, function in ((1, front.kaf), (2, front.kaf2d)):
    expansion = kafnets.Expansion.of(dimensions, dictionary_size=5, kernel=kafnets.{kernel})
    generator = np.random.default_rng(0)
    x = generator.normal(size=(8, 6)).astype(np.float32)
    alpha = generator.normal(size=(6 // dimensions, *expansion.shape)).astype(np.float32)
    arrays = (x, alpha, jnp.float32(1.5)) if expansion.learn_gamma else (x, alpha)
    numbers, shared = tuple(range(len(arrays))), (P(),) * (len(arrays) - 1)
    def loss(x, alpha, gamma=None):
        return jnp.sin(function(x, alpha, expansion, gamma=gamma)).sum()
    gradient = jax.grad(loss, numbers)
    specs = (P("rows"), *shared)
    spread = jax.shard_map(gradient, mesh=mesh, in_specs=specs, out_specs=specs)
    for run in (spread, jax.jit(spread)):
        for one, two in zip(run(*arrays), gradient(*arrays)):
            np.testing.assert_allclose(one, two, rtol=2e-4, atol=2e-4)
"""
    run_on_devices(2, code)


def run_on_devices(count: int, code: str) -> None:
    environment = {
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={count}",
        "JAX_PLATFORMS": "cpu",
    }
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


@with_functions
def test_little_is_kept_between_the_passes(
    function: Callable[..., Any], alpha: tuple[int, ...], x: tuple[int, ...]
) -> None:
    s, a = jnp.zeros((500, x[1])), jnp.zeros(alpha)
    back = jax.vjp(function, s, a)[1]
    kept = [each.nbytes for each in jax.tree.leaves(back)]
    assert max(kept) <= s.nbytes
    assert sum(kept) < 3.1 * s.nbytes  # inputs, slopes, and zeros for a sum to start from


@with_functions
def test_transposition(function: Callable[..., Any], alpha: tuple[int, ...], x: tuple[int, ...]) -> None:
    s, a = jnp.linspace(-2, 2, 16).reshape(x), jnp.ones(alpha)
    value, back = jax.vjp(lambda a: function(s, a), a)
    upstream = jnp.cos(value)
    (found,) = jax.linear_transpose(lambda a: function(s, a), a)(upstream)
    np.testing.assert_allclose(found, back(upstream)[0], atol=1e-6)


def test_infinity_nan_and_half_precision() -> None:
    alpha = front.coefficients(1, key=jax.random.key(0))
    x = jnp.array([[jnp.inf], [-jnp.inf], [1e30], [jnp.nan]])
    value, slope = jax.vjp(lambda x: front.kaf(x, alpha), x)
    np.testing.assert_array_equal(value, [[0], [0], [0], [np.nan]])
    np.testing.assert_array_equal(slope(jnp.ones_like(x))[0][:3], np.zeros((3, 1)))
    half = front.kaf(jnp.ones((2, 1), jnp.bfloat16), alpha)
    assert half.dtype == jnp.bfloat16
    np.testing.assert_allclose(half.astype(float), front.kaf(jnp.ones((2, 1)), alpha), rtol=1e-2)


@pytest.mark.parametrize("cls", [front.KAF, front.KAF2D])
@pytest.mark.parametrize("kernel", [None, kafnets.Gaussian(learn_gamma="neuron"), kafnets.Periodic()])
@pytest.mark.parametrize("width", [{"num_features": 6}, {"num_features": 6, "groups": 3}, {}])
def test_flax_modules_and_torch(cls: Any, kernel: Any, width: dict[str, int]) -> None:
    module = cls(**width, rngs=nnx.Rngs(0), kernel=kernel, dim=1)
    x = np.random.default_rng(0).normal(size=(4, 12, 3) if not width else (4, 6, 3)).astype(np.float32)
    there = front.to_torch(module)
    np.testing.assert_allclose(module(jnp.asarray(x)), there(torch.from_numpy(x)).detach(), atol=5e-6)
    back = front.from_torch(there)
    assert type(back) is cls
    assert (back.num_features, back.groups, back.dim) == (there.num_features, there.groups, 1)
    assert back.expansion == module.expansion == there.expansion
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
    assert front.coefficients(4, key=jax.random.key(0)).shape == (4, 20)
    assert front.coefficients(3, dimensions=2, key=jax.random.key(0)).shape == (3, 10, 10)
    drawn = [float(front.coefficients(1, key=jax.random.key(number))[0, 0]) for number in range(6)]
    assert len(set(drawn)) == 6
    one, two = (front.coefficients(3, key=jax.random.key(4)) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_first_values_per_function() -> None:
    init: list[Any] = [
        kafnets.Ridge("tanh"),
        kafnets.Normal(),
        "elu",
        kafnets.Normal(),
        kafnets.Ridge("tanh"),
    ]
    found = front.coefficients(5, init=init, key=jax.random.key(0))
    np.testing.assert_array_equal(found[0], found[4])
    np.testing.assert_allclose(found[2], front.coefficients(1, init="elu")[0])
    assert not np.array_equal(found[1], found[3])
    two = front.coefficients(2, init=[kafnets.Normal(1.0), kafnets.Normal(2.0)], key=jax.random.key(0))
    assert not np.allclose(2 * two[0], two[1])  # other keys


def test_start_as_a_function_of_jax() -> None:
    seen = []

    def wave(s: Any) -> Any:
        seen.append(s)
        return jnp.sin(s)

    init = kafnets.Ridge(wave)
    expected = kafnets.KAF(2, init=kafnets.Ridge(np.sin), dtype=torch.float64).alpha.detach()
    made = [
        front.coefficients(2, init=init),
        jax.jit(lambda: front.coefficients(2, init=init))(),
        front.KAF(2, init=init).alpha[...],
    ]
    for each in made:
        np.testing.assert_allclose(each, expected, rtol=1e-5)
    assert all(isinstance(each, jax.Array) and each.dtype == jnp.float64 for each in seen)
    abstract = jax.eval_shape(lambda: front.coefficients(2, init=init, dimensions=1))
    assert abstract.shape == (2, 20)
    plane = kafnets.Ridge(lambda s, t: jnp.maximum(s, t))
    assert front.coefficients(1, init=plane, dimensions=2).shape == (1, 10, 10)


def test_first_values_under_a_trace() -> None:
    abstract = nnx.eval_shape(lambda: front.KAF(4, rngs=nnx.Rngs(0)))
    assert abstract.alpha.shape == (4, 20)
    made = nnx.jit(lambda: front.KAF2D(4, rngs=nnx.Rngs(0)))()
    np.testing.assert_allclose(made.alpha[...], front.KAF2D(4, rngs=nnx.Rngs(0)).alpha[...], atol=1e-6)
    keys = jax.random.split(jax.random.key(0), 3)
    many = jax.vmap(lambda key: front.coefficients(4, key=key))(keys)
    assert many.shape == (3, 4, 20)


@pytest.mark.parametrize(
    "init",
    [None, "tanh", kafnets.Ridge(jnp.tanh), (kafnets.Normal(), "elu")],
    ids=["random", "name", "own", "both"],
)
@pytest.mark.parametrize("cls", [front.KAF, front.KAF2D])
def test_modules_made_under_a_trace(cls: Any, init: Any) -> None:
    if cls is front.KAF2D and isinstance(init, kafnets.Ridge):
        init = kafnets.Ridge(jnp.maximum)
    keys = jax.random.split(jax.random.key(0), 3)

    def make(key: Any) -> Any:
        return cls(2 * cls.dimensions, rngs=nnx.Rngs(key), init=init)

    def alpha(key: Any) -> Any:
        return make(key).alpha[...]

    one = alpha(keys[0])
    many = nnx.vmap(make)(keys).alpha[...]
    np.testing.assert_allclose(many[0], one, atol=1e-6)
    np.testing.assert_allclose(jax.jit(alpha)(keys[0]), one, atol=1e-6)
    assert many.shape == (3, *one.shape)
    assert nnx.eval_shape(lambda: make(keys[0])).alpha.shape == one.shape
    assert jax.eval_shape(alpha, keys[0]).shape == one.shape


def test_not_a_number_and_infinity_by_kernel() -> None:
    alpha = jnp.ones((1, 20))
    for kernel in (kafnets.ReLUKernel(), kafnets.Gaussian(gamma=0.7), Laplacian()):
        expansion = kafnets.Expansion.of(kernel=kernel)
        slope = jax.grad(lambda x, expansion=expansion: front.kaf(x, alpha, expansion).sum())
        assert np.isnan(slope(jnp.array([jnp.nan]))).all()
    for kernel in (kafnets.Gaussian(gamma=0.7), LEARNED):
        expansion = kafnets.Expansion.of(kernel=kernel)
        gamma = jnp.array(0.7) if kernel.learn_gamma else None
        x = jnp.array([[jnp.inf], [-jnp.inf]])
        value, back = jax.vjp(lambda x, e=expansion, g=gamma: front.kaf(x, alpha, e, gamma=g), x)
        np.testing.assert_array_equal(value, np.zeros((2, 1)))
        np.testing.assert_array_equal(back(jnp.ones_like(x))[0], np.zeros((2, 1)))


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


def dictionary_of_two(kernel: kafnets.Kernel | None = None) -> kafnets.Expansion:
    return kafnets.Expansion.of(dictionary=[0.0, 1.0], kernel=kernel)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: front.kaf(jnp.ones((2, 3), int), jnp.ones((3, 5))), "floating-point type, got int"),
        (
            lambda: front.kaf(jnp.ones((2, 3)), jnp.ones((4, 5))),
            "one function for each of the 3 channels .* got 4",
        ),
        (lambda: front.kaf(jnp.ones((2, 3)), jnp.ones(3)), r"alpha must have the shape \(N, D\)"),
        (lambda: front.kaf(jnp.ones(3), jnp.ones((3, 5)), dim=1), "dim must be one of the 1 axes"),
        (lambda: front.kaf(jnp.ones(3), jnp.ones((3, 5)), dictionary_of_two()), "D = 2 elements"),
        (lambda: front.kaf2d(jnp.ones(2), jnp.ones((1, 2, 2)), dictionary_of_two()), "dimensions=2"),
        (
            lambda: front.kaf(jnp.ones(3), jnp.ones((3, 2)), dictionary_of_two(LEARNED), gamma=jnp.ones(2)),
            "one for each of the 3 functions",
        ),
        (lambda: front.kaf(jnp.ones(3), jnp.ones((3, 5)), gamma=1.0), "omit gamma"),
        (lambda: front.kaf(jnp.ones(3), jnp.ones((3, 2)), dictionary_of_two(LEARNED)), "needs gamma"),
        (lambda: front.KAF2D(2, kernel=kafnets.ReLUKernel(), init="elu"), "two-dimensional form"),
        (lambda: front.coefficients(4), "need a key: key=jax.random.key"),
        (lambda: front.KAF(3), "need a key: .* or rngs=nnx.Rngs"),
        (lambda: front.KAF(3, init=kafnets.Normal(1.0)), "need a key: .* or rngs=nnx.Rngs"),
        (lambda: front.KAF(3, rngs=0), "rngs must be nnx.Rngs"),  # type: ignore[arg-type]
        (lambda: front.KAF2D(3, rngs=nnx.Rngs(0)), "num_features must be even"),
        (lambda: front.KAF(6, groups=4, rngs=nnx.Rngs(0)), "groups must be a divisor of 6"),
        (lambda: front.KAF(3, init="elu")(jnp.ones((2, 6))), "built for num_features=3 along dim=-1"),
        (lambda: front.from_torch(torch.nn.ReLU()), "module must be a kafnets.KAF or kafnets.KAF2D"),
    ],
)
def test_refusals(call: Callable[[], Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        call()
