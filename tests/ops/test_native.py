"""The native kernels of every instruction set this processor has, against the oracle."""

import importlib.util
import math
from typing import Any

import numpy as np
import pytest
import torch

from kafnets.ops import native
from kafnets.ops.plain import plain
from tests import oracle
from tests.ops.cases import GAMMA, RUNNABLE, check, gaussian

pytestmark = [
    pytest.mark.skipif(not RUNNABLE, reason="the native kernels were not built"),
    pytest.mark.usefixtures("poisoned_memory"),
]

SHAPES = [
    (1, 1),
    (1, 3),
    (33, 1),
    (5, 31),
    (2, 33),
    (67, 65),
    (300, 20),
    (3, 2, 1),
    (2, 3, 5),
    (4, 2, 16),
    (3, 5, 33),
    (2, 3, 7, 11),
    (600, 1, 2),
    (40, 1, 100),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_odd_sizes(kernels: native.Kernels, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    s = 1.5 * torch.randn(shape, dtype=dtype)
    check(kernels, s, torch.randn(shape[1], 20, dtype=dtype), GAMMA)
    pairs = 1.5 * torch.randn(shape[0], 2 * shape[1], *shape[2:], dtype=dtype)
    check(kernels, pairs, torch.randn(shape[1], 7, 7, dtype=dtype), 0.8)


@pytest.mark.parametrize("size", [2, 3, 4, 20, 21, 27, 28, 55, 80, 200, 500])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dictionary_sizes(kernels: native.Kernels, size: int, dtype: torch.dtype) -> None:
    gamma = oracle.bandwidth_rule_of_thumb(6.0 / (size - 1))
    check(kernels, 1.5 * torch.randn(9, 17, dtype=dtype), torch.randn(17, size, dtype=dtype), gamma)
    if size <= 80:
        alpha = torch.randn(3, size, size, dtype=dtype)
        check(kernels, 1.5 * torch.randn(5, 6, 2, dtype=dtype), alpha, math.sqrt(2) * gamma)


@pytest.mark.parametrize("power", [-8, -5, -3, -2, -1, 0, 0.5, 1, 1.3, 1.7, 2, 3, 5, 8])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_tiny_and_huge_bandwidths(kernels: native.Kernels, power: float, dtype: torch.dtype) -> None:
    for size in (5, 20, 60):
        s = 1.5 * torch.randn(20, 9, dtype=dtype)
        s[:, 0] = torch.from_numpy(oracle.equispaced(size, 3.0))[torch.arange(20) % size].to(dtype)
        check(kernels, s, torch.randn(9, size, dtype=dtype), 10.0**power)
        alpha = torch.randn(2, size, size, dtype=dtype)
        check(kernels, 1.5 * torch.randn(20, 4, dtype=dtype), alpha, 10.0**power)


@pytest.mark.parametrize(("size", "gamma"), [(60, 1e8), (4096, 1e7), (65_536, 1e9)])
def test_narrow_kernels_are_exact(kernels: native.Kernels, size: int, gamma: float) -> None:
    """The plain formula in float32 rounds where the elements are, and is wrong by up to 6e-3 here."""
    elements = oracle.equispaced(size, 3.0)
    places = torch.from_numpy(elements)[torch.randint(size, (20, 3))]
    s = (places + torch.randn(20, 3, dtype=torch.float64) * 0.5 / math.sqrt(gamma)).float()
    alpha = torch.randn(3, size)
    expected = oracle.kaf(s.double().numpy(), alpha.double().numpy(), elements, oracle.Gaussian(gamma))
    result = kernels.forward(gaussian(size, gamma), s, alpha, 1)
    np.testing.assert_allclose(result.double().numpy(), expected, rtol=0, atol=2e-6)


def test_constants_are_those_of_the_call(kernels: native.Kernels) -> None:
    s, alpha = 1.5 * torch.randn(9, 17), torch.randn(17, 20)
    for gamma in (*[0.1 * 2**power for power in range(12)], 0.1, 0.1, 0.2):
        check(kernels, s, alpha, gamma)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_far_outside_the_dictionary(kernels: native.Kernels, dtype: torch.dtype) -> None:
    far = torch.tensor([3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 20.0, 1e3, 1e10, 1e30], dtype=dtype)
    s = torch.cat([far, -far, torch.zeros(1, dtype=dtype)]).unsqueeze(1).repeat(1, 2)
    check(kernels, s, torch.randn(2, 20, dtype=dtype), GAMMA)
    check(kernels, s, torch.randn(1, 20, 20, dtype=dtype), GAMMA)


@pytest.mark.parametrize("gamma", [GAMMA, 1e-6, 1e4])
@pytest.mark.parametrize("shape", [(6, 40), (6, 2, 20)])
def test_nan_and_infinity(kernels: native.Kernels, gamma: float, shape: tuple[int, ...]) -> None:
    s = torch.randn(shape)
    s[0], s[1], s[2] = math.nan, math.inf, -math.inf
    for alpha in (torch.randn(shape[1], 20), torch.randn(shape[1] // 2, 20, 20)):
        formula = gaussian(20, gamma, alpha.dim() - 1)
        result = kernels.forward(formula, s, alpha, 1)
        assert result[0].isnan().all()
        assert (result[1:3] == 0).all()
        assert result[3:].isfinite().all()
        by_s, by_alpha = kernels.backward(formula, torch.ones_like(result), s, alpha, 1, (True, True))
        assert by_s is not None
        assert by_alpha is not None
        assert by_s[0].isnan().all()
        assert (by_s[1:3] == 0).all()
        assert by_s[3:].isfinite().all()
        assert by_alpha.isnan().any()
        _, by_alpha = kernels.backward(formula, torch.ones_like(result[1:]), s[1:], alpha, 1, (True, True))
        assert by_alpha is not None
        assert by_alpha.isfinite().all()


@pytest.mark.parametrize("dim", [1, -1, 0, 2])
def test_layouts(kernels: native.Kernels, dim: int) -> None:
    dense = torch.randn(4, 6, 5, 8, dtype=torch.float64)
    variants = {
        "channels_last": dense.contiguous(memory_format=torch.channels_last),
        "reversed": dense.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0),
        "strided": torch.stack([dense, torch.full_like(dense, math.nan)], -1)[..., 0],
        "offset": torch.cat([torch.full((3,), math.nan).double(), dense.flatten()])[3:].view(dense.shape),
        "expanded": dense[:1].expand(4, -1, -1, -1),
    }
    neurons = dense.shape[dim]
    for s in variants.values():
        check(kernels, s, torch.randn(neurons, 20, dtype=torch.float64), GAMMA, dim)
        result = kernels.forward(gaussian(20, GAMMA), s, torch.randn(neurons, 20, dtype=torch.float64), dim)
        assert result.stride() == torch.empty_like(s).stride()


def test_empty_batches(kernels: native.Kernels) -> None:
    for shape in ((0, 4), (0, 4, 3), (2, 4, 0)):
        s, alpha = torch.randn(shape), torch.randn(4, 20)
        assert kernels.forward(gaussian(20, GAMMA), s, alpha, 1).shape == s.shape
        by_s, by_alpha = kernels.backward(gaussian(20, GAMMA), s, s, alpha, 1, (True, True))
        assert by_s is not None
        assert by_s.shape == s.shape
        assert torch.equal(by_alpha, torch.zeros_like(alpha))  # type: ignore[arg-type]


def test_long_sums_do_not_drift(kernels: native.Kernels) -> None:
    s = torch.zeros(200_000, 8)
    for shaped in (s, s.T.reshape(1, 8, -1)):
        upstream = torch.full_like(shaped, 0.1)
        _, by_alpha = kernels.backward(
            gaussian(21, GAMMA), upstream, shaped, torch.zeros(8, 21), 1, (False, True)
        )
        assert by_alpha is not None
        assert by_alpha[:, 10].numpy() == pytest.approx(200_000 * float(torch.tensor(0.1)), rel=3e-6)


def test_float32_error_is_near_the_composites(kernels: native.Kernels) -> None:
    """Within four times the largest error of the plain float32 formula, as is claimed."""
    torch.manual_seed(0)
    for dimensions, size in ((1, 20), (1, 80), (2, 10)):
        gamma = oracle.bandwidth_rule_of_thumb(6.0 / (size - 1), dimensions=dimensions)
        formula, elements = gaussian(size, gamma, dimensions), oracle.equispaced(size, 3.0)
        s = torch.randn(2000, 16, requires_grad=True)
        alpha = torch.randn(16 // dimensions, *[size] * dimensions, requires_grad=True)
        upstream = torch.randn(2000, 16 // dimensions)
        value: Any = oracle.kaf if dimensions == 1 else oracle.kaf2d
        slopes: Any = oracle.kaf_gradients if dimensions == 1 else oracle.kaf2d_gradients
        output = plain(formula, s, alpha, 1)
        composites = [output, *torch.autograd.grad(output, [s, alpha], upstream)]
        with torch.no_grad():
            fused = [
                kernels.forward(formula, s, alpha, 1),
                *kernels.backward(formula, upstream, s, alpha, 1, (True, True)),
            ]
        arrays = (s.detach().double().numpy(), alpha.detach().double().numpy(), elements)
        exact = slopes(*arrays, oracle.Gaussian(gamma), upstream.double().numpy())
        references = [value(*arrays, oracle.Gaussian(gamma)), exact.s, exact.alpha]
        for ours, theirs, right in zip(fused, composites, references, strict=True):
            assert ours is not None
            error = np.abs(ours.double().numpy() - right).max()
            assert error <= 4 * np.abs(theirs.detach().double().numpy() - right).max()


def test_unknown_instruction_sets_are_refused_with_a_reason() -> None:
    module, reason = native.load("avx1024")
    assert module is None
    assert "this processor cannot run avx1024, only" in reason


def test_modules_were_built_for_this_processor() -> None:
    names = [f"kafnets.ops._cpu_{name}" for name in native.INSTRUCTION_SETS]
    assert any(importlib.util.find_spec(name) for name in names)
