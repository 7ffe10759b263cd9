"""Tails in other frameworks, and bases, which they do not have yet."""

from typing import Any

import numpy as np
import pytest
import torch

import kafnets
import kafnets.autograd
import kafnets.jax
from kafnets import Expansion, Gaussian
from tests import oracle
from tests.oracle.outside import kaf_outside


def inputs() -> tuple[Any, Any, Any]:
    random = np.random.default_rng(0)
    return 2.5 * random.normal(size=(40, 3)), random.normal(size=(3, 20)), random.normal(size=(40, 3))


@pytest.mark.parametrize("tails", ["constant", "linear"])
def test_jax_equals_the_oracle(tails: Any) -> None:
    import jax

    s, alpha, upstream = inputs()
    expansion = Expansion.of(tails=tails)
    with jax.enable_x64(True):
        value, back = jax.vjp(lambda s, alpha: kafnets.jax.kaf(s, alpha, expansion), s, alpha)
        found = [np.asarray(each) for each in (value, *back(jax.numpy.asarray(upstream)))]
    expected = kaf_outside(
        s, alpha, expansion.dictionary.elements, oracle.twin(expansion.kernel), upstream, tails=tails
    )
    for actual, right in zip(found, expected[:3], strict=True):
        np.testing.assert_allclose(actual, right, rtol=1e-10, atol=1e-10)


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


def test_a_base_is_refused_and_not_left_out() -> None:
    expansion = Expansion.of(base="silu")
    s, alpha, _ = inputs()
    for call in (
        lambda: kafnets.jax.kaf(s, alpha, expansion),
        lambda: kafnets.autograd.kaf(s, alpha, expansion),
        lambda: kafnets.jax.KAF(3, base="silu"),
        lambda: kafnets.jax.from_torch(kafnets.KAF(3, base="silu")),
    ):
        with pytest.raises(NotImplementedError, match="base='silu' is for torch so far"):
            call()
