"""What training does to modules: outputs overwritten, many gradients at once, bandwidths that diverge."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import kafnets
from kafnets import KAF, KAF2D, Gaussian, Polynomial, ReLUKernel

BACKENDS = ["auto", "portable", "composite"]
LAYERS: list[Any] = [
    pytest.param(lambda: KAF(4), id="KAF"),
    pytest.param(lambda: KAF(4, kernel=Polynomial(3)), id="polynomial"),
    pytest.param(lambda: KAF(4, kernel=ReLUKernel()), id="relu"),
    pytest.param(lambda: KAF(4, kernel=Gaussian(learn_gamma="neuron")), id="learned"),
    pytest.param(lambda: KAF(4, groups=2), id="grouped"),
    pytest.param(lambda: KAF2D(4), id="KAF2D"),
    pytest.param(lambda: KAF2D(4, kernel=Polynomial(2)), id="KAF2D-polynomial"),
]

each_layer = pytest.mark.parametrize("build", LAYERS)
each_backend = pytest.mark.parametrize("backend", BACKENDS)


@each_layer
@each_backend
@pytest.mark.parametrize("shape", [(5, 4), (3, 4, 2)])
def test_what_comes_next_may_overwrite_the_output(build: Any, backend: str, shape: tuple[int, ...]) -> None:
    dense = torch.randn(shape)
    order = list(reversed(range(dense.dim())))
    for s in (dense, dense.permute(order).contiguous().permute(order)):
        module = build()
        leaves = [s.requires_grad_(), *module.parameters()]
        with kafnets.use_backend(backend):
            found = torch.autograd.grad(nn.Sequential(module, nn.ReLU(inplace=True))(s).sum(), leaves)
            wanted = torch.autograd.grad(nn.Sequential(module, nn.ReLU())(s).sum(), leaves)
        for one, other in zip(found, wanted, strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=0)


@each_layer
@each_backend
def test_many_gradients_at_once(build: Any, backend: str) -> None:
    module, s = build().double(), torch.randn(3, 4, dtype=torch.float64)
    alpha = module.alpha.detach().clone()

    def by_alpha(values: Tensor) -> Any:
        return torch.func.functional_call(module, {"alpha": values}, (s,))

    with kafnets.use_backend(backend):
        for function, at in ((by_alpha, alpha), (module, s)):
            together = torch.autograd.functional.jacobian(function, at, vectorize=True)
            one_by_one = torch.autograd.functional.jacobian(function, at)
            torch.testing.assert_close(together, one_by_one)
            hessian = torch.autograd.functional.hessian(
                lambda values, function=function: function(values).square().sum(), at, vectorize=True
            )
            again = torch.autograd.functional.hessian(
                lambda values, function=function: function(values).square().sum(), at
            )
            torch.testing.assert_close(hessian, again)


@each_backend
@pytest.mark.parametrize("log_gamma", [math.nan, math.inf, -math.inf, 100.0, -1000.0, 1000.0])
@pytest.mark.parametrize("learn", [True, "neuron"])
@pytest.mark.parametrize("layer", [KAF, KAF2D])
def test_a_bandwidth_that_has_diverged_is_no_exception(
    layer: Any, learn: Any, log_gamma: float, backend: str
) -> None:
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        module = layer(4, kernel=Gaussian(learn_gamma=learn))
        with torch.no_grad():
            module.log_gamma.fill_(log_gamma)
        s = torch.randn(5, 4).to(dtype).requires_grad_()
        with kafnets.use_backend(backend):
            result = module(s)
            result.float().sum().backward()
        assert result.shape[0] == 5
        assert repr(module)
        if log_gamma in (100.0, -1000.0):
            assert result.isfinite().all()
        if math.isnan(log_gamma):
            assert result.isnan().all()


@each_backend
def test_the_last_bandwidth_that_float32_holds(backend: str) -> None:
    """A kernel that is 1 on its elements and 0 between them, and one that is 1 everywhere."""
    module = KAF(2, dictionary=[-1.0, 0.0, 1.0], kernel=Gaussian(1.0, learn_gamma="neuron"))
    assert module.log_gamma is not None
    with torch.no_grad():
        module.log_gamma.copy_(torch.tensor([80.0, -80.0]))
    s = torch.tensor([[0.0, 0.0], [0.5, 0.5]])
    with kafnets.use_backend(backend):
        result = module(s)
    first, second = module.alpha.detach()
    expected = torch.stack([torch.stack([first[1], second.sum()]), torch.stack([0 * first[1], second.sum()])])
    torch.testing.assert_close(result.detach(), expected)
