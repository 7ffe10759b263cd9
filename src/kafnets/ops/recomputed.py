"""Formulas that keep nothing but their inputs for the backward pass, where they are computed again."""

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor

from kafnets.ops.transforms import needs_plain_formula


class Formula(Protocol):
    """A function of activations and parameters, with its derivatives written by hand."""

    @property
    def value(self) -> Callable[..., Tensor]:
        """(s, *parameters) -> output, in torch's own differentiable operators."""

    @property
    def gradients(self) -> Callable[..., tuple[Tensor, ...]]:
        """(upstream, s, *parameters) -> the gradients of s and of each of the parameters."""


def recomputed(formula: Formula, s: Tensor, *parameters: Tensor) -> Tensor:
    """Apply a formula, keeping ``s`` and the parameters only.

    A compiler recomputes what it finds worth it by itself, and transforms have to see the operators: both get
    the plain formula.
    """
    wanted = torch.is_grad_enabled() and (s.requires_grad or any(each.requires_grad for each in parameters))
    if not wanted or torch.compiler.is_compiling() or needs_plain_formula(s):
        return formula.value(s, *parameters)
    result: Tensor = _Recomputed.apply(formula, s, *parameters)  # type: ignore[no-untyped-call]
    return result


class _Recomputed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, formula: Formula, s: Tensor, *parameters: Tensor) -> Tensor:
        ctx.save_for_backward(s, *parameters)
        ctx.formula = formula
        return formula.value(s, *parameters)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        inputs = ctx.saved_tensors
        wanted = ctx.needs_input_grad[1:]
        if not torch.is_grad_enabled():
            found = ctx.formula.gradients(upstream[0], *inputs)
            return None, *(each if want else None for each, want in zip(found, wanted, strict=True))
        # The derivative itself will be differentiated, so it is found by autograd.
        result = ctx.formula.value(*inputs)
        asked = [each for each, want in zip(inputs, wanted, strict=True) if want]
        answers = iter(torch.autograd.grad(result, asked, upstream[0], create_graph=True))
        return None, *(next(answers) if want else None for want in wanted)


def over_channels(value: Tensor, parameter: Tensor) -> Tensor:
    """The sum that broadcasting a parameter of that shape calls for in its gradient."""
    return value.sum_to_size(parameter.shape)
