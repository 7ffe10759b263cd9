"""The native kernels of every instruction set this processor has, against the oracle."""

import importlib.util
import math
import multiprocessing
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests import oracle
from kafnets.ops import cpu
from kafnets.ops.grid import Grid
from tests.nn.agreement import expect_kaf, expect_kaf2d

RUNNABLE = [name for name in cpu.INSTRUCTION_SETS if cpu.load(name).module is not None]
pytestmark = pytest.mark.skipif(not RUNNABLE, reason="the native kernels were not built")

GAMMA = 361 / 216  # the rule of thumb for 20 elements in [-3, 3]


@pytest.fixture(params=RUNNABLE)
def kernels(request: pytest.FixtureRequest) -> cpu.Kernels:
    module = cpu.load(request.param).module
    assert module is not None
    return cpu.Kernels(module)


@pytest.fixture(autouse=True)
def poisoned_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fresh memory holds NaN, so that a value that is not written is seen."""
    empty, empty_like = torch.empty, torch.empty_like
    monkeypatch.setattr(torch, "empty", lambda *a, **k: empty(*a, **k).fill_(math.nan))
    monkeypatch.setattr(torch, "empty_like", lambda *a, **k: empty_like(*a, **k).fill_(math.nan))


def grid_of(size: int, boundary: float = 3.0) -> Grid:
    return Grid(size, -boundary, 2 * boundary / (size - 1))


def check(kernels: cpu.Kernels, s: Tensor, alpha: Tensor, grid: Grid, gamma: float, dim: int = 1) -> None:
    """Output and gradients equal the oracle."""
    result = kernels.forward(s, alpha, grid, gamma, dim)
    upstream = torch.randn(result.shape, dtype=torch.float64).to(s.dtype)
    by_s, by_alpha = kernels.backward(upstream, s, alpha, grid, gamma, dim, (True, True))
    expect: Any = expect_kaf if alpha.dim() == 2 else expect_kaf2d
    expected = expect(
        s.double().movedim(dim, -1).numpy(),
        alpha.double().numpy(),
        grid.elements(),
        oracle.Gaussian(gamma),
        upstream.double().movedim(dim, -1).numpy(),
        s.dtype,
    )
    assert by_s is not None
    assert by_alpha is not None
    expected[0].check(result.movedim(dim, -1), "output")
    expected[1].check(by_s.movedim(dim, -1), "input gradient")
    expected[2].check(by_alpha, "coefficient gradient")
    only_s, nothing = kernels.backward(upstream, s, alpha, grid, gamma, dim, (True, False))
    assert nothing is None
    torch.testing.assert_close(only_s, by_s, rtol=0, atol=0)
    nothing, only_alpha = kernels.backward(upstream, s, alpha, grid, gamma, dim, (False, True))
    assert nothing is None
    torch.testing.assert_close(only_alpha, by_alpha, rtol=0, atol=0)


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
def test_odd_sizes(kernels: cpu.Kernels, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    s = 1.5 * torch.randn(shape, dtype=dtype)
    check(kernels, s, torch.randn(shape[1], 20, dtype=dtype), grid_of(20), GAMMA)
    pairs = 1.5 * torch.randn(shape[0], 2 * shape[1], *shape[2:], dtype=dtype)
    check(kernels, pairs, torch.randn(shape[1], 7, 7, dtype=dtype), grid_of(7), 0.8)


@pytest.mark.parametrize("size", [2, 3, 4, 20, 21, 27, 28, 55, 80, 200, 500])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dictionary_sizes(kernels: cpu.Kernels, size: int, dtype: torch.dtype) -> None:
    grid = grid_of(size)
    gamma = oracle.bandwidth_rule_of_thumb(grid.spacing)
    check(kernels, 1.5 * torch.randn(9, 17, dtype=dtype), torch.randn(17, size, dtype=dtype), grid, gamma)
    if size <= 80:
        alpha = torch.randn(3, size, size, dtype=dtype)
        check(kernels, 1.5 * torch.randn(5, 6, 2, dtype=dtype), alpha, grid, math.sqrt(2) * gamma)


@pytest.mark.parametrize("power", [-8, -5, -3, -2, -1, 0, 0.5, 1, 1.3, 1.7, 2, 3, 5, 8])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_tiny_and_huge_bandwidths(kernels: cpu.Kernels, power: float, dtype: torch.dtype) -> None:
    for size in (5, 20, 60):
        s = 1.5 * torch.randn(20, 9, dtype=dtype)
        s[:, 0] = torch.from_numpy(grid_of(size).elements())[torch.arange(20) % size].to(dtype)
        check(kernels, s, torch.randn(9, size, dtype=dtype), grid_of(size), 10.0**power)
        alpha = torch.randn(2, size, size, dtype=dtype)
        check(kernels, 1.5 * torch.randn(20, 4, dtype=dtype), alpha, grid_of(size), 10.0**power)


def test_constants_are_those_of_the_call(kernels: cpu.Kernels) -> None:
    s, alpha = 1.5 * torch.randn(9, 17), torch.randn(17, 20)
    for gamma in (*[0.1 * 2**power for power in range(12)], 0.1, 0.1, 0.2):
        check(kernels, s, alpha, grid_of(20), gamma)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_far_outside_the_dictionary(kernels: cpu.Kernels, dtype: torch.dtype) -> None:
    far = torch.tensor([3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 20.0, 1e3, 1e10, 1e30], dtype=dtype)
    s = torch.cat([far, -far, torch.zeros(1, dtype=dtype)]).unsqueeze(1).repeat(1, 2)
    check(kernels, s, torch.randn(2, 20, dtype=dtype), grid_of(20), GAMMA)
    check(kernels, s, torch.randn(1, 20, 20, dtype=dtype), grid_of(20), GAMMA)


@pytest.mark.parametrize("gamma", [GAMMA, 1e-6, 1e4])
@pytest.mark.parametrize("shape", [(6, 40), (6, 2, 20)])
def test_nan_and_infinity(kernels: cpu.Kernels, gamma: float, shape: tuple[int, ...]) -> None:
    s = torch.randn(shape)
    s[0], s[1], s[2] = math.nan, math.inf, -math.inf
    for alpha in (torch.randn(shape[1], 20), torch.randn(shape[1] // 2, 20, 20)):
        result = kernels.forward(s, alpha, grid_of(20), gamma, 1)
        assert result[0].isnan().all()
        assert (result[1:3] == 0).all()
        assert result[3:].isfinite().all()
        by_s, by_alpha = kernels.backward(
            torch.ones_like(result), s, alpha, grid_of(20), gamma, 1, (True, True)
        )
        assert by_s is not None
        assert by_alpha is not None
        assert by_s[0].isnan().all()
        assert (by_s[1:3] == 0).all()
        assert by_s[3:].isfinite().all()
        assert by_alpha.isnan().any()
        _, by_alpha = kernels.backward(
            torch.ones_like(result[1:]), s[1:], alpha, grid_of(20), gamma, 1, (True, True)
        )
        assert by_alpha is not None
        assert by_alpha.isfinite().all()


@pytest.mark.parametrize("dim", [1, -1, 0, 2])
def test_layouts(kernels: cpu.Kernels, dim: int) -> None:
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
        check(kernels, s, torch.randn(neurons, 20, dtype=torch.float64), grid_of(20), GAMMA, dim)
        result = kernels.forward(s, torch.randn(neurons, 20, dtype=torch.float64), grid_of(20), GAMMA, dim)
        assert result.stride() == torch.empty_like(s).stride()


def test_empty_batches(kernels: cpu.Kernels) -> None:
    for shape in ((0, 4), (0, 4, 3), (2, 4, 0)):
        s, alpha = torch.randn(shape), torch.randn(4, 20)
        assert kernels.forward(s, alpha, grid_of(20), GAMMA, 1).shape == s.shape
        by_s, by_alpha = kernels.backward(s, s, alpha, grid_of(20), GAMMA, 1, (True, True))
        assert by_s is not None
        assert by_s.shape == s.shape
        assert torch.equal(by_alpha, torch.zeros_like(alpha))  # type: ignore[arg-type]


def test_long_sums_do_not_drift(kernels: cpu.Kernels) -> None:
    s = torch.zeros(200_000, 8)
    for shaped in (s, s.T.reshape(1, 8, -1)):
        upstream = torch.full_like(shaped, 0.1)
        _, by_alpha = kernels.backward(
            upstream, shaped, torch.zeros(8, 21), grid_of(21), GAMMA, 1, (False, True)
        )
        assert by_alpha is not None
        assert by_alpha[:, 10].numpy() == pytest.approx(200_000 * float(torch.tensor(0.1)), rel=3e-6)


@pytest.fixture(params=["torch's threads", "own threads"])
def many_threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    modules = [module for name in RUNNABLE if (module := cpu.load(name).module) is not None]
    before = torch.get_num_threads()
    monkeypatch.setattr(cpu, "TERMS_PER_THREAD", 1)
    torch.set_num_threads(3)
    for module in modules:
        module.use_openmp(request.param == "torch's threads")
    yield
    torch.set_num_threads(before)
    for module in modules:
        module.use_openmp(True)


@pytest.mark.usefixtures("many_threads")
@pytest.mark.parametrize("shape", [(1, 40), (2, 40), (50, 40), (7, 3, 20), (7, 1, 20)])
def test_threads(kernels: cpu.Kernels, shape: tuple[int, ...]) -> None:
    check(kernels, torch.randn(shape), torch.randn(shape[1], 20), grid_of(20), GAMMA)
    pairs = torch.randn(shape[0], 2 * shape[1], *shape[2:])
    check(kernels, pairs, torch.randn(shape[1], 7, 7), grid_of(7), 0.8)


@pytest.mark.usefixtures("many_threads")
def test_several_python_threads_at_once(kernels: cpu.Kernels) -> None:
    s, alpha = torch.randn(200, 64), torch.randn(64, 20)
    expected = kernels.forward(s, alpha, grid_of(20), GAMMA, 1)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: kernels.forward(s, alpha, grid_of(20), GAMMA, 1), range(200)))
    assert all(torch.equal(result, expected) for result in results)


def test_python_goes_on_meanwhile(kernels: cpu.Kernels) -> None:
    s, alpha = torch.randn(3000, 1000), torch.randn(1000, 20)
    started, finished = threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        for _ in range(5):
            kernels.forward(s, alpha, grid_of(20), GAMMA, 1)
        finished.set()

    thread = threading.Thread(target=work)
    thread.start()
    started.wait()
    steps = 0
    while not finished.is_set():
        steps += 1
    thread.join()
    assert steps > 1000  # a held lock would let through about one a call


def _in_child(queue: Any, s: Tensor, alpha: Tensor, name: str) -> None:
    torch.set_num_threads(3)
    module = cpu.load(name).module
    assert module is not None
    queue.put(cpu.Kernels(module).forward(s, alpha, grid_of(20), GAMMA, 1).sum().item())


@pytest.mark.usefixtures("many_threads")
@pytest.mark.parametrize("name", RUNNABLE)
def test_a_forked_child_has_threads_of_its_own(name: str) -> None:
    module = cpu.load(name).module
    assert module is not None
    s, alpha = torch.randn(200, 64), torch.randn(64, 20)
    expected = cpu.Kernels(module).forward(s, alpha, grid_of(20), GAMMA, 1).sum().item()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(queue, s, alpha, name))
    child.start()
    result = queue.get(timeout=60)
    child.join(timeout=60)
    assert child.exitcode == 0
    assert result == pytest.approx(expected, rel=1e-6)


def test_float32_error_is_near_the_composites(kernels: cpu.Kernels) -> None:
    """Within four times the largest error of the plain float32 formula, as is claimed."""
    from kafnets import Gaussian
    from kafnets.ops import composite

    torch.manual_seed(0)
    for dimensions, size in ((1, 20), (1, 80), (2, 10)):
        grid = grid_of(size)
        gamma = oracle.bandwidth_rule_of_thumb(grid.spacing, dimensions=dimensions)
        s = torch.randn(2000, 16, requires_grad=True)
        alpha = torch.randn(16 // dimensions, *[size] * dimensions, requires_grad=True)
        upstream = torch.randn(2000, 16 // dimensions)
        plain: Any = composite.kaf if dimensions == 1 else composite.kaf2d
        value: Any = oracle.kaf if dimensions == 1 else oracle.kaf2d
        slopes: Any = oracle.kaf_gradients if dimensions == 1 else oracle.kaf2d_gradients
        dictionary = torch.from_numpy(grid.elements()).float()
        output = plain(s, alpha, dictionary, Gaussian(), gamma)
        composites = [output, *torch.autograd.grad(output, [s, alpha], upstream)]
        with torch.no_grad():
            fused = [
                kernels.forward(s, alpha, grid, gamma, 1),
                *kernels.backward(upstream, s, alpha, grid, gamma, 1, (True, True)),
            ]
        arrays = (s.detach().double().numpy(), alpha.detach().double().numpy(), grid.elements())
        exact = slopes(*arrays, oracle.Gaussian(gamma), upstream.double().numpy())
        references = [value(*arrays, oracle.Gaussian(gamma)), exact.s, exact.alpha]
        for ours, theirs, right in zip(fused, composites, references, strict=True):
            assert ours is not None
            error = np.abs(ours.double().numpy() - right).max()
            assert error <= 4 * np.abs(theirs.detach().double().numpy() - right).max()


def test_unknown_instruction_sets_are_refused_with_a_reason() -> None:
    module, reason = cpu.load("avx1024")
    assert module is None
    assert "this processor cannot run avx1024, only" in reason


def test_modules_were_built_for_this_processor() -> None:
    names = [f"kafnets.ops._cpu_{name}" for name in cpu.INSTRUCTION_SETS]
    assert any(importlib.util.find_spec(name) for name in names)
