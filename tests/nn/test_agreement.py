"""Modules and their gradients equal the oracle, for random settings of everything."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import kafnets
from tests import oracle
from tests.nn.agreement import Expected, expect_kaf, expect_kaf2d

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
LAYOUTS = ["contiguous", "channels_last", "transposed", "strided", "offset"]


@st.composite
def kernels(draw: st.DrawFn, dimensions: int) -> kafnets.Kernel:
    names = ["gaussian", "polynomial", "periodic"] + (["relu", "softplus"] if dimensions == 1 else [])
    name = draw(st.sampled_from(["gaussian", *names]))
    if name == "gaussian":
        gamma = draw(st.none() | st.floats(-2.0, 2.0).map(lambda power: 10.0**power))
        return kafnets.Gaussian(gamma, draw(st.sampled_from([False, False, True, "neuron"])))
    if name == "polynomial":
        return kafnets.Polynomial(draw(st.integers(1, 2)))
    if name == "periodic":
        return kafnets.Periodic(draw(st.floats(0.5, 8.0)), draw(st.floats(0.3, 3.0)))
    return kafnets.ReLUKernel() if name == "relu" else kafnets.Softplus()


@st.composite
def dictionaries(draw: st.DrawFn, kernel: kafnets.Kernel) -> dict[str, object]:
    rule_of_thumb = isinstance(kernel, kafnets.Gaussian) and kernel.gamma is None
    if rule_of_thumb or draw(st.booleans()):
        return {"dictionary_size": draw(st.integers(2, 24)), "boundary": draw(st.floats(0.5, 5.0))}
    steps = draw(st.lists(st.floats(0.05, 1.0), min_size=1, max_size=12))
    return {"dictionary": draw(st.floats(-4.0, 0.0)) + np.cumsum([0.0, *steps])}


def laid_out(values: Tensor, layout: str) -> Tensor:
    """The same values, arranged otherwise in memory."""
    if layout == "channels_last" and values.dim() == 4:
        return values.contiguous(memory_format=torch.channels_last)
    if layout == "transposed":
        order = list(reversed(range(values.dim())))
        return values.permute(order).contiguous().permute(order)
    if layout == "strided":
        return torch.stack([values, torch.full_like(values, torch.nan)], dim=-1)[..., 0]
    if layout == "offset":
        padded = torch.full((values.numel() + 3,), torch.nan, dtype=values.dtype)
        padded[3:] = values.flatten()
        return padded[3:].view(values.shape)
    return values


@given(st.data(), st.sampled_from([1, 1, 2]))
@settings(max_examples=1000)
def test_module_and_gradients_equal_the_oracle(data: st.DataObject, dimensions: int) -> None:
    kernel = data.draw(kernels(dimensions), "kernel")
    options = data.draw(dictionaries(kernel), "dictionary")
    neurons = data.draw(st.integers(1, 5), "neurons")
    spatial = data.draw(st.lists(st.integers(1, 4), max_size=3), "spatial axes")
    batch = data.draw(st.integers(0, 5), "batch")
    dim = data.draw(st.sampled_from([1, -1]), "dim")
    dtype = data.draw(st.sampled_from(DTYPES), "dtype")
    layout = data.draw(st.sampled_from(LAYOUTS), "layout")
    backend = data.draw(st.sampled_from(["auto", "auto", "portable", "composite"]), "backend")
    torch_seed = torch.Generator().manual_seed(data.draw(st.integers(0, 2**32), "seed"))

    channels = neurons * dimensions
    cls = kafnets.KAF if dimensions == 1 else kafnets.KAF2D
    module = cls(channels, kernel=kernel, dim=dim, dtype=dtype, generator=torch_seed, **options)  # type: ignore[arg-type]
    if module.log_gamma is not None:
        with torch.no_grad():
            module.log_gamma.add_(0.3 * torch.randn(module.log_gamma.shape, generator=torch_seed))
    shape = [batch, channels, *spatial] if dim == 1 else [batch, *spatial, channels]
    values = 1.7 * torch.randn(shape, generator=torch_seed, dtype=torch.float64)
    s = laid_out(values.to(dtype), layout).requires_grad_()

    with kafnets.use_backend(backend):
        result = module(s)
    upstream = torch.randn(result.shape, generator=torch_seed, dtype=torch.float64).to(dtype)
    parameters = [module.alpha] if module.log_gamma is None else [module.alpha, module.log_gamma]
    by_s, by_alpha, *by_log_gamma = torch.autograd.grad(result, [s, *parameters], upstream)

    assert result.dtype == by_s.dtype == dtype
    expected_shape = list(shape)
    expected_shape[dim] = neurons
    assert list(result.shape) == expected_shape
    if dimensions == 1 and result.numel():
        for axis, stride in enumerate(torch.empty_like(s).stride()):
            assert result.shape[axis] == 1 or result.stride(axis) == stride

    gamma: Any = module.gamma
    if isinstance(gamma, Tensor):
        gamma = gamma.detach().double().numpy().reshape(-1, *[1] * dimensions)
    s_last = s.detach().double().movedim(dim, -1).numpy()
    alpha = module.alpha.detach().double().numpy()
    grid = np.asarray(module.dictionary.double())
    upstream_last = upstream.double().movedim(dim, -1).numpy()
    computing = torch.promote_types(dtype, torch.float32)
    expect = expect_kaf if dimensions == 1 else expect_kaf2d
    exact_kernel = oracle.twin(module.kernel, gamma)
    output, grad_s, grad_alpha = expect(
        s_last,
        alpha,
        grid,
        exact_kernel,
        upstream_last,
        computing,
    )
    output.check(result.movedim(dim, -1), "output")
    grad_s.check(by_s.movedim(dim, -1), "input gradient")
    grad_alpha.check(by_alpha, "coefficient gradient")
    if by_log_gamma:
        check_bandwidth_gradient(
            by_log_gamma[0], module, s_last, alpha, grid, exact_kernel, upstream_last, computing
        )


def check_bandwidth_gradient(
    actual: Tensor, module: Any, s: Any, alpha: Any, grid: Any, kernel: Any, upstream: Any, dtype: Any
) -> None:
    """By the chain rule d / d log(gamma) = gamma * d / d gamma, summed if the bandwidth is shared."""
    expansion: Any = oracle.kaf_gradients if isinstance(module, kafnets.KAF) else oracle.kaf2d_gradients
    gamma = np.asarray(kernel.gamma).reshape(-1)
    by_gamma = gamma * expansion(s, alpha, grid, kernel, upstream).gamma
    scale = gamma * np.abs(expansion(s, np.abs(alpha), grid, kernel, np.abs(upstream)).gamma)
    if actual.dim() == 0:
        by_gamma, scale = by_gamma.sum(), scale.sum()
    reach = 1.0 + (gamma * (np.abs(s).max(initial=0.0) + np.abs(grid).max()) ** 2).max()
    Expected(by_gamma, 8 * torch.finfo(dtype).eps * reach * scale).check(actual, "bandwidth gradient")


@pytest.mark.parametrize("dtype", DTYPES)
def test_dictionary_is_rounded_once_whatever_the_module_went_through(dtype: torch.dtype) -> None:
    module = kafnets.KAF(3).to(torch.bfloat16).to(dtype)
    exact = torch.from_numpy(oracle.equispaced(20, 3.0))
    assert torch.equal(module.dictionary, exact.to(torch.promote_types(dtype, torch.float32)))
