"""Tails and bases in other frameworks."""

from typing import Any

import numpy as np
import pytest
import torch

import kafnets
import kafnets.autograd
import kafnets.jax
from kafnets import Base, Expansion, Gaussian
from kafnets.benchmark.adapters import Autograd, Jax
from kafnets.fixed_functions import FUNCTIONS
from tests.frontends.agreement import assert_agrees, both_precisions, case, every_base


def inputs() -> tuple[Any, Any, Any]:
    random = np.random.default_rng(0)
    return 2.5 * random.normal(size=(40, 3)), random.normal(size=(3, 20)), random.normal(size=(40, 3))


@every_base
@both_precisions
@pytest.mark.parametrize("adapter", [Jax(), Autograd()], ids=["jax", "autograd"])
def test_equals_the_oracle(adapter: Any, options: dict[str, Any], dtype: Any) -> None:
    assert_agrees(adapter, case(1, shape=(20, 6, 2), dim=1, **options), dtype)


@pytest.mark.parametrize("tails", ["constant", "linear"])
@pytest.mark.parametrize("learned", [False, "neuron"])
def test_autograd_equals_torch(tails: Any, learned: Any) -> None:
    from autograd import grad

    s, alpha, upstream = inputs()
    expansion = Expansion.of(tails=tails, kernel=Gaussian(1.3, learned))
    gamma = np.array([1.0, 1.5, 2.0]) if learned else None

    def loss(s: Any, alpha: Any, *gamma: Any) -> Any:
        options = {"gamma": gamma[0]} if gamma else {}
        return (upstream * kafnets.autograd.kaf(s, alpha, expansion, **options)).sum()

    arrays = [s, alpha] + ([] if gamma is None else [gamma])
    leaves = [torch.tensor(each, requires_grad=True) for each in arrays]
    learning = None if gamma is None else leaves[2]
    result = kafnets.functional.kaf(leaves[0], leaves[1], expansion, gamma=learning)
    expected = torch.autograd.grad((torch.tensor(upstream) * result).sum(), leaves)
    for number, right in enumerate(expected):
        np.testing.assert_allclose(grad(loss, number)(*arrays), right.numpy(), rtol=1e-9, atol=1e-9)


def test_tails_go_along_between_frameworks() -> None:
    module = kafnets.KAF(3, tails="linear", dim=-1)
    s = torch.tensor(inputs()[0], dtype=torch.float32)
    moved: Any = kafnets.jax.from_torch(module)
    assert moved.expansion == module.expansion
    np.testing.assert_allclose(np.asarray(moved(s.numpy())), module(s).detach().numpy(), rtol=1e-4, atol=1e-4)
    again = kafnets.jax.to_torch(moved)
    torch.testing.assert_close(again(s), module(s))


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_transformations_of_jax(name: str) -> None:
    """Second derivatives, both modes and many weights at once, beside torch's own functions."""
    import jax

    s, alpha, _ = inputs()
    s[0] = 0.3 * s[0]
    weight = np.array([0.5, -1.0, 2.0])
    expansion = Expansion.of(base=Base(name, "residual"))

    def loss(s: Any, alpha: Any, weight: Any) -> Any:
        return jax.numpy.sin(kafnets.jax.kaf(s, alpha, expansion, weight=weight)).sum()

    def torch_loss(s: Any, alpha: Any, weight: Any) -> Any:
        return kafnets.functional.kaf(s, alpha, expansion, weight=weight).sin().sum()

    arrays, numbers = (s[:2], alpha, weight), (0, 1, 2)
    tensors = tuple(map(torch.tensor, arrays))
    with jax.enable_x64(True):
        moved = tuple(np.cos(each) for each in arrays)
        forward = jax.jit(lambda *arrays: jax.jvp(loss, arrays, moved)[1])(*arrays)
        found = jax.jit(jax.grad(loss, numbers))(*arrays)
        np.testing.assert_allclose(
            forward, sum((a * b).sum() for a, b in zip(found, moved, strict=True)), rtol=1e-9
        )
        second = jax.jit(jax.hessian(loss, (0, 2)))(*arrays)
        many = jax.vmap(jax.grad(loss, 2), (None, None, 0))(s, alpha, np.stack([weight, 2 * weight]))
        for one, each in zip(many, (weight, 2 * weight), strict=True):
            np.testing.assert_allclose(one, jax.grad(loss, 2)(s, alpha, each), rtol=1e-9, atol=1e-9)
    for one, two in zip(found, torch.func.grad(torch_loss, numbers)(*tensors), strict=True):
        np.testing.assert_allclose(one, two.numpy(), rtol=1e-9, atol=1e-9)
    for rows, expected in zip(second, torch.func.hessian(torch_loss, (0, 2))(*tensors), strict=True):
        for one, two in zip(rows, expected, strict=True):
            np.testing.assert_allclose(one, two.numpy(), rtol=1e-8, atol=1e-8)


def test_memory_of_a_base_in_jax() -> None:
    import jax

    s, alpha = jax.numpy.zeros((500, 4)), jax.numpy.zeros((4, 20))
    expansion = Expansion.of(base="mish")
    back = jax.vjp(lambda s, alpha: kafnets.jax.kaf(s, alpha, expansion), s, alpha)[1]
    assert sum(each.nbytes for each in jax.tree.leaves(back)) < 4.1 * s.nbytes


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_both_modes_and_second_derivatives_of_autograd(name: str) -> None:
    from autograd.test_util import check_grads

    s, alpha, _ = inputs()
    expansion = Expansion.of(base=Base(name, "residual"))
    away = np.where(np.abs(s) < 0.01, 0.1, s)[:4]  # numerical derivatives do not see kinks

    def function(s: Any, alpha: Any, weight: Any) -> Any:
        return kafnets.autograd.kaf(s, alpha, expansion, weight=weight)

    check_grads(function, modes=["fwd", "rev"], order=2)(away, alpha, np.array([0.5, -1.0, 2.0]))


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_slopes_at_zero_and_far_away_are_those_of_torch(name: str) -> None:
    import jax
    from autograd import elementwise_grad

    x, alpha = np.array([[-1e30], [-200.0], [-30.0], [0.0], [30.0], [200.0], [1e30]]), np.zeros((1, 20))
    expansion = Expansion.of(base=name)
    leaf = torch.tensor(x, dtype=torch.float32, requires_grad=True)
    with kafnets.use_backend("composite"):  # torch's own functions
        value = kafnets.functional.kaf(leaf, torch.tensor(alpha, dtype=torch.float32), expansion)
    (slope,) = torch.autograd.grad(value.sum(), leaf)
    single, zeros = x.astype(np.float32), alpha.astype(np.float32)
    for kaf, differentiate in (
        (kafnets.jax.kaf, lambda f: jax.grad(lambda s: f(s).sum())),
        (kafnets.autograd.kaf, elementwise_grad),
    ):

        def function(s: Any, kaf: Any = kaf) -> Any:
            return kaf(s, zeros, expansion)

        np.testing.assert_allclose(function(single), value.detach(), rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(differentiate(function)(single), slope, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("form", ["fixed", "weighted", "residual"])
def test_a_base_goes_along_between_frameworks(form: Any) -> None:
    module = kafnets.KAF(3, base=Base("mish", form), init=kafnets.Normal(), dim=-1)
    if module.base_weight is not None:
        torch.nn.init.normal_(module.base_weight)
    s = torch.tensor(inputs()[0], dtype=torch.float32)
    moved: Any = kafnets.jax.from_torch(module)
    np.testing.assert_allclose(np.asarray(moved(s.numpy())), module(s).detach(), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(kafnets.jax.to_torch(moved)(s), module(s))
    parameters, expansion = kafnets.autograd.from_torch(module)
    weight = parameters.get("base_weight")
    found = kafnets.autograd.kaf(s.numpy(), parameters["alpha"], expansion, weight=weight)
    np.testing.assert_allclose(found, module(s).detach(), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(kafnets.autograd.to_torch(parameters, expansion)(s), module(s))


def test_modules_start_as_their_base() -> None:
    import jax

    s = inputs()[0].astype(np.float32)
    made = kafnets.jax.KAF(3, base=Base("silu", "residual"))  # nothing random, so no keys
    np.testing.assert_allclose(made(s), jax.nn.silu(s), rtol=1e-6, atol=1e-6)
    weight: Any = made.base_weight
    np.testing.assert_array_equal(weight[...], np.ones(3))
    assert not kafnets.autograd.coefficients(3, base="silu").any()


def test_refusals() -> None:
    s, alpha, _ = inputs()
    weighted = Expansion.of(base=Base("silu", "weighted"))
    for kaf in (kafnets.jax.kaf, kafnets.autograd.kaf):
        with pytest.raises(ValueError, match="needs weight, one per function"):
            kaf(s, alpha, weighted)
        with pytest.raises(ValueError, match="has no weight: omit it"):
            kaf(s, alpha, Expansion.of(base="silu"), weight=np.ones(3))
        with pytest.raises(ValueError, match=r"weight must have the shape \(3,\), got \(2,\)"):
            kaf(s, alpha, weighted, weight=np.ones(2))
