"""The one place where it is decided how a formula runs, and where its derivative is recorded."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from kafnets.ops import backends, native, operator
from kafnets.ops.backends import Runner
from kafnets.ops.formula import Formula
from kafnets.ops.plain import PORTABLE, differentiate, plain


def apply(formula: Formula, s: Tensor, table: Tensor, dim: int) -> Tensor:
    """A formula with its coefficients ``table``, ``(N, ...)``, for the channels of ``s`` along ``dim``.

    Returns:
        The input's dtype and memory layout. Half precision is computed in float32.
    """
    runner = choose(formula, s, table)
    if runner is None:
        return plain(formula, s, table, dim)
    if runner is operator:
        assert formula.kernel is not None
        return operator.apply(s, table, formula.kernel, formula.settings, dim)
    if torch.is_grad_enabled() and (s.requires_grad or table.requires_grad):
        return _record(formula, runner, s, table, dim)
    return runner.forward(formula, s, table, dim)


def choose(formula: Formula, s: Tensor, table: Tensor) -> Any:
    """The runner; the module :mod:`kafnets.ops.operator` for a torch operator; None for the plain form."""
    asked = backends.asked
    if asked == "composite":
        return None
    if torch.compiler.is_compiling():
        # What has no fused kernel, the compiler fuses. An exported program should run without this package.
        seen = asked != "portable" and not torch.compiler.is_exporting()
        return operator if seen and backends.fused_runner(formula, s) is not None else None
    if needs_plain_formula(s, table):
        return None
    if torch._C._len_torch_dispatch_stack():  # someone watches operators, so there must be one to see
        return operator if backends.fused_runner(formula, s) is not None else None
    if asked == "portable":
        return PORTABLE
    if asked == "auto" and s.is_cpu and formula.kernel is not None and native.kernels is not None:
        return native.kernels  # as the next line would find, but it shows at small batches
    runner = backends.fused_runner(formula, s)
    if asked == "auto":
        if runner is not None:
            return runner
        if s.is_cpu and formula.kernel is not None:
            backends.warn_once_without_native_kernels()
        return PORTABLE
    return _forced(asked, formula, s, runner)


def needs_plain_formula(*tensors: Tensor) -> bool:
    """Whether someone looks into the computation to whom a hand-written derivative would be invisible.

    They must find nothing but torch's own operators there, or the result would silently be wrong.
    """
    for tensor in tensors:
        # Subclasses have ideas of their own, and meta tensors no values.
        if (type(tensor) is not Tensor and type(tensor) is not nn.Parameter) or tensor.is_meta:
            return True
    return (
        torch._C._are_functorch_transforms_active()
        or forward_ad._current_level >= 0
        or torch._C._get_tracing_state() is not None
    )


def _forced(asked: str, formula: Formula, s: Tensor, runner: Any) -> Any:
    """The runner that was asked for by name."""
    obstacle = backends.obstacle_to_fusing(asked, s)
    if asked == "triton" and obstacle is None and formula.has_triton:
        return backends.triton_runner()  # also on the CPU, under Triton's interpreter
    if asked == "cpu" and obstacle is None and runner is not None:
        return runner
    if formula.refusal is None:
        return PORTABLE
    raise RuntimeError(f"backend {asked!r} cannot run this: {obstacle or formula.refusal}")


class _Recorded(torch.autograd.Function):
    """Keeps activations and table, and computes everything else again in the backward pass."""

    @staticmethod
    def forward(ctx: Any, formula: Formula, runner: Runner, s: Tensor, table: Tensor, dim: int) -> Tensor:
        ctx.save_for_backward(s, table)
        ctx.rest = formula, runner, dim
        result = runner.forward(formula, s, table, dim)
        # Views that a Function returns may not be overwritten by what comes next; the same memory may.
        return result.data if result._is_view() else result

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        s, table = ctx.saved_tensors
        formula, runner, dim = ctx.rest
        wanted = ctx.needs_input_grad[2:4]
        # A derivative that will itself be differentiated, or that stands for many gradients at once and so
        # has no memory of its own, is left to autograd.
        again = torch.is_grad_enabled()
        if again or torch._C._functorch.is_legacy_batchedtensor(upstream[0]):
            found = differentiate(formula, upstream[0], s, table, dim, wanted, again)
        else:
            found = runner.backward(formula, upstream[0], s, table, dim, wanted)
        return None, None, *found, None


# What Function.apply comes to where torch.func is not at work, which was made sure of. The detour through
# Python shows at small batches.
_record: Callable[..., Tensor] = super(torch.autograd.Function, _Recorded).apply
