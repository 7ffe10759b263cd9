"""Every formula: native kernels and hand-written derivatives, against autograd through the plain formula."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from kafnets import Dictionary, Expansion, Gaussian
from kafnets.functional import kaf
from kafnets.ops import bell_sum, hermite_sum, hinge_sum, native, piecewise_cubic, power_sum, use_backend
from tests.ops.cases import RUNNABLE

LEARNED = Expansion(Gaussian(1.0, "neuron"), Dictionary.of([-2.5 + 0.45 * k for k in range(12)]))
SHARED = Expansion(Gaussian(1.0, "shared"), Dictionary.equispaced(3, 1.0))

Op = Callable[[Tensor, Tensor, int], Tensor]
OPS: dict[str, tuple[int, Op]] = {
    "hinges": (
        6,
        lambda s, t, dim: hinge_sum(s, t[:, :3], t[:, 3:], to_the_right=1, rectified=True, dim=dim),
    ),
    "hinges on a line": (
        4,
        lambda s, t, dim: hinge_sum(s, t[:, :2], t[:, 2:], to_the_right=0, rectified=False, dim=dim),
    ),
    "powers": (5, lambda s, t, dim: power_sum(s, t, dim=dim)),
    "a line": (2, lambda s, t, dim: power_sum(s, t, dim=dim)),
    "hermite": (9, lambda s, t, dim: hermite_sum(s, t, dim=dim)),
    "one hermite": (1, lambda s, t, dim: hermite_sum(s, t, dim=dim)),
    "bells": (14, lambda s, t, dim: bell_sum(s, t[:, :7], t[:, 7:], 0.8, dim=dim)),
    "one narrow bell": (2, lambda s, t, dim: bell_sum(s, t[:, :1], t[:, 1:], 50.0, dim=dim)),
    "bandwidths": (
        13,
        lambda s, t, dim: kaf(s, t[:, :-1], LEARNED, dim, gamma=t[:, -1].exp()),
    ),
    "one bandwidth": (
        3,
        lambda s, t, dim: kaf(s, t, SHARED, dim, gamma=torch.tensor(0.7).to(t)),
    ),
    "cubics": (
        4 * 12,
        lambda s, t, dim: piecewise_cubic(s, t.unflatten(1, (-1, 4)), first=-2.0, spacing=0.4, dim=dim),
    ),
}
SHAPES = [
    ((7, 5), 1),
    ((130, 33), 1),
    ((1, 1), 1),
    ((3, 4, 6), 1),
    ((2, 3, 5, 7), 1),
    ((4, 6, 17), -1),
    ((9,), 0),
]

every_op = pytest.mark.parametrize("op", OPS)


@pytest.fixture(params=[*RUNNABLE, "portable"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "portable":
        return "portable"
    module = native.load(request.param).module
    assert module is not None
    monkeypatch.setattr(native, "kernels", native.Kernels(module))
    return "cpu"


def inputs(op: str, shape: tuple[int, ...], dim: int, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(2)
    s = torch.randn(shape, generator=generator, dtype=torch.float64) * 2
    table = torch.randn(shape[dim], OPS[op][0], generator=generator, dtype=torch.float64)
    upstream = torch.randn(shape, generator=generator, dtype=torch.float64)
    return s.to(dtype).requires_grad_(), table.to(dtype).requires_grad_(), upstream.to(dtype)


def run(op: str, s: Tensor, table: Tensor, upstream: Tensor, dim: int) -> list[Tensor]:
    result = OPS[op][1](s, table, dim)
    return [result, *torch.autograd.grad(result, (s, table), upstream)]


def right(op: str, s: Tensor, table: Tensor, upstream: Tensor, dim: int) -> list[Tensor]:
    """By autograd through the plain formula, in float64."""
    with use_backend("composite"):
        exact = [each.detach().double() for each in (s, table, upstream)]
        return run(op, exact[0].requires_grad_(), exact[1].requires_grad_(), exact[2], dim)


@every_op
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("shape", "dim"), SHAPES)
def test_values_and_gradients(
    op: str, dtype: torch.dtype, shape: tuple[int, ...], dim: int, backend: str
) -> None:
    s, table, upstream = inputs(op, shape, dim, dtype)
    with use_backend(backend):
        found = run(op, s, table, upstream, dim)
    for actual, expected in zip(found, right(op, s, table, upstream, dim), strict=True):
        assert actual.dtype == dtype
        scale = expected.abs().max().clamp_min(1)
        assert (actual.double() - expected).abs().max() <= 10 * torch.finfo(dtype).eps * scale


@every_op
def test_memory_layouts(op: str, backend: str) -> None:
    s, table, upstream = inputs(op, (3, 5, 4, 6), 1, torch.float64)
    expected = right(op, s, table, upstream, 1)
    other = s.detach().to(memory_format=torch.channels_last).requires_grad_()
    strided = torch.stack([s.detach()] * 2, -1)[..., 0].requires_grad_()
    with use_backend(backend):
        for each in (other, strided):
            for actual, wanted in zip(run(op, each, table, upstream, 1), expected, strict=True):
                torch.testing.assert_close(actual, wanted)


@every_op
def test_one_gradient_at_a_time(op: str, backend: str) -> None:
    s, table, upstream = inputs(op, (20, 6), 1, torch.float64)
    _, of_s, of_table = right(op, s, table, upstream, 1)
    with use_backend(backend):
        alone = OPS[op][1](s, table.detach(), 1)
        torch.testing.assert_close(torch.autograd.grad(alone, s, upstream)[0], of_s)
        alone = OPS[op][1](s.detach(), table, 1)
        torch.testing.assert_close(torch.autograd.grad(alone, table, upstream)[0], of_table)


@every_op
def test_far_away_nan_and_nothing(op: str, backend: str) -> None:
    s, table, _ = inputs(op, (6, 4), 1, torch.float32)
    far = s.detach().clone()
    far[0], far[1], far[2] = 1e4, -1e4, torch.nan
    with use_backend(backend):
        result = OPS[op][1](far, table, 1)
        empty = OPS[op][1](far[:0].requires_grad_(), table, 1)
        empty.sum().backward()
    with use_backend("composite"):
        expected = OPS[op][1](far.double(), table.double(), 1)
    assert result[2].isnan().all()
    torch.testing.assert_close(result[:2].double(), expected[:2], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(result[3:].double(), expected[3:], rtol=1e-5, atol=1e-5)
    assert empty.shape == (0, 4)
    assert table.grad is not None
    assert not table.grad.any()


@every_op
def test_nothing_larger_than_the_input_is_kept(op: str, backend: str) -> None:
    s, table, _ = inputs(op, (50, 40), 1, torch.float32)
    sizes: list[int] = []

    def note(tensor: Tensor) -> Tensor:
        sizes.append(tensor.numel())
        return tensor

    with use_backend(backend), torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        OPS[op][1](s, table, 1)
    assert sorted(sizes)[-1] <= max(s.numel(), table.numel())
    assert sizes.count(s.numel()) == 1


@every_op
def test_threads_agree(op: str) -> None:
    if not RUNNABLE:
        pytest.skip("the native kernels were not built")
    s, table, upstream = inputs(op, (4096, 300), 1, torch.float32)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = run(op, s, table, upstream, 1)
        torch.set_num_threads(2)
        together = run(op, s, table, upstream, 1)
    finally:
        torch.set_num_threads(threads)
    for one, two in zip(alone, together, strict=True):
        torch.testing.assert_close(one, two)
