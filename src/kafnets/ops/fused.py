"""The fused kernels with their derivatives, for eager torch."""

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor

from kafnets.kernels import Gaussian
from kafnets.ops import composite
from kafnets.ops.grid import Grid
from kafnets.ops.layout import along_dim
from kafnets.ops.transforms import is_batched


class Runner(Protocol):
    """A fused implementation: one-dimensional or two-dimensional by the number of alpha's axes."""

    def forward(self, input: Tensor, alpha: Tensor, grid: Grid, gamma: float, dim: int) -> Tensor: ...

    def backward(
        self,
        upstream: Tensor,
        input: Tensor,
        alpha: Tensor,
        grid: Grid,
        gamma: float,
        dim: int,
        wanted: tuple[bool, bool],
    ) -> tuple[Tensor | None, Tensor | None]: ...


def run(input: Tensor, alpha: Tensor, grid: Grid, gamma: float, dim: int, runner: Runner) -> Tensor:
    """The expansion, recorded for autograd where that is asked for."""
    if torch.is_grad_enabled() and (input.requires_grad or alpha.requires_grad):
        return _record(input, alpha, grid, gamma, dim, runner)
    return runner.forward(input, alpha, grid, gamma, dim)


class _Fused(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, input: Tensor, alpha: Tensor, grid: Grid, gamma: float, dim: int, runner: Runner
    ) -> Tensor:
        ctx.save_for_backward(input, alpha)
        ctx.rest = (grid, gamma, dim, runner)
        return runner.forward(input, alpha, grid, gamma, dim)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        input, alpha = ctx.saved_tensors
        grid, gamma, dim, runner = ctx.rest
        wanted = ctx.needs_input_grad[:2]
        if torch.is_grad_enabled() or is_batched(upstream[0]):
            # The derivative itself will be differentiated, or has no memory of its own.
            found = differentiable_gradients(upstream[0], input, alpha, grid, gamma, dim, wanted)
        else:
            found = runner.backward(upstream[0], input, alpha, grid, gamma, dim, wanted)
        return (*found, None, None, None, None)


# What Function.apply comes to where torch.func is not at work, which dispatch has made sure of. The detour
# through Python shows at small batches.
_record: Callable[..., Tensor] = super(torch.autograd.Function, _Fused).apply


def differentiable_gradients(
    upstream: Tensor,
    input: Tensor,
    alpha: Tensor,
    grid: Grid,
    gamma: float,
    dim: int,
    wanted: tuple[bool, bool],
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients as functions that autograd can differentiate again, by the composite formula."""
    with torch.enable_grad():
        result = composite_expansion(input, alpha, grid, gamma, dim)
        inputs = [value for value, want in zip((input, alpha), wanted, strict=True) if want]
        found = iter(torch.autograd.grad(result, inputs, upstream, create_graph=True))
    return (next(found) if wanted[0] else None, next(found) if wanted[1] else None)


def composite_expansion(input: Tensor, alpha: Tensor, grid: Grid, gamma: float, dim: int) -> Tensor:
    """What the fused kernels compute, by the plain formula."""
    dictionary = torch.from_numpy(grid.elements()).to(input.device)
    expansion = composite.kaf if alpha.dim() == 2 else composite.kaf2d
    return along_dim(expansion, input, alpha, dictionary, Gaussian(), gamma, dim)
