"""Gradients of younger activations and further KAFs, against the oracle's closed forms."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import kafnets
from kafnets import LearnedDictionaryKAF, MultiKAF, Rational
from tests import oracle
from tests.oracle import family
from tests.zoo.cases import activations, build

POINTWISE = [
    *(
        "gelu",
        "mish",
        "squared_relu",
        "pact",
        "learned_sine",
        "xielu",
        "rational",
        "poly_norm",
        "glu",
        "swiglu",
    )
]


def gradients(module: nn.Module, s: Tensor) -> tuple[Any, dict[str, Any]]:
    """The upstream gradient, and what autograd gives, by name."""
    given = s.requires_grad_()
    result = module(given)
    upstream = torch.randn(result.shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    named = {"s": given, **dict(module.named_parameters())}
    found = torch.autograd.grad(result, list(named.values()), upstream)
    return upstream.numpy(), {name: each.numpy() for name, each in zip(named, found, strict=True)}


def parameters(module: nn.Module) -> dict[str, Any]:
    return {name: value.detach().numpy() for name, value in module.named_parameters()}


def agree(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        np.testing.assert_allclose(
            found[name], value, rtol=1e-9, atol=1e-10 * np.abs(value).max(), err_msg=name
        )


@pytest.mark.parametrize("name", POINTWISE)
def test_gradients_are_the_closed_forms(name: str) -> None:
    module, s = build(name), activations(name, 30)
    upstream, found = gradients(module, s)
    agree(found, getattr(family, name)(s.detach().numpy(), upstream, **parameters(module)))


KERNELS = (kafnets.Gaussian(), kafnets.Polynomial(2), kafnets.Softplus(), kafnets.Periodic())


@pytest.mark.parametrize("weights", ["simplex", "free"])
@pytest.mark.parametrize("kernels", [None, KERNELS])
def test_several_kernels(weights: Any, kernels: Any) -> None:
    module = MultiKAF(6, weights=weights, kernels=kernels, dictionary_size=7, dtype=torch.float64)
    with torch.no_grad():
        module.mixture.add_(torch.randn(module.mixture.shape, dtype=torch.float64))
    s = activations("multi_kaf", 40)
    upstream, found = gradients(module, s)
    mixing = module.mixing_weights.detach().numpy()
    twins = [oracle.twin(each) for each in module.kernels]
    own = family.multi_kaf(
        s.detach().numpy(), module.alpha.detach().numpy(), mixing, oracle.equispaced(7, 3.0), twins
    )
    np.testing.assert_allclose(module(s).detach(), own.value, rtol=1e-10, atol=1e-11)
    by_weights = (upstream[..., None] * own.by_more).sum(0)
    agree(
        found,
        {
            "s": upstream * own.by_s,
            "alpha": (upstream[..., None] * own.by_alpha).sum(0),
            "mixture": family.by_softmax(by_weights, mixing) if weights == "simplex" else by_weights,
        },
    )


@pytest.mark.parametrize("shared", [False, True])
def test_learned_dictionaries(shared: bool) -> None:
    module = LearnedDictionaryKAF(6, shared=shared, dictionary_size=7, dtype=torch.float64)
    with torch.no_grad():
        for each in (module.steps, module.lowest):
            each.add_(torch.randn(each.shape, dtype=torch.float64))
    assert (module.dictionary.diff(dim=1) > 0).all()
    s = activations("kaf", 40)
    upstream, found = gradients(module, s)
    places = module.dictionary.detach().expand(6, -1).numpy()
    own = family.bells(s.detach().numpy(), module.alpha.detach().numpy(), places, module.gamma)
    np.testing.assert_allclose(module(s).detach(), own.value, rtol=1e-10, atol=1e-11)
    by_places = (upstream[..., None] * own.by_more).sum(0)
    lowest, steps = family.by_steps(by_places, module.steps.detach().expand(6, -1).numpy())
    agree(
        found,
        {
            "s": upstream * own.by_s,
            "alpha": (upstream[..., None] * own.by_alpha).sum(0),
            "lowest": lowest.sum(0, keepdims=True) if shared else lowest,
            "steps": steps.sum(0, keepdims=True) if shared else steps,
        },
    )


def test_they_start_as_a_kaf_does() -> None:
    s = torch.linspace(-5, 5, 50, dtype=torch.float64)[:, None].expand(-1, 3)
    for base in (None, "mish"):
        options: dict[str, Any] = {"base": base, "init": "tanh", "dtype": torch.float64}
        wanted = kafnets.KAF(3, **options)(s)
        torch.testing.assert_close(LearnedDictionaryKAF(3, **options)(s), wanted, rtol=1e-9, atol=1e-9)
        same = MultiKAF(3, kernels=(kafnets.Gaussian(), kafnets.Gaussian()), **options)
        torch.testing.assert_close(same(s), wanted, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(
        kafnets.create("kaf_glu", 6).double()(s.repeat(1, 2)), kafnets.create("swiglu", 6)(s.repeat(1, 2))
    )


def test_the_rational_function_starts_as_a_swish_that_keeps_the_variance() -> None:
    module = Rational(16, dtype=torch.float64)
    assert module.groups == 8
    assert Rational(100).groups == 5
    s = torch.linspace(-12, 12, 200_001, dtype=torch.float64)[:, None].expand(-1, 16)
    values = module(s)
    density = torch.exp(-s * s / 2) / (2 * torch.pi) ** 0.5
    torch.testing.assert_close((values**2 * density).sum(0) * (s[1] - s[0]), torch.full((16,), 0.5).double())
    near = s.abs() < 4
    error = (values - Rational.GAIN * nn.functional.silu(s))[near].abs().max()
    assert error < 2e-3


def test_mistakes() -> None:
    with pytest.raises(ValueError, match="two or more kernels"):
        MultiKAF(3, kernels=[kafnets.Gaussian()])
    with pytest.raises(ValueError, match="two or more kernels"):
        MultiKAF(3, kernels=kafnets.Gaussian())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="fixed bandwidths"):
        MultiKAF(3, kernels=[kafnets.Gaussian(), kafnets.Gaussian(learn_gamma=True)])
    with pytest.raises(ValueError, match="'simplex' or 'free'"):
        MultiKAF(3, weights="other")  # type: ignore[arg-type]
    for kind in (MultiKAF, LearnedDictionaryKAF):
        with pytest.raises(ValueError, match="form 'fixed'"):
            kind(3, base=kafnets.Base("mish", "weighted"))
    with pytest.raises(ValueError, match="even"):
        kafnets.create("glu", 1)(torch.randn(2, 5))
