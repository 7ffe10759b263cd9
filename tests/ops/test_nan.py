"""A NaN that comes in is seen in everything that depends on it, gradients included, and in nothing else."""

import math
from typing import Any, cast

import pytest
import torch

import kafnets
from kafnets import KAF, KAF2D, Gaussian, Kernel, Periodic, Polynomial, ReLUKernel, Softplus
from kafnets.ops import hinge_sum, native
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


@pytest.mark.parametrize("backend", [*RUNNABLE, "portable", "composite"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["srelu", "apl", "hermite", "paf", "saf"])
@pytest.mark.parametrize("rows", [2, 40])
def test_other_formulas(
    backend: str, dtype: torch.dtype, name: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if backend in RUNNABLE:
        monkeypatch.setattr(native, "kernels", native.Kernels(cast(Any, native.load(backend).module)))
    module = kafnets.create(name, 3).to(dtype)
    s = torch.randn(rows, 3, dtype=dtype, generator=torch.Generator().manual_seed(0))
    s[1, 1] = math.nan
    s.requires_grad_()
    with kafnets.use_backend("cpu" if backend in RUNNABLE else backend):
        result = module(s)
        by_s, *by_parameters = torch.autograd.grad(result.sum(), [s, *module.parameters()])
    assert torch.equal(result.isnan(), s.isnan())
    assert torch.equal(by_s.isnan(), s.isnan())
    for each in by_parameters:
        assert each.isfinite()[[0, 2]].all()
        assert name in ("paf", "saf") or each[1].isnan().all()


@pytest.mark.parametrize("backend", [*RUNNABLE, "portable"])
def test_hinges_that_are_closed_at_infinity(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if backend in RUNNABLE:
        monkeypatch.setattr(native, "kernels", native.Kernels(cast(Any, native.load(backend).module)))
    places = torch.tensor([[-1.0, 1.0]])
    s = torch.tensor([[math.inf], [0.5]])
    slopes = torch.tensor([[0.5, 0.25]], requires_grad=True)
    with kafnets.use_backend("cpu" if backend in RUNNABLE else backend):
        result = hinge_sum(s, slopes, places, to_the_right=0, rectified=True, dim=1)
        (by_slopes,) = torch.autograd.grad(result.sum(), slopes)
    assert result.tolist() == [[math.inf], [0.625]]
    assert by_slopes.tolist() == [[0.0, 0.5]]
