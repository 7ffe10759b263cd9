"""Kernel values as one tensor, natively and in plain torch."""

import math

import numpy as np
import pytest
import torch

import kafnets
from kafnets import Dictionary, Expansion, Gaussian
from kafnets.ops import native
from kafnets.ops.kernel_values import kernel_values
from tests.ops.cases import RUNNABLE
from tests.oracle import kernels as oracle

GAMMA = 1.7


@pytest.mark.skipif(not RUNNABLE, reason="the native kernels were not built")
@pytest.mark.parametrize("size", [1, 3, 8, 20, 37, 1500])
@pytest.mark.parametrize("shape", [(1,), (7, 5), (3, 40, 6)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_native_values_are_the_oracles(
    kernels: native.Kernels, size: int, shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    elements = np.sort(np.random.default_rng(0).uniform(-4, 4, size))
    s, upstream = 2 * torch.randn(shape, dtype=dtype), torch.randn(*shape, size, dtype=dtype)
    given = torch.tensor(elements, dtype=dtype).double().numpy()
    values = kernels.values(s, tuple(elements), GAMMA)
    kernel, places = oracle.Gaussian(GAMMA), s.double().numpy()[..., None]
    exact = kernel.value(places, given)
    slopes = (upstream.double().numpy() * kernel.derivative(places, given)).sum(-1)
    gradients = kernels.gradients_of_values(s, tuple(elements), GAMMA, values, upstream)
    tolerance = 2e-6 if dtype is torch.float32 else 1e-14
    np.testing.assert_allclose(values.double().numpy(), exact, atol=tolerance, rtol=tolerance)
    scale = 1 + np.abs(upstream.double().numpy() * kernel.derivative(places, given)).sum(-1).max()
    np.testing.assert_allclose(gradients.double().numpy(), slopes, atol=2 * tolerance * scale)


@pytest.mark.skipif(not RUNNABLE, reason="the native kernels were not built")
def test_far_away_nothing_is_left_and_nan_stays(kernels: native.Kernels) -> None:
    s = torch.tensor([math.inf, -math.inf, 1e30, -1e5, math.nan])
    values = kernels.values(s, (-1.0, 0.0, 2.0), GAMMA)
    gradients = kernels.gradients_of_values(s, (-1.0, 0.0, 2.0), GAMMA, values, torch.ones(5, 3))
    assert torch.equal(values[:-1], torch.zeros(4, 3))
    assert torch.equal(gradients[:-1], torch.zeros(4))
    assert values[-1].isnan().all()
    assert gradients[-1].isnan()


def expansion(size: int = 6) -> Expansion:
    return Expansion(Gaussian(GAMMA), Dictionary.equispaced(size, 3.0))


def test_all_derivatives() -> None:
    s = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda s: kernel_values(expansion(), s), (s,), check_batched_grad=True)
    assert torch.autograd.gradgradcheck(lambda s: kernel_values(expansion(), s), (s,))


def test_transforms_and_compilers_get_the_plain_form() -> None:
    s = torch.randn(5, dtype=torch.float64)
    slopes = torch.func.jacfwd(lambda s: kernel_values(expansion(), s).sum(0))(s)
    wanted = torch.autograd.functional.jacobian(lambda s: kernel_values(expansion(), s).sum(0), s)
    torch.testing.assert_close(slopes, wanted)
    own = expansion()
    compiled = torch.compile(lambda s: kernel_values(own, s), backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(s), kernel_values(own, s))


@pytest.mark.parametrize("backend", ["auto", "portable"])
def test_awkward_tensors(backend: str) -> None:
    with kafnets.use_backend(backend):
        assert kernel_values(expansion(), torch.empty(0, 3)).shape == (0, 3, 6)
        s = torch.randn(4, 6)
        for view in (s.T, s[:, ::2], torch._neg_view(s)):
            torch.testing.assert_close(
                kernel_values(expansion(), view), kernel_values(expansion(), view.clone().contiguous())
            )
