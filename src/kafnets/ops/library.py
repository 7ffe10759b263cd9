"""The fused expansions as torch operators: what torch.compile and dispatch modes see.

One operator for both dimensions: alpha with two axes is a KAF's, with three a 2D-KAF's. In eager code
:mod:`kafnets.ops.fused` calls the kernels without this detour, which costs as much as a small batch.
Later arguments (how the function goes on outside the dictionary, a base function to add) are to come at
the end, with defaults.
"""

from typing import Any

import torch
from torch import Tensor

from kafnets.ops import cpu
from kafnets.ops.fused import Runner, composite_expansion, differentiable_gradients
from kafnets.ops.grid import Grid
from kafnets.ops.layout import in_layout_of


def runner_for(device: torch.device) -> Runner:
    """The fused kernels for a device, or the plain formula where there are none."""
    if device.type == "cpu" and cpu.kernels is not None:
        return cpu.kernels
    if device.type == "cuda":
        from kafnets.ops import backends

        if backends.triton_obstacle() is None:
            from kafnets.ops.triton import TritonRunner

            return TritonRunner()
    return _PlainRunner()


class _PlainRunner:
    """The composite formula, where there are no fused kernels."""

    def forward(self, input: Tensor, alpha: Tensor, grid: Grid, gamma: float, dim: int) -> Tensor:
        return composite_expansion(input, alpha, grid, gamma, dim)

    def backward(
        self,
        upstream: Tensor,
        input: Tensor,
        alpha: Tensor,
        grid: Grid,
        gamma: float,
        dim: int,
        wanted: tuple[bool, bool],
    ) -> tuple[Tensor | None, Tensor | None]:
        leaves = (input.detach().requires_grad_(), alpha.detach().requires_grad_())
        found = differentiable_gradients(upstream, *leaves, grid, gamma, dim, wanted)
        return (
            None if found[0] is None else found[0].detach(),
            None if found[1] is None else found[1].detach(),
        )


@torch.library.custom_op("kafnets::expand", mutates_args=())
def expand(input: Tensor, alpha: Tensor, first: float, spacing: float, gamma: float, dim: int) -> Tensor:
    """The expansion of ``input`` along ``dim``."""
    grid = Grid(alpha.shape[-1], first, spacing)
    return runner_for(input.device).forward(input, alpha, grid, gamma, dim)


@torch.library.custom_op("kafnets::expand_backward", mutates_args=())
def expand_backward(
    upstream: Tensor, input: Tensor, alpha: Tensor, first: float, spacing: float, gamma: float, dim: int
) -> tuple[Tensor, Tensor]:
    """The gradients of input and alpha."""
    grid = Grid(alpha.shape[-1], first, spacing)
    runner = runner_for(input.device)
    by_input, by_alpha = runner.backward(upstream, input, alpha, grid, gamma, dim, (True, True))
    assert by_input is not None
    assert by_alpha is not None
    return by_input, by_alpha


@expand.register_fake
def _(input: Tensor, alpha: Tensor, first: float, spacing: float, gamma: float, dim: int) -> Tensor:
    shape = list(input.shape)
    shape[dim] = alpha.shape[0]
    return in_layout_of(input, input.new_empty(shape))


@expand_backward.register_fake
def _(
    upstream: Tensor, input: Tensor, alpha: Tensor, first: float, spacing: float, gamma: float, dim: int
) -> tuple[Tensor, Tensor]:
    by_alpha = torch.empty_like(alpha, memory_format=torch.contiguous_format)
    return in_layout_of(input, input.new_empty(input.shape)), by_alpha


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    input, alpha, *rest = inputs
    ctx.save_for_backward(input, alpha)
    ctx.rest = rest


def _differentiate(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
    input, alpha = ctx.saved_tensors
    by_input, by_alpha = expand_backward(upstream, input, alpha, *ctx.rest)
    return by_input, by_alpha, None, None, None, None


def _keep_for_second(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    upstream, input, alpha, *rest = inputs
    ctx.save_for_backward(upstream, input, alpha)
    ctx.rest = rest


def _differentiate_again(ctx: Any, by_input: Tensor, by_alpha: Tensor) -> tuple[Tensor | None, ...]:
    saved = ctx.saved_tensors
    first, spacing, gamma, dim = ctx.rest
    with torch.enable_grad():
        upstream, input, alpha = (value.detach().requires_grad_() for value in saved)
        grid = Grid(alpha.shape[-1], first, spacing)
        gradients = differentiable_gradients(upstream, input, alpha, grid, gamma, dim, (True, True))
        outputs = [gradient for gradient in gradients if gradient is not None]
        found = torch.autograd.grad(outputs, [upstream, input, alpha], [by_input, by_alpha])
    return (*found, None, None, None, None)


expand.register_autograd(_differentiate, setup_context=_keep)
expand_backward.register_autograd(_differentiate_again, setup_context=_keep_for_second)


@expand.register_vmap
def _(
    info: Any,
    in_dims: tuple[int | None, ...],
    input: Tensor,
    alpha: Tensor,
    first: float,
    spacing: float,
    gamma: float,
    dim: int,
) -> tuple[Tensor, int]:
    rest = (first, spacing, gamma)
    inner = dim % (input.dim() - (in_dims[0] is not None))
    if in_dims[1] is None:  # one set of coefficients: a batch axis more
        assert in_dims[0] is not None
        return expand(input.movedim(in_dims[0], 0), alpha, *rest, inner + 1), 0
    inputs = [input] * info.batch_size if in_dims[0] is None else input.unbind(in_dims[0])
    pairs = zip(inputs, alpha.unbind(in_dims[1]), strict=True)
    return torch.stack([expand(one, coefficients, *rest, inner) for one, coefficients in pairs]), 0
