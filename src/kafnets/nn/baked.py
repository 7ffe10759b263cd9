"""Learned activations as lookup tables, for inference."""

import copy
import warnings
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from kafnets.kernels import Gaussian
from kafnets.nn import lookup_tables
from kafnets.nn.activation import Activation
from kafnets.nn.edgewise import EdgewiseKAF
from kafnets.nn.kaf import KernelActivation
from kafnets.ops.baked import BakedFormula
from kafnets.ops.dispatch import apply
from kafnets.registry import Facts

Bits = Literal[8, 32]
ERRORS: dict[int, float] = {32: 1e-6, 8: 1e-3}
"""What :func:`bake` allows by default."""

M = TypeVar("M", bound=nn.Module)


class Baked(Activation):
    r"""A learned activation as a lookup table, created by :func:`kafnets.bake`.

    Each function is a polynomial of degree 3 or 7 per cell of a uniform grid; the first and the last cell
    extend to infinity. It is for inference only and has no gradients.

    Attributes:
        table: the coefficients, a buffer ``(groups, powers * cells)``; int8 with 8 bits.
        error: a bound on the difference from the original, in addition to float32 rounding.
        proven: whether the bound follows from a formula; otherwise it is twice the largest error at many
            points.
        source: the class of the original.
    """

    facts: ClassVar[Facts] = Facts("baked", formula="polynomial per cell", plottable=True)
    table: Tensor
    unit: Tensor | None
    _shown = ("source", "cells", "powers", "bits", "error")

    def __init__(self, like: Activation, table: lookup_tables.Table, bits: Bits = 32) -> None:
        super().__init__(like.num_features, like.dim, like.groups)
        self.source, self.bits = type(like).__name__, bits
        self.cells, self.powers = table.coefficients.shape[1:]
        self.error, self.proven = table.bound, table.proven
        self._formula = BakedFormula(table.grid)
        unit = None
        coefficients: Any = table.coefficients
        if bits == 8:
            coefficients, scale, more = lookup_tables.quantized(table)
            self.error += more
            unit = torch.from_numpy(scale).float()
        stored = torch.from_numpy(coefficients).transpose(1, 2).flatten(1)
        self.register_buffer("table", stored if bits == 8 else stored.float())
        self.register_buffer("unit", unit)
        self.to(next(like.parameters(), stored).device).eval()

    @property
    def grid(self) -> Any:
        """Where the cells are."""
        return self._formula.grid

    @property
    def size_in_bytes(self) -> int:
        """Of the table."""
        return sum(each.numel() * each.element_size() for each in self.buffers())

    def coefficients(self) -> Tensor:
        """``(groups, powers * cells)``, in floating point."""
        if self.unit is None:
            return self.table
        return (
            self.table.to(self.unit.dtype).unflatten(1, (self.powers, -1)) * self.unit[..., None]
        ).flatten(1)

    def compute(self, s: Tensor, dim: int) -> Tensor:
        if s.requires_grad and torch.is_grad_enabled():
            raise RuntimeError(
                "a baked activation has no gradients: call the model under torch.no_grad() or on detached "
                "inputs, and train the model that it was baked from"
            )
        return apply(self._formula, s, self.coefficients(), dim)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        kept = dict(self._buffers)
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        for name, before in kept.items():  # half precision would change the functions
            now = self._buffers[name]
            if before is not None and now is not None and now.is_floating_point() and now.dtype.itemsize < 4:
                self._buffers[name] = before.to(now.device)
        return self


def bake(model: M, error: float | None = None, *, bits: Bits = 32, degree: Literal[3, 7] | None = None) -> M:
    r"""A copy of a model for inference, in which learned activations are lookup_tables.

    >>> net = kafnets.mlp(4, (16,), 1, "kaf")
    >>> baked = kafnets.bake(net)
    >>> x = torch.randn(10, 4)
    >>> torch.allclose(baked(x), net(x), atol=1e-5)
    True

    The size of a table is determined by the allowed error. For KAFs with a Gaussian kernel, it follows from a
    bound on their derivatives (see :mod:`kafnets.nn.lookup_tables`); for others, and for KAFs added to a
    base, the error is measured at many points and doubled. The bound holds for each activation, not for the
    outputs of the model.

    Fixed functions, and functions with corners at learned positions, are not replaced. A warning names
    learned activations that were not replaced.

    Args:
        model: any network, or an activation alone. It is not changed; the copy is in evaluation mode, and
            none of its parameters requires a gradient.
        error: the maximum error of an activation, relative to its value where that exceeds 1. None: 1e-6, or
            1e-3 with 8 bits.
        bits: 32, or 8 for tables of a quarter of the size, which adds an error of about 1% of the largest
            value: see :attr:`kafnets.nn.Baked.error`.
        degree: of the polynomials: 7 for few cells, which suits the native kernels and compiled C; 3 for
            several times as many, which suits ONNX, where each power is an operator. None: whichever gives
            the smaller table.
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a torch module, got {type(model).__name__}")
    if bits not in ERRORS:
        raise ValueError(f"bits must be 32 or 8, got {bits!r}")
    if degree not in (None, 3, 7):
        raise ValueError(f"degree must be 3, 7 or None, got {degree!r}")
    powers = lookup_tables.POWERS if degree is None else (degree + 1,)
    error = ERRORS[bits] if error is None else error
    if not (isinstance(error, float | int) and 1e-8 <= error < 1):
        raise ValueError(f"error must be from 1e-8 to below 1, got {error!r}: float32 itself rounds by 6e-8")
    found = copy.deepcopy(model).eval().requires_grad_(False)
    made: dict[int, Baked] = {}
    left: dict[str, str] = {}
    for name, module in found.named_modules():
        if isinstance(module, Baked) or not isinstance(module, Activation | EdgewiseKAF):
            continue
        try:
            made[id(module)] = Baked(module, table_of(module, error, powers), bits)  # type: ignore[arg-type]
        except ValueError as reason:
            left[f"{name or 'model'} ({type(module).__name__})"] = str(reason)
    if left:
        told = "; ".join(f"{name}: {reason}" for name, reason in left.items())
        warnings.warn(f"not converted to tables: {told}", stacklevel=2)
    if id(found) in made:
        return made[id(found)]  # type: ignore[return-value]
    for parent in found.modules():
        for name, child in parent._modules.items():
            parent._modules[name] = made.get(id(child), child)
    return found


def table_of(module: nn.Module, error: float, powers: tuple[int, ...]) -> lookup_tables.Table:
    """The functions of one activation; a ValueError tells why there is no table."""
    if not isinstance(module, Activation) or not module.facts.plottable or module.facts.arity != 1:
        raise ValueError("its functions have more than one input")
    if module.out_features != module.num_features:
        raise ValueError("its functions have more than one output")
    exact = copy.deepcopy(module).double().cpu().eval()

    def function(places: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            inputs = torch.from_numpy(places)[:, None].expand(-1, module.groups)
            return exact.compute(inputs.contiguous(), 1).T.numpy()

    if isinstance(exact, KernelActivation):
        expansion = exact.expansion
        if isinstance(expansion.kernel, Gaussian) and expansion.base is None:
            gamma = np.atleast_1d(torch.as_tensor(exact.gamma, dtype=torch.float64).detach().numpy())
            sums = lookup_tables.Gaussians(exact.alpha.detach().numpy(), expansion.dictionary.elements, gamma)
            return lookup_tables.of_gaussians(function, sums, error, powers, tails=expansion.tails != "zero")
        ends, pieces = (
            (expansion.dictionary.values[0], expansion.dictionary.values[-1]),
            2 * expansion.shape[0],
        )
        return lookup_tables.measured(function, error, powers, ends, pieces)
    boundary = float(getattr(exact, "boundary", 1.0))
    pieces = int(getattr(exact, "knots", 3)) - 1
    return lookup_tables.measured(
        function, error, powers, (-boundary, boundary), pieces if pieces % 2 == 0 else 2 * pieces
    )
