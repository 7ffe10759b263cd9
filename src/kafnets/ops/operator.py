"""The fused formulas as torch operators: what torch.compile and dispatch modes see.

One pair of operators for all formulas, which come by the name of their native kernel and its settings. In
eager code :mod:`kafnets.ops.dispatch` calls the kernels without this detour, which costs as much as a small
batch.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from kafnets.ops import backends
from kafnets.ops.formula import FORMULAS, Formula, Settings
from kafnets.ops.layout import in_layout_of
from kafnets.ops.plain import PORTABLE, differentiate


def _formula(kernel: str, settings: Sequence[float], table: Tensor) -> Formula:
    first, second, third, fourth, fifth = settings
    return FORMULAS[kernel]((first, second, third, fourth, fifth), table.shape)


@torch.library.custom_op("kafnets::apply", mutates_args=())
def _apply(s: Tensor, table: Tensor, kernel: str, settings: Sequence[float], dim: int) -> Tensor:
    formula = _formula(kernel, settings, table)
    return (backends.fused_runner(formula, s) or PORTABLE).forward(formula, s, table, dim)


def apply(s: Tensor, table: Tensor, kernel: str, settings: Settings, dim: int) -> Tensor:
    """A formula, by the name and the settings of its native kernel."""
    return _apply(s, table, kernel, settings, dim)


@torch.library.custom_op("kafnets::gradients", mutates_args=())
def gradients(
    upstream: Tensor, s: Tensor, table: Tensor, kernel: str, settings: Sequence[float], dim: int
) -> tuple[Tensor, Tensor]:
    """The gradients of input and table."""
    formula = _formula(kernel, settings, table)
    runner = backends.fused_runner(formula, s) or PORTABLE
    by_s, by_table = runner.backward(formula, upstream, s, table, dim, (True, True))
    assert by_s is not None
    assert by_table is not None
    return by_s, by_table


@_apply.register_fake
def _(s: Tensor, table: Tensor, kernel: str, settings: Sequence[float], dim: int) -> Tensor:
    shape = list(s.shape)
    shape[dim] = table.shape[0]
    return in_layout_of(s, s.new_empty(shape))


@gradients.register_fake
def _(
    upstream: Tensor, s: Tensor, table: Tensor, kernel: str, settings: Sequence[float], dim: int
) -> tuple[Tensor, Tensor]:
    by_table = torch.empty_like(table, memory_format=torch.contiguous_format)
    return in_layout_of(s, s.new_empty(s.shape)), by_table


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    s, table, *ctx.rest = inputs
    ctx.save_for_backward(s, table)


def _differentiate(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
    return *gradients(upstream, *ctx.saved_tensors, *ctx.rest), None, None, None


def _keep_for_second(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    upstream, s, table, *ctx.rest = inputs
    ctx.save_for_backward(upstream, s, table)


def _differentiate_again(ctx: Any, by_s: Tensor, by_table: Tensor) -> tuple[Tensor | None, ...]:
    kernel, settings, dim = ctx.rest
    with torch.enable_grad():
        upstream, s, table = (value.detach().requires_grad_() for value in ctx.saved_tensors)
        formula = _formula(kernel, settings, table)
        outputs = differentiate(formula, upstream, s, table, dim, (True, True), True)
        found = torch.autograd.grad(outputs, [upstream, s, table], [by_s, by_table])  # type: ignore[arg-type]
    return *found, None, None, None


_apply.register_autograd(_differentiate, setup_context=_keep)
gradients.register_autograd(_differentiate_again, setup_context=_keep_for_second)


@_apply.register_vmap
def _(
    info: Any,
    in_dims: tuple[int | None, ...],
    s: Tensor,
    table: Tensor,
    kernel: str,
    settings: Sequence[float],
    dim: int,
) -> tuple[Tensor, int]:
    inner = dim % (s.dim() - (in_dims[0] is not None))
    if in_dims[1] is None:  # one set of coefficients: a batch axis more
        assert in_dims[0] is not None
        return _apply(s.movedim(in_dims[0], 0), table, kernel, settings, inner + 1), 0
    inputs = [s] * info.batch_size if in_dims[0] is None else s.unbind(in_dims[0])
    pairs = zip(inputs, table.unbind(in_dims[1]), strict=True)
    return torch.stack([_apply(one, own, kernel, settings, inner) for one, own in pairs]), 0
