"""Learned activations as lookup tables, for inference."""

import copy
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from kafnets.kernels import Gaussian
from kafnets.nn import lookup_tables
from kafnets.nn.activation import Activation
from kafnets.nn.edgewise import EdgewiseKAF
from kafnets.nn.kaf import KernelActivation
from kafnets.ops.baked import BakedFormula, Grid
from kafnets.ops.dispatch import apply
from kafnets.ops.formula import Formula, columns
from kafnets.registry import Facts

Bits = Literal[8, 32]
ERRORS: dict[int, float] = {32: 1e-6, 8: 1e-3}
"""What :func:`bake` allows by default."""

M = TypeVar("M", bound=nn.Module)


STRAIGHT = {"identity": 0.0, "relu": 1.0, "leaky_relu": 0.99}
"""Bases that are straight left and right of 0, and by how much their slopes jump there."""


class Baked(Activation):
    r"""A learned activation as a lookup table, created by :func:`kafnets.bake`.

    Each function is a polynomial of degree 3 or 7 per cell of a uniform grid; the first and the last cell
    extend to infinity. Sums of a few hinges or powers are stored as such. It is for inference only and has no
    gradients.

    Attributes:
        table: the coefficients, a buffer: ``(groups, cells * powers)``, cell by cell; int8 with 8 bits.
        hinge: None, or a multiple of max(0, s) for each function, which is added.
        error: a bound on the difference from the original, in addition to float32 rounding.
        proven: whether the bound follows from a formula; otherwise it is twice the largest error at many
            points.
        range: of the inputs for which the bound holds.
        source: the class of the original.
    """

    facts: ClassVar[Facts] = Facts("baked", formula="polynomial per cell", plottable=True)
    table: Tensor
    unit: Tensor | None
    hinge: Tensor | None

    def __init__(self, like: Activation, formula: Formula, table: Tensor) -> None:
        super().__init__(like.num_features, like.dim, like.groups)
        self.source, self.formula = type(like).__name__, formula
        self.error, self.proven, self.range = 0.0, True, lookup_tables.EVERYWHERE
        self.register_buffer("table", table)
        self.register_buffer("unit", None)
        self.register_buffer("hinge", None)

    @classmethod
    def of_table(cls, like: Activation, table: lookup_tables.Table, bits: Bits) -> Self:
        """Of functions by cell."""
        coefficients: Any = table.coefficients
        made = cls(like, BakedFormula(table.grid), torch.empty(0))
        made.error, made.proven, made.range = table.bound, table.proven, table.range
        if bits == 8:
            coefficients, scale, more = lookup_tables.quantized(table)
            made.error += more
            made.unit = torch.from_numpy(scale).float()
        stored = torch.from_numpy(coefficients).flatten(1)
        made.table = stored if bits == 8 else stored.float()
        made.hinge = None if table.hinge is None else torch.from_numpy(table.hinge).float()
        return made

    @property
    def grid(self) -> Grid | None:
        """Where the cells are; None if there are none."""
        return self.formula.grid if isinstance(self.formula, BakedFormula) else None

    @property
    def cells(self) -> int:
        """Of each function; 1 if it is one formula."""
        return 1 if self.grid is None else self.table.shape[1] // self.grid.powers

    @property
    def powers(self) -> int:
        """Coefficients per cell."""
        return self.table.shape[1] // self.cells

    @property
    def bits(self) -> int:
        """Of a coefficient."""
        return 32 if self.unit is None else 8

    @property
    def _shown(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("source", "cells", "powers", "bits", "error", *(("range",) if self.is_limited else ()))

    @property
    def is_limited(self) -> bool:
        """Whether the bound holds in a range only."""
        return self.range != lookup_tables.EVERYWHERE

    @property
    def size_in_bytes(self) -> int:
        """Of the table."""
        return sum(each.numel() * each.element_size() for each in self.buffers())

    def coefficients(self) -> Tensor:
        """The table in floating point."""
        if self.unit is None:
            return self.table
        codes = self.table.to(self.unit.dtype).unflatten(1, (-1, self.powers))
        return (codes * self.unit[:, None]).flatten(1)

    def compute(self, s: Tensor, dim: int) -> Tensor:
        return self.applied(self.coefficients(), s, dim)

    def applied(self, table: Tensor, s: Tensor, dim: int) -> Tensor:
        """The formula with a table of one function per channel, or pair of channels."""
        if s.requires_grad and torch.is_grad_enabled():
            raise RuntimeError(
                "a baked activation has no gradients: call the model under torch.no_grad() or on detached "
                "inputs, and train the model that it was baked from"
            )
        result = apply(self.formula, s, table, dim)
        if self.hinge is None:
            return result
        (hinge,) = columns(self.hinge[:, None], s, dim)
        return torch.addcmul(result, hinge.to(s.dtype), s.relu())

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        kept = dict(self._buffers)
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        for name, before in kept.items():  # half precision would change the functions
            now = self._buffers[name]
            if before is not None and now is not None and now.is_floating_point() and now.dtype.itemsize < 4:
                self._buffers[name] = before.to(now.device)
        return self


class Baked2D(Baked):
    """Functions of pairs of channels: 2D-KAFs, with their coefficients."""

    facts: ClassVar[Facts] = Facts("baked", formula="that of the 2D-KAF", plottable=True, arity=2)
    inputs: ClassVar[int] = 2

    @property
    def out_features(self) -> int:
        """Half the number of channels."""
        return self.num_features // 2

    def compute_shared(self, input: Tensor) -> Tensor:
        pairs = input.shape[self.dim] // 2
        return self.applied(self.table.repeat_interleave(pairs // self.groups, 0), input, self.dim)


def bake(model: M, error: float | None = None, *, bits: Bits = 32, degree: Literal[3, 7] | None = None) -> M:
    r"""A copy of a model for inference, in which learned activations are tables.

    >>> net = kafnets.mlp(4, (16,), 1, "kaf")
    >>> baked = kafnets.bake(net)
    >>> x = torch.randn(10, 4)
    >>> torch.allclose(baked(x), net(x), atol=1e-5)
    True

    The size of a table is determined by the allowed error. For KAFs with a Gaussian kernel, it follows from a
    bound on their derivatives (see :mod:`kafnets.nn.lookup_tables`); for others, and for KAFs added to a
    curved base, the error is measured at many points and doubled. Piecewise-linear functions, polynomials and
    2D-KAFs are stored exactly. The bound holds for each activation, not for the outputs of the model.

    Fixed functions are not replaced. A warning names learned activations that were not replaced, and those
    that are tabulated up to ±16 only since they become neither lines nor parabolas (sines, quotients of
    polynomials).

    Args:
        model: any network, or an activation alone. It is not changed; the copy is in evaluation mode, and
            none of its parameters requires a gradient.
        error: the maximum error of an activation, relative to its value where that exceeds 1. None: 1e-6, or
            1e-3 with 8 bits.
        bits: 32, or 8 for tables of a quarter of the size, which adds an error of about 1% of the largest
            value: see :attr:`kafnets.nn.Baked.error`.
        degree: of the polynomials: 7 for few cells, which suits compiled C; 3 for several times as many,
            which suits ONNX, where each power is an operator. The native kernels are about as fast with
            either. None: whichever gives the smaller table.
    """
    error, powers = _checked(model, error, bits, degree)
    found = copy.deepcopy(model).eval().requires_grad_(False)
    made = _made(found, error, powers, bits)
    if id(found) in made:
        return made[id(found)]  # type: ignore[return-value]
    for parent in found.modules():
        for name, child in parent._modules.items():
            parent._modules[name] = made.get(id(child), child)
    return found


def _checked(
    model: nn.Module, error: float | None, bits: Bits, degree: int | None
) -> tuple[float, tuple[int, ...]]:
    """The error that is allowed, and the numbers of coefficients that a cell may have."""
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a torch module, got {type(model).__name__}")
    if bits not in ERRORS:
        raise ValueError(f"bits must be 32 or 8, got {bits!r}")
    if degree not in (None, 3, 7):
        raise ValueError(f"degree must be 3, 7 or None, got {degree!r}")
    error = ERRORS[bits] if error is None else error
    if not (isinstance(error, float | int) and 1e-8 <= error < 1):
        raise ValueError(f"error must be from 1e-8 to below 1, got {error!r}: float32 itself rounds by 6e-8")
    return error, lookup_tables.POWERS if degree is None else (degree + 1,)


def _made(model: nn.Module, error: float, powers: tuple[int, ...], bits: Bits) -> dict[int, Baked]:
    """What becomes of a model's activations, by their identity; a warning names what is left."""
    made: dict[int, Baked] = {}
    left: dict[str, str] = {}
    for name, module in model.named_modules():
        called = f"{name or 'model'} ({type(module).__name__})"
        if isinstance(module, Baked) or not isinstance(module, Activation | EdgewiseKAF):
            continue
        if not any(True for _ in module.parameters(recurse=False)):
            continue  # nothing of its own is learned
        try:
            baked = made[id(module)] = _baked(module, error, powers, bits)
        except ValueError as reason:
            left[called] = str(reason)
        else:
            if baked.is_limited:
                left[called] = f"beyond {baked.range}, where it becomes straight lines"
    if left:
        told = "; ".join(f"{name}: {reason}" for name, reason in left.items())
        warnings.warn(f"not converted to tables: {told}", stacklevel=3)
    return made


def _baked(module: nn.Module, error: float, powers: tuple[int, ...], bits: Bits) -> Baked:
    """One activation; a ValueError tells why there is no table."""
    if not isinstance(module, Activation) or not module.facts.plottable:
        raise ValueError("its functions have more than one input")
    exact = module.exact_formula()
    if exact is not None:
        kind = Baked if module.inputs == 1 else Baked2D
        return kind(module, exact[0], exact[1].detach().float().clone()).eval()
    if module.facts.arity != 1:
        raise ValueError("its functions have more than one input")
    if module.out_features != module.num_features:
        raise ValueError("its functions have more than one output")
    device = next(module.parameters()).device
    return Baked.of_table(module, table_of(module, error, powers), bits).to(device).eval()


def table_of(module: Activation, error: float, powers: tuple[int, ...]) -> lookup_tables.Table:
    """The functions of one activation by cell; a ValueError tells why there is no table."""
    exact = copy.deepcopy(module).double().cpu().eval()

    def function(places: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            inputs = torch.from_numpy(places)[:, None].expand(-1, module.groups)
            return exact.compute(inputs.contiguous(), 1).T.numpy()

    if not isinstance(exact, KernelActivation):
        boundary, pieces = float(getattr(exact, "boundary", 1.0)), int(getattr(exact, "knots", 3)) - 1
        pieces *= 1 + pieces % 2  # so that 0 is between two
        return lookup_tables.measured(function, error, powers, -boundary, 2 * boundary / pieces, boundary)
    expansion = exact.expansion
    ends, tails = expansion.dictionary.elements[[0, -1]], expansion.tails != "zero"
    jump = _jump_at_zero(exact)
    if not isinstance(expansion.kernel, Gaussian) or jump is None:
        piece, start = float(ends[1] - ends[0]) / 2, float(ends[0]) if tails else 0.0
        return lookup_tables.measured(function, error, powers, start, piece, float(np.abs(ends).max()))
    gamma = np.atleast_1d(torch.as_tensor(exact.gamma, dtype=torch.float64).detach().numpy())
    sums = lookup_tables.Gaussians(exact.alpha.detach().numpy(), expansion.dictionary.elements, gamma)
    if not tails or not jump.any() or ends[0] == -ends[1]:
        return lookup_tables.of_gaussians(function, sums, error, powers, tails=tails)
    without = lookup_tables.of_gaussians(
        lambda places: function(places) - jump[:, None] * np.maximum(places, 0),
        sums, error, powers, tails=True,
    )  # fmt: skip
    return replace(without, hinge=jump)


def _jump_at_zero(module: KernelActivation) -> np.ndarray | None:
    """By how much the slope of a base jumps at 0, ``(N,)``; None if the base is curved."""
    base = module.expansion.base
    jump = 0.0 if base is None else STRAIGHT.get(base.function)
    if jump is None:
        return None
    weight = torch.ones(module.groups) if module.base_weight is None else module.base_weight.detach()
    return jump * weight.double().numpy()
