"""The portable path: any kernel, block by block, with second derivatives."""

from typing import Any

import pytest
import torch

import kafnets
from kafnets import KAF, KAF2D, Gaussian, Periodic, Polynomial, ReLUKernel, Softplus
from kafnets.ops import kaf as formulas

MODULES: list[Any] = [
    pytest.param(lambda: KAF(6), id="gaussian"),
    pytest.param(lambda: KAF(6, dictionary_size=200), id="gaussian-long"),
    pytest.param(lambda: KAF(6, kernel=Gaussian(500.0)), id="gaussian-narrow"),
    pytest.param(lambda: KAF(6, kernel=Gaussian(learn_gamma="neuron")), id="gaussian-learned"),
    pytest.param(lambda: KAF(6, kernel=Gaussian(1.0, True), dictionary=[0.0, 1.0, 3.0]), id="uneven"),
    pytest.param(lambda: KAF(6, kernel=Polynomial(2)), id="polynomial"),
    pytest.param(lambda: KAF(6, kernel=ReLUKernel()), id="relu"),
    pytest.param(lambda: KAF(6, kernel=Softplus()), id="softplus"),
    pytest.param(lambda: KAF(6, kernel=Periodic()), id="periodic"),
    pytest.param(lambda: KAF2D(6), id="2d-gaussian"),
    pytest.param(lambda: KAF2D(6, kernel=Gaussian(learn_gamma=True)), id="2d-learned"),
    pytest.param(lambda: KAF2D(6, kernel=Polynomial(2)), id="2d-polynomial"),
]


@pytest.mark.parametrize("build", MODULES)
@pytest.mark.parametrize("block", [1, 700, 2**21])
def test_blocks_do_not_change_the_result(build: Any, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formulas, "BLOCK_ON_CPU", block)
    module, s = build(), torch.randn(7, 6, 3, requires_grad=True)
    parameters = list(module.parameters())
    with kafnets.use_backend("composite"):
        expected = module.double()(s.double())
        expected_gradients = torch.autograd.grad(expected.square().sum(), [s, *parameters])
        expected_gradients = tuple(gradient.float() for gradient in expected_gradients)
    module.float()
    with kafnets.use_backend("portable"):
        result = module(s)
        gradients = torch.autograd.grad(result.square().sum(), [s, *module.parameters()])
    for actual, right in zip((result, *gradients), (expected.float(), *expected_gradients), strict=True):
        torch.testing.assert_close(actual, right, rtol=0, atol=1e-4 * (1 + right.abs().max().item()))


@pytest.mark.parametrize("build", MODULES)
def test_second_derivatives(build: Any) -> None:
    module = build().double()
    s = torch.randn(2, 6, dtype=torch.float64, requires_grad=True)
    with kafnets.use_backend("portable"):
        assert torch.autograd.gradgradcheck(module, (s,), atol=1e-4)
        frozen = build().double().requires_grad_(False)
        assert torch.autograd.gradcheck(frozen, (s,), atol=1e-4)


def test_empty_batches() -> None:
    with kafnets.use_backend("portable"):
        kaf, s = KAF(6), torch.randn(0, 6, 2, requires_grad=True)
        result = kaf(s)
        result.sum().backward()
    assert result.shape == s.shape
    assert torch.equal(kaf.alpha.grad, torch.zeros_like(kaf.alpha))  # type: ignore[arg-type]
