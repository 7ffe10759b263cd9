"""The one place where it is decided how a formula runs."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from kafnets.ops import backends, native, operator, recorded
from kafnets.ops.formula import Formula
from kafnets.ops.plain import PORTABLE, plain


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
    if runner is recorded:
        assert native.kernels is not None
        return recorded.transformed(formula, s, table, dim, native.kernels)
    if torch.is_grad_enabled() and (s.requires_grad or table.requires_grad):
        return recorded.record(formula, runner, s, table, dim)
    return runner.forward(formula, s, table, dim)


def choose(formula: Formula, s: Tensor, table: Tensor) -> Any:
    """The runner; the module :mod:`kafnets.ops.operator` for a torch operator; None for the plain form.

    The module :mod:`kafnets.ops.recorded` where ``torch.func`` or forward mode can take native kernels.
    """
    asked = backends.asked
    if asked == "composite":
        return None
    if torch.compiler.is_compiling():
        # What has no fused kernel, the compiler fuses. An exported program should run without this package.
        seen = asked != "portable" and not torch.compiler.is_exporting()
        return operator if seen and backends.fused_runner(formula, s) is not None else None
    if _are_unusual(s, table):
        return None
    # As _is_transformed says; every call shows at small batches.
    if torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0:
        return recorded if _transforms_natively(formula, s) else None
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


def runner_of(formula: Formula, s: Tensor, table: Tensor) -> backends.Runner | None:
    """What gives values and gradients; None where someone looks into the computation."""
    runner = choose(formula, s, table)
    return None if runner is operator or runner is recorded else runner


def needs_plain_formula(*tensors: Tensor) -> bool:
    """Whether someone looks into the computation to whom a hand-written derivative would be invisible.

    They must find nothing but torch's own operators there, or the result would silently be wrong.
    """
    return _is_transformed() or _are_unusual(*tensors)


def _is_transformed() -> bool:
    return torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0


def _are_unusual(*tensors: Tensor) -> bool:
    for tensor in tensors:
        # Subclasses have ideas of their own, and meta tensors no values.
        if (type(tensor) is not Tensor and type(tensor) is not nn.Parameter) or tensor.is_meta:
            return True
    return torch._C._get_tracing_state() is not None


def _transforms_natively(formula: Formula, s: Tensor) -> bool:
    """Whether native kernels give all derivatives that may be asked for."""
    if native.kernels is None or backends.asked not in ("auto", "cpu") or not s.is_cpu:
        return False
    if formula.learned or not native.kernels.has(formula.slope()):
        return False
    # torch 2.13 gets forward mode within forward mode wrong where a derivative is written by hand.
    stack = torch._C._functorch.get_interpreter_stack() or ()
    return [each.key() for each in stack].count(torch._C._functorch.TransformType.Jvp) < 2


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
