"""Activations as tables: errors within their bounds, whatever runs them."""

import copy
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import kafnets
from kafnets import KAF, Gaussian
from kafnets.nn import Baked
from tests import oracle
from tests.zoo import cases

ROUNDING = 4e-7
"""Of float32, relative to values beyond 1."""

KAFS: list[Any] = [
    pytest.param(lambda: KAF(6), id="plain"),
    pytest.param(lambda: KAF(6, dictionary_size=50, boundary=2.0), id="narrow"),
    pytest.param(lambda: KAF(6, dictionary=[-2.0, -1.0, 0.5, 0.75, 3.0], kernel=Gaussian(2.0)), id="uneven"),
    pytest.param(lambda: KAF(6, kernel=Gaussian(learn_gamma="neuron")), id="learned bandwidths"),
    pytest.param(lambda: KAF(6, tails="constant", boundary=1.7), id="constant tails"),
    pytest.param(lambda: KAF(6, tails="linear"), id="linear tails"),
    pytest.param(lambda: KAF(6, base="mish"), id="base"),
    pytest.param(
        lambda: KAF(6, base=kafnets.Base("relu", "weighted"), tails="linear"), id="base with a corner"
    ),
    pytest.param(
        lambda: KAF(6, base="relu", dictionary=[-0.8, 0.1, 1.0, 1.9, 2.8]), id="a corner off the dictionary"
    ),
    pytest.param(
        lambda: KAF(
            6, base=kafnets.Base("leaky_relu", "residual"), dictionary=[0.3, 1.0, 1.7], tails="linear"
        ),
        id="tails and a corner elsewhere",
    ),
    pytest.param(lambda: KAF(6, base="elu", dictionary=[-0.8, 0.1, 1.0, 1.9]), id="a bend elsewhere"),
]


def moved(module: nn.Module) -> nn.Module:
    """With parameters away from their start."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for each in module.parameters():
            each.add_(torch.randn(each.shape, generator=generator), alpha=0.3)
    return module.eval()


def places() -> torch.Tensor:
    """Dense near the dictionary, and far from it."""
    inner = torch.linspace(-12, 12, 4001)
    far = torch.tensor([-1e6, -300.0, -40.0, 40.0, 300.0, 1e6])
    return torch.cat([inner, far])[:, None].repeat(1, 6)


def difference(baked: nn.Module, module: nn.Module, x: torch.Tensor) -> float:
    exact = copy.deepcopy(module).double()(x.double()).detach()
    return float(((baked(x).double() - exact).abs() / exact.abs().clamp(min=1)).max())


@pytest.mark.parametrize("build", KAFS)
@pytest.mark.parametrize(("error", "degree"), [(1e-6, None), (1e-4, 3), (1e-3, 7)])
@pytest.mark.parametrize("backend", ["auto", "portable"])
def test_errors_are_within_their_bound(build: Any, error: float, degree: Any, backend: str) -> None:
    module = moved(build())
    baked = kafnets.bake(module, error, degree=degree)
    assert isinstance(baked, Baked)
    assert baked.error <= error
    base: Any = module.expansion.base  # type: ignore[union-attr]
    assert baked.proven == (base is None or base.function in ("relu", "leaky_relu"))
    with kafnets.use_backend(backend):
        assert difference(baked, module, places()) <= baked.error + ROUNDING


def test_the_oracle_agrees() -> None:
    module = moved(KAF(6))
    assert isinstance(module, KAF)
    assert isinstance(module.gamma, float)
    x = places()[:4001]
    exact = oracle.kaf(
        x.double().numpy(),
        module.alpha.detach().double().numpy(),
        module.expansion.dictionary.elements,
        oracle.Gaussian(module.gamma),
    )
    np.testing.assert_allclose(kafnets.bake(module)(x).numpy(), exact, rtol=0, atol=1e-6 + ROUNDING)


def test_a_smaller_error_takes_a_larger_table() -> None:
    module = moved(KAF(6))
    found = [kafnets.bake(module, error) for error in (1e-2, 1e-4, 1e-6)]
    sizes = [each.size_in_bytes for each in found if isinstance(each, Baked)]
    assert len(sizes) == 3
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


@pytest.mark.parametrize("build", KAFS)
def test_eight_bits(build: Any) -> None:
    module = moved(build())
    baked, whole = kafnets.bake(module, bits=8), kafnets.bake(module, 1e-3)
    assert isinstance(baked, Baked)
    assert isinstance(whole, Baked)
    assert baked.table.dtype == torch.int8
    x = places()[:4001]
    inside = x[(x[:, 0] > -2) & (x[:, 0] < 2)]
    assert difference(baked, module, inside) <= baked.error + ROUNDING
    assert baked.size_in_bytes < 0.6 * whole.size_in_bytes


@pytest.mark.parametrize(
    "name", [name for name in kafnets.names() if kafnets.registry.facts_of(name).plottable]
)
def test_the_zoo(name: str) -> None:
    module = cases.build(name, dtype=torch.float32)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        baked = kafnets.bake(module)
    # Functions of two inputs or with several outputs, and corners at learned places that are not hinges.
    left = {"multi_bias", "rational"}
    assert (name in left | {"learned_sine"}) == bool(told), [str(each.message) for each in told]
    learned = isinstance(module, kafnets.Activation) and any(True for _ in module.parameters(recurse=False))
    assert isinstance(baked, Baked) == (learned and name not in left)
    x = places()
    if name in ("apl", "srelu", "paf", "kaf2d"):
        assert torch.equal(baked(x), module(x))
    elif isinstance(baked, Baked):
        inside = x[(x[:, 0] >= baked.range[0]) & (x[:, 0] <= baked.range[1])]
        assert baked.is_limited == (name == "learned_sine")
        assert difference(baked, module, inside) <= baked.error + ROUNDING


def test_functions_that_never_become_lines_are_followed_for_a_while() -> None:
    sine = kafnets.zoo.LearnedSine(6)
    with pytest.warns(UserWarning, match=r"beyond \(-16.0, 16.0\)"):
        baked = kafnets.bake(sine)
    edges = torch.tensor([[-20.0], [-16.0], [16.0], [20.0], [21.0], [22.0], [1e30]]).expand(-1, 6)
    found = baked(edges)
    torch.testing.assert_close(found[1:3], sine(edges[1:3]).detach(), rtol=0, atol=2e-6)
    torch.testing.assert_close(found[5] - found[4], found[4] - found[3], rtol=0, atol=1e-5)  # a line
    assert found.isfinite().all()
    with pytest.warns(UserWarning, match="beyond"):
        rational = kafnets.bake(module := kafnets.zoo.Rational(6))
    assert isinstance(rational, Baked)
    x = places()
    assert difference(rational, module.eval(), x[x[:, 0].abs() <= 16]) <= rational.error + ROUNDING


@pytest.mark.parametrize(
    ("build", "shape"),
    [
        (lambda: kafnets.KAF2D(6), (40, 6)),
        (lambda: kafnets.KAF2D(), (3, 6, 4)),
        (lambda: kafnets.KAF2D(8, groups=2), (3, 8, 4)),
        (lambda: kafnets.KAF2D(6, dictionary_size=30, dim=-1), (2, 5, 6)),
        (lambda: kafnets.KAF2D(6, kernel=Gaussian(learn_gamma="neuron")), (4, 6)),
    ],
)
def test_pairs_keep_their_coefficients(build: Any, shape: tuple[int, ...]) -> None:
    module = moved(build())
    baked = kafnets.bake(module)
    assert isinstance(baked, kafnets.nn.Baked2D)
    x = 2 * torch.randn(shape)
    assert torch.equal(baked(x), module(x))
    assert difference(baked, module, x) <= 1e-5
    with pytest.raises(RuntimeError, match="no gradients"):
        baked(x.requires_grad_())


def test_gates_become_tables() -> None:
    gated = cases.build("kaf_glu", dtype=torch.float32)
    baked: Any = kafnets.bake(gated)
    assert isinstance(baked.kaf, Baked)
    assert "cells=" in repr(baked)
    x = 2 * torch.randn(50, 6)
    torch.testing.assert_close(baked(x), gated(x).detach(), rtol=2e-6, atol=4e-6)


def test_a_converted_model_becomes_tables() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.LeakyReLU(), nn.Flatten())
    images = 3 * torch.randn(20, 1, 8, 8)
    known = {nn.ReLU: "kaf(tails=linear)", nn.LeakyReLU: "kaf"}
    converted = moved(kafnets.convert(model, known, example_input=images))
    kafnets.calibrate(converted, images)
    baked: Any = kafnets.bake(converted)
    assert isinstance(baked[1], Baked)
    assert isinstance(baked[3], Baked)
    assert difference(baked, converted, images) < 2e-5


LAYOUTS: list[Any] = [
    pytest.param(lambda: KAF(6), (40, 6), id="rows"),
    pytest.param(lambda: KAF(6), (3, 6), id="few rows"),
    pytest.param(lambda: KAF(37), (150, 37), id="blocks that are not full"),
    pytest.param(lambda: KAF(6), (2, 6, 5, 7), id="images"),
    pytest.param(lambda: KAF(6, dim=-1), (2, 50, 6), id="channels last"),
    pytest.param(lambda: KAF(), (2, 6, 5, 7), id="one for all"),
    pytest.param(lambda: KAF(6, groups=2), (4, 6, 9), id="grouped"),
    pytest.param(lambda: KAF(6), (0, 6), id="none"),
]


@pytest.mark.parametrize(("build", "shape"), LAYOUTS)
@pytest.mark.parametrize("degree", [3, 7])
def test_layouts_and_dtypes(build: Any, shape: tuple[int, ...], degree: Any) -> None:
    module = moved(build())
    baked = kafnets.bake(module, degree=degree)
    x = 2 * torch.randn(shape)
    for given in (x, x.double(), x.transpose(0, -1).contiguous().transpose(0, -1)):
        found = baked(given)
        assert found.dtype == given.dtype
        torch.testing.assert_close(found, module(given).detach(), rtol=1e-6, atol=2e-6)
    torch.testing.assert_close(baked(x.half()), module(x.half()).detach(), rtol=2e-3, atol=2e-3)
    half = copy.deepcopy(baked).half()
    torch.testing.assert_close(half(x), baked(x), rtol=0, atol=0)


@pytest.mark.parametrize("backend", ["auto", "portable"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_is_no_number_and_what_is_infinite(backend: str, dtype: torch.dtype) -> None:
    baked = kafnets.bake(moved(KAF(6)))
    x = torch.zeros(20, 6, dtype=dtype)
    x[0], x[1], x[2] = torch.nan, torch.inf, -torch.inf
    with kafnets.use_backend(backend):
        found = baked(x)
    assert found[0].isnan().all()
    assert (found[1:3].abs() <= 1e-6).all()
    assert found[3:].isfinite().all()


def test_a_model_is_copied_and_no_gradient_is_asked_for() -> None:
    network = nn.Sequential(nn.Linear(3, 8), nn.Dropout(), shared := KAF(8), nn.Linear(8, 8), shared).train()
    before = copy.deepcopy(network.state_dict())
    baked = kafnets.bake(network)
    assert not any(each.requires_grad for each in baked.parameters())
    assert not any(each.training for each in baked.modules())
    assert baked[2] is baked[4]
    assert network.training
    assert isinstance(network[2], KAF)
    for name, value in network.state_dict().items():
        torch.testing.assert_close(value, before[name], rtol=0, atol=0)
    x = torch.randn(5, 3)
    torch.testing.assert_close(baked(x), network.eval()(x).detach(), rtol=1e-5, atol=1e-5)
    with pytest.raises(RuntimeError, match="no gradients"):
        baked(x.requires_grad_())


def test_compiled_and_described() -> None:
    baked = kafnets.bake(kafnets.mlp(4, (8,), 1, "kaf"))
    x = torch.randn(20, 4)
    torch.testing.assert_close(torch.export.export(baked, (x,)).module()(x), baked(x), rtol=1e-5, atol=1e-5)
    assert "cells=" in repr(baked)
    assert len(kafnets.describe(baked, x)) == 8


def test_mistakes() -> None:
    with pytest.raises(TypeError, match="torch module"):
        kafnets.bake("kaf")  # type: ignore[type-var]
    for wrong in (0, 2, 1e-12, "small"):
        with pytest.raises(ValueError, match="error must be"):
            kafnets.bake(KAF(2), wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="bits"):
        kafnets.bake(KAF(2), bits=4)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="degree"):
        kafnets.bake(KAF(2), degree=5)  # type: ignore[arg-type]
    with pytest.warns(UserWarning, match=r"0 \(EdgewiseKAF\)"):
        kafnets.bake(nn.Sequential(kafnets.EdgewiseKAF(2, 3)))
