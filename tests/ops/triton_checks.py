"""What test_triton.py runs in a process of its own: ``python -m tests.ops.triton_checks``."""

import itertools
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import triton.language as tl
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

import kafnets
from kafnets import Dictionary, Expansion, Gaussian
from kafnets.expansion import TAILS
from kafnets.fixed_functions import FUNCTIONS
from kafnets.ops import formula_of
from kafnets.ops import triton as ops
from kafnets.ops.kaf import ExpansionFormula
from tests import oracle
from tests.nn.agreement import expect_kaf, expect_kaf2d
from tests.nn.test_agreement import laid_out
from tests.nn.test_outside import SETTINGS, activations, assert_equals_the_oracle, build

RUNNER = ops.TritonRunner()
BOTH = (True, True)
DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16]


def gaussian(size: int, dimensions: int, gamma: float = 1.3, boundary: float = 3.0) -> ExpansionFormula:
    return formula_of(Expansion(Gaussian(gamma), Dictionary.equispaced(size, boundary), dimensions))


def coefficients(dimensions: int, channels: int, size: int, dtype: torch.dtype) -> Tensor:
    alpha = torch.randn(channels // dimensions, *[size] * dimensions, dtype=torch.float64)
    return (0.5 * alpha).to(dtype)


def check_against_oracle(
    x: Tensor, size: int, dimensions: int, dim: int = 1, gamma: float = 1.3, boundary: float = 3.0
) -> None:
    """Result and gradients, their dtypes and memory layouts."""
    formula = gaussian(size, dimensions, gamma, boundary)
    alpha = coefficients(dimensions, x.shape[dim], size, x.dtype)
    result = RUNNER.forward(formula, x, alpha, dim)
    upstream = torch.randn(result.shape, dtype=torch.float64).to(x.dtype)
    by_x, by_alpha = RUNNER.backward(formula, upstream, x, alpha, dim, BOTH)
    assert by_x is not None
    assert by_alpha is not None

    expect = expect_kaf if dimensions == 1 else expect_kaf2d
    expected = expect(
        x.double().movedim(dim, -1).numpy(),
        alpha.double().numpy(),
        oracle.equispaced(size, boundary),
        oracle.Gaussian(gamma),
        upstream.double().movedim(dim, -1).numpy(),
        torch.promote_types(x.dtype, torch.float32),
    )
    what = f"{tuple(x.shape)} along {dim}, {x.dtype}, D = {size}, {dimensions}D"
    expected[0].check(result.movedim(dim, -1), f"output of {what}")
    expected[1].check(by_x.movedim(dim, -1), f"input gradient of {what}")
    expected[2].check(by_alpha, f"coefficient gradient of {what}")
    assert result.dtype == by_x.dtype == by_alpha.dtype == x.dtype
    assert by_alpha.is_contiguous()
    if x.numel():
        like_input = torch.empty_like(x).stride()
        for found in (result, by_x) if dimensions == 1 else (by_x,):
            for axis, stride in enumerate(like_input):
                assert found.shape[axis] == 1 or found.stride(axis) == stride, what


def normal(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return (1.7 * torch.randn(shape, dtype=torch.float64)).to(dtype)


def check_dictionary_sizes() -> None:
    for dimensions, size, dtype in itertools.product([1, 2], [2, 7, 20, 65], DTYPES):
        if size == 7 or torch.finfo(dtype).bits >= 32:
            gamma = 0.4 * ((size - 1) / 6.0) ** 2
            check_against_oracle(normal(5, 6, dtype=dtype), size, dimensions, gamma=gamma)
            check_against_oracle(normal(2, 2, 3, dtype=dtype), size, dimensions, gamma=gamma)
    check_against_oracle(normal(3, 2), 500, 1, gamma=400.0)
    check_against_oracle(normal(2, 2), 130, 2, gamma=40.0)


def check_shapes_and_layouts() -> None:
    for dimensions in (1, 2):
        shapes = [(1, 2), (3, 34), (70, 66), (1, 2, 1), (2, 6, 13), (3, 2, 5, 7), (2, 4, 1, 1), (1, 2, 300)]
        for shape in shapes:
            check_against_oracle(normal(*shape), 7, dimensions)
        for shape in [(6,), (5, 3, 6), (2, 3, 2, 4)]:
            check_against_oracle(normal(*shape), 7, dimensions, dim=-1)
        for layout in ("channels_last", "transposed", "strided", "offset"):
            check_against_oracle(laid_out(normal(3, 4, 5, 2), layout), 7, dimensions)
            check_against_oracle(laid_out(normal(3, 5, 4), layout), 7, dimensions, dim=-1)
        check_against_oracle(normal(1, 4, 3).expand(5, 4, 3), 7, dimensions)
        for shape in [(0, 4), (0, 4, 3), (2, 4, 0)]:
            check_against_oracle(normal(*shape), 7, dimensions)
    check_against_oracle(normal(3, 1), 7, 1)
    check_against_oracle(normal(4, 35), 7, 1)


def check_unusual_values() -> None:
    """Far outside all is zero, whatever the grid's place and scale; NaN stays where it is."""
    far = torch.tensor([[-1e30, -1e4, -50.0, -6.0], [6.0, 50.0, 1e4, 1e30]])
    for dimensions, dtype in itertools.product([1, 2], [torch.float32, torch.float64]):
        check_against_oracle(far.to(dtype), 20, dimensions)
        for boundary, gamma in [(1e-6, 1e13), (1e6, 1e-10), (3.0, 1e9), (3.0, 1e-9)]:
            check_against_oracle(
                boundary * normal(6, 4, dtype=dtype), 7, dimensions, gamma=gamma, boundary=boundary
            )
    offset = Dictionary.of([1000.0 + 0.25 * k for k in range(5)])
    for dimensions, dtype in itertools.product([1, 2], DTYPES):
        x = torch.randn(5, 4).to(dtype)
        x[1] = torch.inf
        x[3] = -torch.inf
        x[4, :2] = torch.nan
        for dictionary in (Dictionary.equispaced(7, 3.0), offset):
            formula = formula_of(Expansion(Gaussian(2.0), dictionary, dimensions))
            alpha = coefficients(dimensions, 4, dictionary.size, dtype)
            result = RUNNER.forward(formula, x, alpha, 1)
            by_x, by_alpha = RUNNER.backward(formula, torch.ones_like(result), x, alpha, 1, BOTH)
            assert by_x is not None
            assert by_alpha is not None
            for found in (result, by_x):
                assert (found[[1, 3]] == 0).all()
                assert found[4, : found.shape[1] // 2].isnan().all()
                assert not found[4, found.shape[1] // 2 :].isnan().any()
                assert found[[0, 2]].isfinite().all()
            assert by_alpha[: len(alpha) // 2].isnan().all()
            assert by_alpha[len(alpha) // 2 :].isfinite().all()


def check_nan_in_a_pair() -> None:
    """Both values of the pair get a NaN for a gradient, and no other."""
    for dtype, shape, place in itertools.product(DTYPES, [(3, 4), (3, 4, 2)], [2, 3]):
        x = normal(*shape, dtype=dtype)
        x[1, place] = torch.nan
        formula, alpha = gaussian(7, 2), coefficients(2, 4, 7, dtype)
        result = RUNNER.forward(formula, x, alpha, 1)
        by_x, by_alpha = RUNNER.backward(formula, torch.ones_like(result), x, alpha, 1, BOTH)
        assert by_x is not None
        assert by_alpha is not None
        hit, pair = torch.zeros(result.shape, dtype=torch.bool), torch.zeros(shape, dtype=torch.bool)
        hit[1, 1], pair[1, 2:] = True, True
        assert torch.equal(result.isnan(), hit)
        assert torch.equal(by_x.isnan(), pair)
        assert by_alpha[0].isfinite().all()
        assert by_alpha[1].isnan().any()


def check_wanted() -> None:
    for dimensions, shape in itertools.product([1, 2], [(90, 4), (2, 4, 45)]):
        x, alpha = normal(*shape), coefficients(dimensions, 4, 7, torch.float32)
        formula = gaussian(7, dimensions)
        upstream = torch.randn_like(RUNNER.forward(formula, x, alpha, 1))
        arguments = (formula, upstream, x, alpha, 1)
        by_x, by_alpha = RUNNER.backward(*arguments, BOTH)
        assert by_x is not None
        assert by_alpha is not None
        assert RUNNER.backward(*arguments, (False, False)) == (None, None)
        only_x = RUNNER.backward(*arguments, (True, False))
        assert only_x[0] is not None
        assert only_x[1] is None
        assert torch.equal(only_x[0], by_x)
        only_alpha = RUNNER.backward(*arguments, (False, True))
        assert only_alpha[0] is None
        assert only_alpha[1] is not None
        assert torch.equal(only_alpha[1], by_alpha)


@contextmanager
def setting(name: str, value: int) -> Iterator[None]:
    before = getattr(ops, name)
    setattr(ops, name, value)
    try:
        yield
    finally:
        setattr(ops, name, before)


def check_row_blocks() -> None:
    """Several partial sums, several tiles for each, and more partial sums than tiles."""
    for dimensions, terms, blocks in itertools.product([1, 2], [32, 1024], [3, 256]):
        with setting("TERMS", terms), setting("ROW_BLOCKS", blocks):
            for x in (normal(41, 6), normal(3, 2, 17)):
                alpha = coefficients(dimensions, x.shape[1], 3, x.dtype)
                assert len(ops._workspace(alpha, ops._View.of(x, 1, alpha))) > 2
                check_against_oracle(x, 3, dimensions)
    for dimensions in (1, 2):
        x, alpha = normal(300, 4), coefficients(dimensions, 4, 3, torch.float32)
        upstream = torch.ones(300, len(alpha))
        formula = gaussian(3, dimensions)
        found = [RUNNER.backward(formula, upstream, x, alpha, 1, (False, True))[1] for _ in range(2)]
        assert found[0] is not None
        assert found[1] is not None
        assert torch.equal(found[0], found[1])
        check_against_oracle(x, 3, dimensions)


def check_wide_addresses() -> None:
    with setting("WIDE", 0):
        for dimensions, shape in itertools.product([1, 2], [(90, 4), (2, 4, 45)]):
            check_against_oracle(normal(*shape), 7, dimensions)


class _Allocations(TorchDispatchMode):
    """Remembers the largest tensor, in bytes, that any operator returned."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.largest = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor):
            self.largest = max(self.largest, result.nbytes)
        return result


def check_memory() -> None:
    """Nothing larger than the input or the coefficients is made, and few partial sums."""
    for dimensions, rows, size in itertools.product([1, 2], [1, 50, 10**4, 10**7], [2, 20, 100]):
        alpha = torch.empty(1, *[size] * dimensions)
        view = ops._View(rows, 1, 1, torch.float32, tl.int32)
        workspace = ops._workspace(alpha.to("meta"), view)
        assert 1 <= len(workspace) <= 256
        assert workspace.numel() <= max(rows, alpha.numel())
    for dimensions, shape in itertools.product([1, 2], [(200, 6), (4, 6, 50), (3, 6)]):
        x, alpha = normal(*shape), coefficients(dimensions, 6, 7, torch.float32)
        formula = gaussian(7, dimensions)
        with _Allocations() as seen:
            result = RUNNER.forward(formula, x, alpha, 1)
            RUNNER.backward(formula, torch.ones_like(result), x, alpha, 1, BOTH)
        assert result.nbytes <= seen.largest <= max(x.nbytes, alpha.nbytes)


def check_modules() -> None:
    modules: list[Callable[..., torch.nn.Module]] = [kafnets.KAF, kafnets.KAF2D]
    for make, shape in itertools.product(modules, [(5, 4), (2, 4, 3)]):
        module = make(4, dictionary_size=4, dim=1).double()
        x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
        found = {}
        for name in ("triton", "composite"):
            with kafnets.use_backend(name):
                result = module(x)
                assert name == "composite" or "Recorded" in type(result.grad_fn).__name__
                found[name] = (result, *torch.autograd.grad(result.sin().sum(), [x, *module.parameters()]))
        for one, other in zip(*found.values(), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-13)

        def apply(x: Tensor, alpha: Tensor, module: torch.nn.Module = module) -> Tensor:
            return torch.func.functional_call(module, {"alpha": alpha}, (x,))

        with kafnets.use_backend("triton"):
            leaves = [x[:1].detach().requires_grad_(), module.get_parameter("alpha")]
            assert torch.autograd.gradcheck(apply, leaves, fast_mode=True)
            assert torch.autograd.gradgradcheck(apply, leaves, fast_mode=True)
            with torch.no_grad():
                torch.testing.assert_close(module(x), found["triton"][0])


def check_outside() -> None:
    """Tails and bases beside the oracle."""
    with kafnets.use_backend("triton"):
        for dtype in (torch.float32, torch.float64):
            for setting in SETTINGS:
                assert_equals_the_oracle(build(*setting, dtype=dtype), activations(3, 5, 7, dtype=dtype))
            for tails in TAILS:  # more rows than a tile has, which is the same for all bases
                kaf = build(tails, "silu", "residual", dtype=dtype)
                assert_equals_the_oracle(kaf, activations(33, 7, dtype=dtype))


def check_bases_at_unusual_values() -> None:
    """NaN, and slopes at 0 and far away, beside torch's own functions."""
    places = torch.tensor([[torch.nan], [-1e30], [-200.0], [-30.0], [0.0], [30.0], [200.0], [1e30]])
    for tails, name in itertools.product(TAILS, FUNCTIONS):
        kaf = kafnets.KAF(1, base=name, tails=tails)
        found = []
        for backend in ("triton", "composite"):
            s = places.clone().requires_grad_()
            with kafnets.use_backend(backend):
                result = kaf(s)
            found.append((result, *torch.autograd.grad(result.sum(), s)))
        for one, other in zip(*found, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-6, equal_nan=True)


def check_outside_in_blocks() -> None:
    """Several partial sums of weights, several tiles for each, channels first and last."""
    kaf = build("linear", "silu", "residual", dtype=torch.float64)
    for terms, blocks in itertools.product([32, 1024], [3, 256]):
        with setting("TERMS", terms), setting("ROW_BLOCKS", blocks), kafnets.use_backend("triton"):
            assert_equals_the_oracle(kaf, activations(300, 7, dtype=torch.float64))
    images = activations(4, 7, 6, 5, dtype=torch.float64)
    kaf.dim = 1
    results = []
    for backend in ("triton", "composite"):
        s = images.clone().requires_grad_()
        with kafnets.use_backend(backend):
            results.append(torch.autograd.grad(kaf(s).sin().sum(), [s, *kaf.parameters()]))
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


CHECKS = [
    check_dictionary_sizes,
    check_shapes_and_layouts,
    check_unusual_values,
    check_nan_in_a_pair,
    check_wanted,
    check_row_blocks,
    check_wide_addresses,
    check_memory,
    check_modules,
    check_outside,
    check_outside_in_blocks,
    check_bases_at_unusual_values,
]


def run_all() -> list[str]:
    """Run each, also after one that fails; returns the names of those that do."""
    failed = []
    for check in CHECKS:
        torch.manual_seed(0)
        try:
            check()
        except Exception:
            traceback.print_exc()
            failed.append(check.__name__)
    return failed


if __name__ == "__main__":
    sys.exit(", ".join(run_all()) or None)
