"""The fused kernels for GPUs, in Triton.

They are proved right under Triton's interpreter and known to compile for NVIDIA GPUs; they are untimed,
for lack of a GPU. Tile sizes are therefore reasoned, not tuned.

As on the CPU, contiguous memory is seen as (batch, neurons, positions). A *row* is a batch entry and a
position, and a program works on tiles of rows by neurons. Threads run over what is innermost in memory:
over neurons if positions is 1, otherwise over rows. Dictionary elements come first in a tile, so that each
thread keeps all elements of its own activations and sums over them without talking to others.

Exponentials are cheap on a GPU, so the kernel values are computed directly and never stored. Half
precision is converted to float32 on loading. Coefficients and their gradients have neurons innermost here.

Coefficient gradients are summed without atomics, which would queue up at the few coefficients there are
and add in a different order each time: every program keeps sums of its own over many rows, and writes
them once.
"""

import functools
import math
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from kafnets.expansion import Expansion
from kafnets.ops import triton_kaf, triton_kaf2d
from kafnets.ops.formula import Formula
from kafnets.ops.kaf import ExpansionFormula
from kafnets.ops.layout import in_memory_order, in_written_order

LARGEST_TILE = 1024
"""Activations in a tile where only one dictionary element at a time is looked at."""

TERMS = 1024
"""Products of activations and dictionary elements for a warp: 32 registers in each of its threads."""

ROW_BLOCKS = 256
"""At most so many partial sums of a coefficient gradient."""

WIDE = 2**30
"""From this number of values on, addresses are computed in 64 bits."""

# 2 ** -1100 is zero in float64 and in float32.
_VANISHED = 1100.0

# Sums of products in one rounding each: faster and closer. Triton's own default is about to change.
_COMPILATION = {"enable_fp_fusion": True}


class TritonRunner:
    """The Triton kernels as a fused implementation."""

    def forward(self, formula: Formula, s: Tensor, table: Tensor, dim: int) -> Tensor:
        """The expansion, in the input's dtype and memory layout."""
        assert isinstance(formula, ExpansionFormula)
        x, axis, order = in_memory_order(s.resolve_neg(), dim)
        alpha = table.resolve_neg()
        view = _View.of(x, axis, alpha)
        shape = (*x.shape[:axis], view.neurons, *x.shape[axis + 1 :])
        result = torch.empty(shape, dtype=x.dtype, device=x.device)
        if result.numel():
            _forward(x, _neurons_innermost(alpha, view.dtype), result, formula.expansion, view)
        return in_written_order(result, order)

    def backward(
        self,
        formula: Formula,
        upstream: Tensor,
        s: Tensor,
        table: Tensor,
        dim: int,
        wanted: tuple[bool, bool],
    ) -> tuple[Tensor | None, Tensor | None]:
        """The gradients of input and coefficients, None for those not wanted."""
        assert isinstance(formula, ExpansionFormula)
        x, axis, order = in_memory_order(s.resolve_neg(), dim)
        alpha, upstream = table.resolve_neg(), upstream.resolve_neg()
        view = _View.of(x, axis, alpha)
        u = (upstream if order is None else upstream.permute(order)).contiguous()
        by_input = torch.empty_like(x) if wanted[0] else None
        partials = _workspace(alpha, view) if wanted[1] else None
        if u.numel() and any(wanted):
            backward = _backward_1d if alpha.dim() == 2 else _backward_2d
            coefficients = _neurons_innermost(alpha, view.dtype)
            backward(x, coefficients, u, by_input, partials, formula.expansion, view)
        return (
            None if by_input is None else in_written_order(by_input, order),
            None if partials is None else partials.sum(0).movedim(-1, 0).to(alpha.dtype).contiguous(),
        )


TRITON = TritonRunner()


class _View(NamedTuple):
    """How a contiguous tensor is seen, and what it is computed in."""

    rows: int
    neurons: int
    positions: int
    dtype: torch.dtype
    index: Any
    """The type of addresses."""

    @classmethod
    def of(cls, x: Tensor, axis: int, alpha: Tensor) -> "_View":
        positions = math.prod(x.shape[axis + 1 :])
        rows = math.prod(x.shape[:axis]) * positions
        index = tl.int64 if max(x.numel(), alpha.numel()) >= WIDE else tl.int32
        return cls(rows, alpha.shape[0], positions, torch.promote_types(x.dtype, torch.float32), index)

    @property
    def terms(self) -> int:
        """As :data:`TERMS`; a float64 takes two registers."""
        return TERMS * 4 // self.dtype.itemsize

    def tile(self, activations: int) -> dict[str, Any]:
        """A tile of so many activations. 32 neurons are as wide as a warp."""
        width = min(triton.next_power_of_2(self.neurons), 32, activations) if self.positions == 1 else 1
        return {"height": activations // width, "width": width, "index": self.index}

    def tiles_along(self, tile: dict[str, Any]) -> int:
        """The number of tiles over all rows."""
        return triton.cdiv(self.rows, tile["height"])

    def tiles_across(self, tile: dict[str, Any]) -> int:
        """The number of tiles over all neurons."""
        return triton.cdiv(self.neurons, tile["width"])


def _neurons_innermost(alpha: Tensor, dtype: torch.dtype) -> Tensor:
    return alpha.movedim(0, -1).to(dtype).contiguous()


def _workspace(alpha: Tensor, view: _View) -> Tensor:
    """Room for partial sums of the coefficient gradient, ``(row blocks, D, N)`` or ``(..., D, D, P)``.

    There are as many row blocks as rows can pay for: the workspace is no larger than the input or the
    coefficients, whichever is larger.
    """
    coefficients = math.prod(alpha.shape[1:])
    blocks = max(1, min(ROW_BLOCKS, view.rows // coefficients))
    shape = (blocks, *alpha.shape[1:], view.neurons)
    allocate = torch.empty if view.rows else torch.zeros
    return allocate(shape, dtype=view.dtype, device=alpha.device)


@functools.lru_cache(maxsize=256)
def _constants(expansion: Expansion, dtype: torch.dtype, device: torch.device) -> Tensor:
    """What the kernels know of kernel and dictionary, rounded once to the computing precision.

    Triton passes numbers in float32, so they come in a tensor. It is kept because a copy to the GPU
    would be waited for. First ``root`` and ``slope``: kernel values are ``2 ** -t ** 2`` with
    ``t = root * (x - d)``, and their derivatives ``slope * t`` times that. Then the activation from
    which on all is zero, and the dictionary.
    """
    gamma, elements = expansion.gamma, expansion.dictionary.values
    assert gamma is not None
    root = math.sqrt(gamma / math.log(2.0))
    slope = -2.0 * gamma / root
    # Twice as far as needed, so that no rounding of dictionary elements matters.
    limit = 2.0 * (max(abs(elements[0]), abs(elements[-1])) + math.sqrt(_VANISHED) / root)
    return torch.tensor([root, slope, limit, *elements], dtype=dtype, device=device)


def _forward(x: Tensor, alpha: Tensor, result: Tensor, expansion: Expansion, view: _View) -> None:
    constants = _constants(expansion, view.dtype, x.device)
    sizes = (view.rows, view.neurons, view.positions, expansion.dictionary.size)
    if alpha.dim() == 2:
        tile, options = view.tile(LARGEST_TILE), _outside(expansion)
        kernel = triton_kaf.forward
    else:
        tile, options = _tile_2d(expansion, view)
        kernel = triton_kaf2d.forward
    programs = view.tiles_along(tile) * view.tiles_across(tile)
    with torch.cuda.device_of(x):
        kernel[(programs,)](x, alpha, result, constants, *sizes, **tile, **options, **_COMPILATION)


def _backward_1d(
    x: Tensor,
    alpha: Tensor,
    upstream: Tensor,
    by_input: Tensor | None,
    partials: Tensor | None,
    expansion: Expansion,
    view: _View,
) -> None:
    constants = _constants(expansion, view.dtype, x.device)
    sizes = (view.rows, view.neurons, view.positions, expansion.dictionary.size)
    elements = triton.next_power_of_2(expansion.dictionary.size)
    tile = view.tile(max(8, 4 * view.terms // elements))
    blocks = view.tiles_along(tile) if partials is None else partials.shape[0]
    programs = blocks * view.tiles_across(tile)
    with torch.cuda.device_of(x):
        triton_kaf.backward[(programs,)](
            x, alpha, upstream, by_input, partials, constants, *sizes, blocks,
            elements=elements, num_warps=4, **tile, **_outside(expansion), **_COMPILATION,
        )  # fmt: skip


def _outside(expansion: Expansion) -> dict[str, str | None]:
    """Tails outside the dictionary, and the base."""
    base = expansion.base
    function, form = (None, "fixed") if base is None else (base.function, base.form)
    return {"tails": expansion.tails, "function": function, "form": form}


def _backward_2d(
    x: Tensor,
    alpha: Tensor,
    upstream: Tensor,
    by_input: Tensor | None,
    partials: Tensor | None,
    expansion: Expansion,
    view: _View,
) -> None:
    constants = _constants(expansion, view.dtype, x.device)
    sizes = (view.rows, view.neurons, view.positions, expansion.dictionary.size)
    with torch.cuda.device_of(x):
        if by_input is not None:
            tile, options = _tile_2d(expansion, view)
            programs = view.tiles_along(tile) * view.tiles_across(tile)
            triton_kaf2d.input_gradient[(programs,)](
                x, alpha, upstream, by_input, constants, *sizes, **tile, **options, **_COMPILATION
            )
        if partials is not None:
            # All first coordinates times a chunk of second ones are summed at once: as many as fit.
            elements = triton.next_power_of_2(expansion.dictionary.size)
            activations = max(32, 4 * view.terms // elements**2)
            chunk = max(1, min(elements, 4 * view.terms // (activations * elements)))
            tile = view.tile(activations)
            programs = (
                partials.shape[0] * view.tiles_across(tile) * triton.cdiv(expansion.dictionary.size, chunk)
            )
            triton_kaf2d.coefficient_gradient[(programs,)](
                x, upstream, partials, constants, *sizes, partials.shape[0],
                elements=elements, chunk=chunk, num_warps=4, **tile, **_COMPILATION,
            )  # fmt: skip


def _tile_2d(expansion: Expansion, view: _View) -> tuple[dict[str, Any], dict[str, Any]]:
    """One warp for each tile: no coefficient is then wanted by two, and nothing has to be exchanged."""
    elements = triton.next_power_of_2(expansion.dictionary.size)
    return view.tile(max(8, view.terms // elements)), {"elements": elements, "num_warps": 1}
