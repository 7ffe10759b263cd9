"""How the derivatives of fused formulas are recorded, to any order, for autograd and for ``torch.func``.

Two functions are closed under differentiation: a formula's value, whose derivative by ``s`` is that of its
slope, a formula again; and the sums over rows that are its derivatives by coefficients.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from kafnets.ops.backends import Runner
from kafnets.ops.formula import Formula, over_channels
from kafnets.ops.kaf import KAFFormula
from kafnets.ops.kaf_slopes import KAFSlopes
from kafnets.ops.native import Kernels
from kafnets.ops.plain import differentiate, plain

Wanted = tuple[bool, bool]


class Recorded(torch.autograd.Function):
    """Keeps activations and table, and computes everything else again in the backward pass."""

    @staticmethod
    def forward(formula: Formula, runner: Runner, s: Tensor, table: Tensor, dim: int) -> Tensor:
        result = runner.forward(formula, s, table, dim)
        # Views that a Function returns may not be overwritten by what comes next; the same memory may.
        return result.data if result._is_view() else result

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        formula, runner, s, table, dim = inputs
        ctx.save_for_backward(s, table)
        ctx.save_for_forward(s, table)
        ctx.rest = formula, runner, dim

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        s, table = ctx.saved_tensors
        formula, runner, dim = ctx.rest
        wanted = ctx.needs_input_grad[2:4]
        if torch.is_grad_enabled():
            wanted = tuple(want and _is_used(ctx, k) for k, want in enumerate(wanted))
        return None, None, *_gradients(formula, runner, upstream[0], s, table, dim, wanted, ctx), None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Tensor:
        formula, runner, dim = ctx.rest
        s, table = ctx.saved_tensors
        moved, table_moved = tangents[2:4]
        slope = None if moved is None else _apply(formula.slope(), runner, s, table, dim)
        parts = [] if slope is None else [moved * slope]
        if table_moved is not None:  # of which the formula is linear
            parts.append(_apply(formula, runner, s, table_moved, dim))
        return sum(parts[1:], parts[0])

    @staticmethod
    def vmap(
        info: Any, in_dims: Any, formula: Formula, runner: Runner, s: Tensor, table: Tensor, dim: int
    ) -> tuple[Tensor, int]:
        axis = dim % (s.dim() - (in_dims[2] is not None))
        if in_dims[3] is None:  # one set of coefficients: a batch axis more
            return _apply(formula, runner, s.movedim(in_dims[2], 0), table, axis + 1), 0
        s = _into_channels(s, in_dims[2], axis, info.batch_size)
        table = table.movedim(in_dims[3], 0).flatten(0, 1)
        result = _apply(formula, runner, s, table, axis)
        return result.unflatten(axis, (info.batch_size, -1)), axis


class Sums(torch.autograd.Function):
    """The derivative by coefficients, which depends on upstream, activations and a learned bandwidth."""

    @staticmethod
    def forward(
        formula: KAFFormula | KAFSlopes,
        runner: Runner,
        upstream: Tensor,
        s: Tensor,
        gamma: Tensor | None,
        dim: int,
    ) -> Tensor:
        dtype = torch.promote_types(s.dtype, torch.float32)
        zeros = torch.zeros(s.shape[dim], formula.expansion.dictionary.size, dtype=dtype)
        found = runner.backward(formula, upstream, s, _table(zeros, gamma), dim, (False, True))[1]
        assert found is not None
        return found if gamma is None else found[:, :-1].contiguous()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        formula, runner, upstream, s, gamma, dim = inputs
        ctx.save_for_backward(upstream, s, gamma)
        ctx.save_for_forward(upstream, s, gamma)
        ctx.rest = formula, runner, dim

    @staticmethod
    def backward(ctx: Any, *by_sums: Tensor) -> tuple[Tensor | None, ...]:
        # The sums times their upstream gradients, added up, are upstream times the formula with these as
        # coefficients.
        upstream, s, gamma = ctx.saved_tensors
        formula, runner, dim = ctx.rest
        table, wanted = _table(by_sums[0], gamma), ctx.needs_input_grad[3:5]
        by_upstream = None
        if ctx.needs_input_grad[2]:
            rest = s, table, dim
            by_upstream = plain(formula, *rest) if is_batched(table) else _apply(formula, runner, *rest)
        by_s, by_table = _gradients(formula, runner, upstream, s, table, dim, wanted)
        return None, None, by_upstream, by_s, None if by_table is None else by_table[:, -1], None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Tensor:
        formula, runner, dim = ctx.rest
        upstream, s, gamma = ctx.saved_tensors
        parts = []
        if tangents[2] is not None:
            parts.append(_sums(formula, runner, tangents[2], s, gamma, dim))
        if tangents[3] is not None:
            parts.append(_sums(formula.slope(), runner, upstream * tangents[3], s, gamma, dim))
        return sum(parts[1:], parts[0])

    @staticmethod
    def vmap(
        info: Any, in_dims: Any, formula: Formula, runner: Runner, upstream: Tensor, s: Tensor,
        gamma: None, dim: int,
    ) -> tuple[Tensor, int]:  # fmt: skip
        axis = dim % (s.dim() - (in_dims[3] is not None))
        upstream = _into_channels(upstream, in_dims[2], axis, info.batch_size)
        s = _into_channels(s, in_dims[3], axis, info.batch_size)
        sums = _sums(formula, runner, upstream, s, gamma, axis)
        return sums.unflatten(0, (info.batch_size, -1)), 0


def transformed(formula: Formula, s: Tensor, table: Tensor, dim: int, runner: Runner) -> Tensor:
    """What function transforms can look into, and what can be differentiated as often as one likes.

    What a sum of kernels is added to is torch's own.
    """
    if not isinstance(formula, KAFFormula) or formula.expansion.base is None:
        return _apply(formula, runner, s, table, dim)
    alpha = formula.parts(table).alpha
    return _apply(formula.without_base, runner, s, alpha, dim) + formula.base_alone(s, table, dim)


def _gradients(
    formula: Formula,
    runner: Runner,
    upstream: Tensor,
    s: Tensor,
    table: Tensor,
    dim: int,
    wanted: Wanted,
    node: Any = None,
) -> tuple[Tensor | None, Tensor | None]:
    """By ``s`` and by the table, recorded where they will themselves be differentiated."""
    if not any(wanted):
        return None, None
    again = torch.is_grad_enabled()
    batched, tables = is_batched(upstream), is_batched(table)
    if not again and not batched and not tables:
        return runner.backward(formula, upstream, s, table, dim, wanted)
    slope = formula.slope()
    if slope is None or batched or not isinstance(runner, Kernels) or not runner.has(slope):
        return differentiate(formula, upstream, s, table, dim, wanted, again)
    if isinstance(formula, KAFFormula) and formula.expansion.base is not None:
        return differentiate(
            formula, upstream, s, table, dim, wanted, again,
            lambda formula, s, table, dim: transformed(formula, s, table, dim, runner),
            lambda compute: _kept(node, compute),
        )  # fmt: skip

    def value(each: Formula) -> Tensor:
        return plain(each, s, table, dim) if tables else _apply(each, runner, s, table, dim)

    by_s = upstream * _kept(node, lambda: value(slope)) if wanted[0] else None
    if not wanted[1]:
        return by_s, None
    gamma = table[:, -1] if formula.learned else None
    columns = [] if tables else [_sums(formula, runner, upstream, s, gamma, dim).to(table.dtype)]
    if gamma is not None:
        # The derivative by gamma is -(f'' + 2 gamma f) / (4 gamma^2).
        curvature = slope.slope()
        assert curvature is not None
        first, second = (over_channels(upstream * value(each), dim) for each in (formula, curvature))
        columns.append((-(second / (2.0 * gamma) + first) / (2.0 * gamma)).unsqueeze(1))
    # Of a table that is batched only gamma can have a gradient: it holds upstream gradients of coefficients.
    by_table = columns[0] if len(columns) == 1 else torch.cat(columns, 1)
    return by_s, by_table


def is_batched(tensor: Tensor) -> bool:
    """Whether it stands for many gradients at once, which have no memory of their own."""
    return torch._C._functorch.is_legacy_batchedtensor(tensor)


def _kept(node: Any, compute: Callable[[], Any]) -> Any:
    """What is computed once by a node of the graph: second derivatives pass it twice."""
    if node is None or torch._C._are_functorch_transforms_active():
        return compute()
    if not hasattr(node, "kept"):
        node.kept = compute()
    return node.kept


def _is_used(ctx: Any, k: int) -> bool:
    """Whether the engine passes on the k-th gradient: of many activations only one may be asked for."""
    if torch._C._are_functorch_transforms_active():
        return True
    try:
        return torch._C._will_engine_execute_node(ctx.next_functions[k][0])
    except RuntimeError:  # a leaf that was asked for
        return True


def _table(alpha: Tensor, gamma: Tensor | None) -> Tensor:
    return alpha if gamma is None else torch.cat([alpha, gamma.to(alpha.dtype).unsqueeze(1)], 1)


def _into_channels(value: Tensor, batch: int | None, axis: int, size: int) -> Tensor:
    """With a batch axis as the outer part of the channel axis."""
    if batch is None:
        value = value.unsqueeze(axis).expand(*value.shape[:axis], size, *value.shape[axis:])
    else:
        value = value.movedim(batch, axis)
    return value.flatten(axis, axis + 1)


_apply: Callable[..., Tensor] = Recorded.apply
_sums: Callable[..., Tensor] = Sums.apply
# What apply comes to where torch.func is not at work, which must be made sure of. The detour through Python
# shows at small batches.
record: Callable[..., Tensor] = super(torch.autograd.Function, Recorded).apply
