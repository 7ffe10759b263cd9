"""A NaN that comes in is seen in everything that depends on it, gradients included, and in nothing else."""

import math

import pytest
import torch

import kafnets
from kafnets import KAF, KAF2D, Gaussian, Kernel, Periodic, Polynomial, ReLUKernel, Softplus
from kafnets.ops import native
from tests.ops.cases import RUNNABLE

KERNELS_2D = [Gaussian(), Gaussian(learn_gamma=True), Polynomial(2), Periodic()]


def check_pairs(module: KAF2D, dtype: torch.dtype) -> None:
    for shape in ((40, 6), (2, 6, 20)):
        for place in (2, 3):
            s = torch.randn(shape, dtype=dtype)
            s[1, place] = math.nan
            s.requires_grad_()
            result = module(s)
            by_s, by_alpha = torch.autograd.grad(result.sum(), [s, module.alpha])
            hit, pair = result.isnan(), by_s.isnan()
            assert hit[1, 1].all()
            assert pair[1, 2:4].all()
            assert hit.sum() == hit[1, 1].sum()
            assert pair.sum() == pair[1, 2:4].sum()
            assert by_alpha[1].isnan().any()
            assert by_alpha[[0, 2]].isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("instruction_set", RUNNABLE)
@pytest.mark.parametrize("size", [10, 40])
def test_pairs_on_native_kernels(
    instruction_set: str, dtype: torch.dtype, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = native.load(instruction_set).module
    assert module is not None
    monkeypatch.setattr(native, "kernels", native.Kernels(module))
    with kafnets.use_backend("cpu"):
        check_pairs(KAF2D(6, dictionary_size=size, dtype=dtype), dtype)


@pytest.mark.parametrize("backend", ["auto", "portable", "composite"])
@pytest.mark.parametrize("kernel", KERNELS_2D, ids=repr)
def test_pairs(backend: str, kernel: Kernel) -> None:
    with kafnets.use_backend(backend):
        check_pairs(KAF2D(6, kernel=kernel), torch.float32)


@pytest.mark.parametrize("backend", ["auto", "portable", "composite"])
@pytest.mark.parametrize("kernel", [Gaussian(), Gaussian(learn_gamma=True), Softplus()], ids=repr)
def test_slopes(backend: str, kernel: Kernel) -> None:
    s = torch.tensor([[math.nan, 0.3]], requires_grad=True)
    with kafnets.use_backend(backend):
        (by_s,) = torch.autograd.grad(KAF(2, kernel=kernel)(s).sum(), s)
    assert by_s.isnan().tolist() == [[True, False]]


@pytest.mark.parametrize("backend", ["auto", "portable", "composite"])
def test_the_slope_of_the_relu_kernel(backend: str) -> None:
    module = KAF(2, kernel=ReLUKernel())
    s = torch.tensor([[math.nan, 0.3]], requires_grad=True)
    with kafnets.use_backend(backend):
        result = module(s)
        (by_s,) = torch.autograd.grad(result.sum(), s)
    assert result.isnan().tolist() == [[True, False]]
    assert by_s.isnan().tolist() == [[True, False]]
