"""Formulas in plain torch: as they stand, for any derivative, and in little memory, for any device."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from kafnets.ops.formula import Formula


def _computing_dtype(s: Tensor, table: Tensor) -> torch.dtype:
    """Half precision is computed in float32."""
    return torch.promote_types(torch.promote_types(s.dtype, table.dtype), torch.float32)


def plain(formula: Formula, s: Tensor, table: Tensor, dim: int) -> Tensor:
    """The formula in torch's own operators: any device, any dtype, any derivative, much memory."""
    dtype = _computing_dtype(s, table)
    return formula.plain(s.to(dtype), table.to(dtype), dim).to(s.dtype)


def differentiate(
    formula: Formula,
    upstream: Tensor,
    s: Tensor,
    table: Tensor,
    dim: int,
    wanted: tuple[bool, bool],
    create_graph: bool,
    evaluate: Callable[[Formula, Tensor, Tensor, int], Tensor] = plain,
    keep: Callable[[Callable[[], Any]], Any] = lambda compute: compute(),
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients by autograd through the plain formula, so that they can be differentiated again."""

    def value() -> tuple[list[Tensor], Tensor]:
        with torch.enable_grad():
            inputs = apart(s, table)
            return inputs, evaluate(formula, inputs[0], inputs[1], dim)

    inputs, result = keep(value)
    asked = [each for each, want in zip(inputs, wanted, strict=True) if want]
    found = iter(torch.autograd.grad(result, asked, upstream, create_graph=create_graph))
    return next(found) if wanted[0] else None, next(found) if wanted[1] else None


def apart(*tensors: Any) -> list[Any]:
    """The same, such that no derivative by one goes through another: activations may come from a table."""
    return [None if each is None else each.view_as(each) for each in tensors]


class Portable:
    """Runs formulas in little memory on any device."""

    def forward(self, formula: Formula, s: Tensor, table: Tensor, dim: int) -> Tensor:
        """The result, in the input's dtype."""
        dtype = _computing_dtype(s, table)
        return formula.value(s.to(dtype), table.to(dtype), dim).to(s.dtype)

    def backward(
        self,
        formula: Formula,
        upstream: Tensor,
        s: Tensor,
        table: Tensor,
        dim: int,
        wanted: tuple[bool, bool],
    ) -> tuple[Tensor | None, Tensor | None]:
        """The gradients of input and table."""
        dtype = _computing_dtype(s, table)
        by_s, by_table = formula.gradients(upstream.to(dtype), s.to(dtype), table.to(dtype), dim, wanted)
        return (
            None if by_s is None else by_s.to(s.dtype),
            None if by_table is None else by_table.to(table.dtype),
        )


PORTABLE = Portable()
