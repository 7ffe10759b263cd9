"""Formulas with a table of coefficients for each channel, computed again in the backward pass.

Only the activations and the table are kept. On the CPU the native kernels do it in one pass through memory;
elsewhere, and in every other case, plain torch does.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from kafnets.ops import backends, cpu
from kafnets.ops.transforms import is_batched, needs_plain_formula


class Formula(Protocol):
    """A function of an activation and of its channel's coefficients."""

    @property
    def kernel(self) -> str:
        """The name of its native kernel."""

    @property
    def settings(self) -> cpu.Settings:
        """What that kernel is told."""

    def value(self, s: Tensor, table: Tensor, dim: int) -> Tensor:
        """In torch's own differentiable operators."""

    def gradients(self, upstream: Tensor, s: Tensor, table: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        """With respect to ``s`` and to the table, and without tensors larger than these."""


def recomputed(formula: Formula, s: Tensor, table: Tensor, dim: int) -> Tensor:
    """Apply a formula. ``table``: ``(N, coefficients)``, for the N channels of ``s`` along ``dim``.

    Half precision is computed in float32. Compilers and transforms get the plain formula, the first to fuse
    it as they see fit and the others to look into it.
    """
    asked_for = backends.asked_for()
    if (
        torch.compiler.is_compiling()
        or asked_for == "composite"
        or torch._C._len_torch_dispatch_stack()  # someone watches who would not see into a native kernel
        or needs_plain_formula(s, table)
    ):
        return _plain(formula, s, table, dim)
    if torch.is_grad_enabled() and (s.requires_grad or table.requires_grad):
        result: Tensor = _Recomputed.apply(formula, s, table, dim)  # type: ignore[no-untyped-call]
        return result
    return _forward(formula, s, table, dim)


def columns(table: Tensor, s: Tensor, dim: int) -> Sequence[Tensor]:
    """The coefficients one by one, each shaped such that it meets the channels of ``s``."""
    shape = [1] * s.dim()
    shape[dim] = -1
    return [column.reshape(shape) for column in table.unbind(1)]


def over_channels(value: Tensor, dim: int) -> Tensor:
    """The sum over all axes but that of the channels, as a column of the table's gradient."""
    return value.movedim(dim, 0).flatten(1).sum(1) if value.dim() > 1 else value


def _native(s: Tensor) -> cpu.Kernels | None:
    return cpu.kernels if s.is_cpu and backends.asked_for() in ("auto", "cpu") else None


def _forward(formula: Formula, s: Tensor, table: Tensor, dim: int) -> Tensor:
    if kernels := _native(s):
        return kernels.run(formula.kernel, s, table, table.shape[1], formula.settings, dim)
    return _plain(formula, s, table, dim)


def _plain(formula: Formula, s: Tensor, table: Tensor, dim: int) -> Tensor:
    dtype = _computing_dtype(s, table)
    return formula.value(s.to(dtype), table.to(dtype), dim).to(s.dtype)


def _computing_dtype(s: Tensor, table: Tensor) -> torch.dtype:
    return torch.promote_types(torch.promote_types(s.dtype, table.dtype), torch.float32)


class _Recomputed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, formula: Formula, s: Tensor, table: Tensor, dim: int) -> Tensor:
        ctx.save_for_backward(s, table)
        ctx.formula, ctx.dim = formula, dim
        return _forward(formula, s, table, dim)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        s, table = ctx.saved_tensors
        formula, dim, (u,) = ctx.formula, ctx.dim, upstream
        wanted = ctx.needs_input_grad[1:3]
        if torch.is_grad_enabled() or is_batched(u):
            # The derivative itself will be differentiated, or has no memory of its own: autograd finds it.
            asked = [each for each, want in zip((s, table), wanted, strict=True) if want]
            again = torch.is_grad_enabled()
            with torch.enable_grad():
                result = _plain(formula, s, table, dim)
            answers = iter(torch.autograd.grad(result, asked, u, create_graph=again))
            return None, *(next(answers) if want else None for want in wanted), None
        if kernels := _native(s):
            found = kernels.run_back(
                formula.kernel, u, s, table, table.shape[1], formula.settings, dim, wanted
            )
            return None, *found, None
        dtype = _computing_dtype(s, table)
        of_s, of_table = formula.gradients(u.to(dtype), s.to(dtype), table.to(dtype), dim)
        return None, of_s.to(s.dtype), of_table.to(table.dtype), None
