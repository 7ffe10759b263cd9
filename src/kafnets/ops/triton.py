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

# mypy: disable-error-code="untyped-decorator"

import functools
import math
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from kafnets.ops.grid import Grid
from kafnets.ops.layout import axes_by_stride

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

    def forward(self, input: Tensor, alpha: Tensor, grid: Grid, gamma: float, dim: int) -> Tensor:
        """The expansion, in the input's dtype and memory layout."""
        x, axis, order = _in_memory_order(input, dim)
        view = _View.of(x, axis, alpha)
        shape = (*x.shape[:axis], view.neurons, *x.shape[axis + 1 :])
        result = torch.empty(shape, dtype=x.dtype, device=x.device)
        if result.numel():
            _forward(x, _neurons_innermost(alpha, view.dtype), result, grid, gamma, view)
        return _restore(result, order)

    def backward(
        self,
        upstream: Tensor,
        input: Tensor,
        alpha: Tensor,
        grid: Grid,
        gamma: float,
        dim: int,
        wanted: tuple[bool, bool],
    ) -> tuple[Tensor | None, Tensor | None]:
        """The gradients of input and alpha, None for those not wanted."""
        x, axis, order = _in_memory_order(input, dim)
        view = _View.of(x, axis, alpha)
        u = (upstream if order is None else upstream.permute(order)).contiguous()
        by_input = torch.empty_like(x) if wanted[0] else None
        partials = _workspace(alpha, view) if wanted[1] else None
        if u.numel() and any(wanted):
            backward = _backward_1d if alpha.dim() == 2 else _backward_2d
            backward(x, _neurons_innermost(alpha, view.dtype), u, by_input, partials, grid, gamma, view)
        return (
            None if by_input is None else _restore(by_input, order),
            None if partials is None else partials.sum(0).movedim(-1, 0).to(alpha.dtype).contiguous(),
        )


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


def _in_memory_order(input: Tensor, dim: int) -> tuple[Tensor, int, list[int] | None]:
    """Contiguous values, the channel axis among theirs, and the order of axes if it was another."""
    axis = dim if dim >= 0 else dim + input.dim()
    if input.is_contiguous():
        return input, axis, None
    order = axes_by_stride(input)
    return input.permute(order).contiguous(), order.index(axis), order


def _restore(result: Tensor, order: list[int] | None) -> Tensor:
    return result if order is None else result.permute([order.index(axis) for axis in range(len(order))])


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
def _constants(grid: Grid, gamma: float, dtype: torch.dtype, device: torch.device) -> Tensor:
    """What the kernels know of kernel and dictionary, rounded once to the computing precision.

    Triton passes numbers in float32, so they come in a tensor. It is kept because a copy to the GPU
    would be waited for. First ``root`` and ``slope``: kernel values are ``2 ** -t ** 2`` with
    ``t = root * (x - d)``, and their derivatives ``slope * t`` times that. Then the activation from
    which on all is zero, and the dictionary.
    """
    root = math.sqrt(gamma / math.log(2.0))
    slope = -2.0 * gamma / root
    elements = grid.elements()
    # Twice as far as needed, so that no rounding of dictionary elements matters.
    limit = 2.0 * (max(abs(elements[0]), abs(elements[-1])) + math.sqrt(_VANISHED) / root)
    return torch.tensor([root, slope, limit, *elements], dtype=dtype, device=device)


def _forward(x: Tensor, alpha: Tensor, result: Tensor, grid: Grid, gamma: float, view: _View) -> None:
    constants = _constants(grid, gamma, view.dtype, x.device)
    sizes = (view.rows, view.neurons, view.positions, grid.size)
    if alpha.dim() == 2:
        tile = view.tile(LARGEST_TILE)
        kernel = _forward_1d_kernel
        options: dict[str, Any] = {}
    else:
        tile, options = _tile_2d(grid, view)
        kernel = _forward_2d_kernel
    programs = view.tiles_along(tile) * view.tiles_across(tile)
    with torch.cuda.device_of(x):
        kernel[(programs,)](x, alpha, result, constants, *sizes, **tile, **options, **_COMPILATION)


def _backward_1d(
    x: Tensor,
    alpha: Tensor,
    upstream: Tensor,
    by_input: Tensor | None,
    partials: Tensor | None,
    grid: Grid,
    gamma: float,
    view: _View,
) -> None:
    constants = _constants(grid, gamma, view.dtype, x.device)
    sizes = (view.rows, view.neurons, view.positions, grid.size)
    elements = triton.next_power_of_2(grid.size)
    tile = view.tile(max(8, 4 * view.terms // elements))
    blocks = view.tiles_along(tile) if partials is None else partials.shape[0]
    programs = blocks * view.tiles_across(tile)
    with torch.cuda.device_of(x):
        _backward_1d_kernel[(programs,)](
            x, alpha, upstream, by_input, partials, constants, *sizes, blocks,
            elements=elements, num_warps=4, **tile, **_COMPILATION,
        )  # fmt: skip


def _backward_2d(
    x: Tensor,
    alpha: Tensor,
    upstream: Tensor,
    by_input: Tensor | None,
    partials: Tensor | None,
    grid: Grid,
    gamma: float,
    view: _View,
) -> None:
    constants = _constants(grid, gamma, view.dtype, x.device)
    sizes = (view.rows, view.neurons, view.positions, grid.size)
    with torch.cuda.device_of(x):
        if by_input is not None:
            tile, options = _tile_2d(grid, view)
            programs = view.tiles_along(tile) * view.tiles_across(tile)
            _input_gradient_2d_kernel[(programs,)](
                x, alpha, upstream, by_input, constants, *sizes, **tile, **options, **_COMPILATION
            )
        if partials is not None:
            # All first coordinates times a chunk of second ones are summed at once: as many as fit.
            elements = triton.next_power_of_2(grid.size)
            activations = max(32, 4 * view.terms // elements**2)
            chunk = max(1, min(elements, 4 * view.terms // (activations * elements)))
            tile = view.tile(activations)
            programs = partials.shape[0] * view.tiles_across(tile) * triton.cdiv(grid.size, chunk)
            _coefficient_gradient_2d_kernel[(programs,)](
                x, upstream, partials, constants, *sizes, partials.shape[0],
                elements=elements, chunk=chunk, num_warps=4, **tile, **_COMPILATION,
            )  # fmt: skip


def _tile_2d(grid: Grid, view: _View) -> tuple[dict[str, Any], dict[str, Any]]:
    """One warp for each tile: no coefficient is then wanted by two, and nothing has to be exchanged."""
    elements = triton.next_power_of_2(grid.size)
    return view.tile(max(8, view.terms // elements)), {"elements": elements, "num_warps": 1}


# The kernels. Their grids have one axis, because the others end at 65535 programs.


@triton.jit
def _place(row: tl.tensor, channel: tl.tensor, channels: tl.tensor, positions: tl.tensor) -> tl.tensor:
    """The offset of a value in (batch, channels, positions)."""
    return (row // positions * channels + channel) * positions + row % positions


@triton.jit
def _activation(x: tl.tensor, at: tl.tensor, mask: tl.tensor, constants: tl.tensor) -> tl.tensor:
    """An activation in computing precision, moved in to where terms are zero but finite; NaN stays."""
    value = tl.load(x + at, mask=mask, other=0.0).to(constants.dtype.element_ty)
    limit = tl.load(constants + 2)
    value = tl.where(value > limit, limit, value)
    return tl.where(value < -limit, -limit, value)


@triton.jit
def _forward_1d_kernel(
    x: tl.tensor,
    alpha: tl.tensor,
    result: tl.tensor,
    constants: tl.tensor,
    rows: tl.tensor,
    neurons: tl.tensor,
    positions: tl.tensor,
    size: tl.tensor,
    height: tl.constexpr,
    width: tl.constexpr,
    index: tl.constexpr,
) -> None:
    program = tl.program_id(0).to(index)
    across = tl.cdiv(neurons, width)
    neuron = program % across * width + tl.arange(0, width)[None, :]
    row = program // across * height + tl.arange(0, height)[:, None]
    inside = (row < rows) & (neuron < neurons)
    at = _place(row, neuron, neurons, positions)
    activation = _activation(x, at, inside, constants)
    root = tl.load(constants)
    total = tl.zeros((height, width), constants.dtype.element_ty)
    coefficients = alpha + neuron
    for i in range(size):
        t = root * (activation - tl.load(constants + 3 + i))
        total += tl.load(coefficients, mask=neuron < neurons, other=0.0) * tl.exp2(-t * t)
        coefficients += neurons
    tl.store(result + at, total.to(result.dtype.element_ty), mask=inside)


@triton.jit
def _backward_1d_kernel(
    x: tl.tensor,
    alpha: tl.tensor,
    upstream: tl.tensor,
    by_input: tl.tensor,
    partials: tl.tensor,
    constants: tl.tensor,
    rows: tl.tensor,
    neurons: tl.tensor,
    positions: tl.tensor,
    size: tl.tensor,
    blocks: tl.tensor,
    elements: tl.constexpr,
    height: tl.constexpr,
    width: tl.constexpr,
    index: tl.constexpr,
) -> None:
    """Both gradients from one look at each activation; what is not wanted is None."""
    program = tl.program_id(0).to(index)
    across = tl.cdiv(neurons, width)
    block = program // across
    neuron = program % across * width + tl.arange(0, width)[None, :]
    i = tl.arange(0, elements).to(index)
    element = tl.load(constants + 3 + i, mask=i < size, other=0.0)[:, None, None]
    i = i[:, None, None]
    coefficient_inside = (i < size) & (neuron[None] < neurons)
    # Loaded in the shape of the tile, so that the compiler spreads both over the threads alike.
    neuron_in_tile = neuron + tl.zeros((height, 1), index)
    coefficient = tl.load(
        alpha + i * neurons + neuron_in_tile[None],
        mask=(i < size) & (neuron_in_tile[None] < neurons),
        other=0.0,
    )
    root = tl.load(constants)
    slope = tl.load(constants + 1)
    sums = tl.zeros((elements, height, width), constants.dtype.element_ty)
    for tile in range(block, tl.cdiv(rows, height), blocks):
        row = tile * height + tl.arange(0, height)[:, None]
        inside = (row < rows) & (neuron < neurons)
        at = _place(row, neuron, neurons, positions)
        u = tl.load(upstream + at, mask=inside, other=0.0).to(constants.dtype.element_ty)
        t = root * (_activation(x, at, inside, constants)[None] - element)
        kernel = tl.exp2(-t * t)
        if by_input is not None:
            found = slope * u * tl.sum(coefficient * (t * kernel), axis=0)
            tl.store(by_input + at, found.to(by_input.dtype.element_ty), mask=inside)
        if partials is not None:
            sums += u[None] * kernel
    if partials is not None:
        at = (block * size + i) * neurons + neuron[None]
        tl.store(partials + at, tl.sum(sums, axis=1, keep_dims=True), mask=coefficient_inside)


@triton.jit
def _forward_2d_kernel(
    x: tl.tensor,
    alpha: tl.tensor,
    result: tl.tensor,
    constants: tl.tensor,
    rows: tl.tensor,
    pairs: tl.tensor,
    positions: tl.tensor,
    size: tl.tensor,
    elements: tl.constexpr,
    height: tl.constexpr,
    width: tl.constexpr,
    index: tl.constexpr,
) -> None:
    """The first activation's kernel values are kept, the second's come one by one."""
    program = tl.program_id(0).to(index)
    across = tl.cdiv(pairs, width)
    pair = program % across * width + tl.arange(0, width)[None, :]
    row = program // across * height + tl.arange(0, height)[:, None]
    inside = (row < rows) & (pair < pairs)
    at = _place(row, 2 * pair, 2 * pairs, positions)
    first = _activation(x, at, inside, constants)
    second = _activation(x, at + positions, inside, constants)
    i = tl.arange(0, elements).to(index)
    element = tl.load(constants + 3 + i, mask=i < size, other=0.0)[:, None, None]
    i = i[:, None, None]
    coefficient_inside = (i < size) & (pair[None] < pairs)
    root = tl.load(constants)
    t_first = root * (first[None] - element)
    kernel = tl.exp2(-t_first * t_first)
    total = tl.zeros((height, width), constants.dtype.element_ty)
    for j in range(size):
        column = alpha + (i * size + j) * pairs + pair[None]
        coefficient = tl.load(column, mask=coefficient_inside, other=0.0)
        t_second = root * (second - tl.load(constants + 3 + j))
        total += tl.sum(coefficient * kernel, axis=0) * tl.exp2(-t_second * t_second)
    at = _place(row, pair, pairs, positions)
    tl.store(result + at, total.to(result.dtype.element_ty), mask=inside)


@triton.jit
def _input_gradient_2d_kernel(
    x: tl.tensor,
    alpha: tl.tensor,
    upstream: tl.tensor,
    by_input: tl.tensor,
    constants: tl.tensor,
    rows: tl.tensor,
    pairs: tl.tensor,
    positions: tl.tensor,
    size: tl.tensor,
    elements: tl.constexpr,
    height: tl.constexpr,
    width: tl.constexpr,
    index: tl.constexpr,
) -> None:
    program = tl.program_id(0).to(index)
    across = tl.cdiv(pairs, width)
    pair = program % across * width + tl.arange(0, width)[None, :]
    row = program // across * height + tl.arange(0, height)[:, None]
    inside = (row < rows) & (pair < pairs)
    place = _place(row, 2 * pair, 2 * pairs, positions)
    first = _activation(x, place, inside, constants)
    second = _activation(x, place + positions, inside, constants)
    i = tl.arange(0, elements).to(index)
    element = tl.load(constants + 3 + i, mask=i < size, other=0.0)[:, None, None]
    i = i[:, None, None]
    coefficient_inside = (i < size) & (pair[None] < pairs)
    root = tl.load(constants)
    t_first = root * (first[None] - element)
    kernel = tl.exp2(-t_first * t_first)
    derivative = t_first * kernel
    by_first = tl.zeros((height, width), constants.dtype.element_ty)
    by_second = tl.zeros((height, width), constants.dtype.element_ty)
    for j in range(size):
        column = alpha + (i * size + j) * pairs + pair[None]
        coefficient = tl.load(column, mask=coefficient_inside, other=0.0)
        t_second = root * (second - tl.load(constants + 3 + j))
        kernel_second = tl.exp2(-t_second * t_second)
        by_first += tl.sum(coefficient * derivative, axis=0) * kernel_second
        by_second += tl.sum(coefficient * kernel, axis=0) * (t_second * kernel_second)
    at = _place(row, pair, pairs, positions)
    u = tl.load(upstream + at, mask=inside, other=0.0).to(constants.dtype.element_ty)
    u *= tl.load(constants + 1)
    tl.store(by_input + place, (u * by_first).to(by_input.dtype.element_ty), mask=inside)
    tl.store(by_input + place + positions, (u * by_second).to(by_input.dtype.element_ty), mask=inside)


@triton.jit
def _coefficient_gradient_2d_kernel(
    x: tl.tensor,
    upstream: tl.tensor,
    partials: tl.tensor,
    constants: tl.tensor,
    rows: tl.tensor,
    pairs: tl.tensor,
    positions: tl.tensor,
    size: tl.tensor,
    blocks: tl.tensor,
    elements: tl.constexpr,
    chunk: tl.constexpr,
    height: tl.constexpr,
    width: tl.constexpr,
    index: tl.constexpr,
) -> None:
    program = tl.program_id(0).to(index)
    across = tl.cdiv(pairs, width)
    block = program // across % blocks
    pair = program % across * width + tl.arange(0, width)[None, :]
    i = tl.arange(0, elements).to(index)
    j = program // across // blocks * chunk + tl.arange(0, chunk)
    element_i = tl.load(constants + 3 + i, mask=i < size, other=0.0)[:, None, None]
    element_j = tl.load(constants + 3 + j, mask=j < size, other=0.0)[:, None, None]
    root = tl.load(constants)
    sums = tl.zeros((elements, chunk, height, width), constants.dtype.element_ty)
    for tile in range(block, tl.cdiv(rows, height), blocks):
        row = tile * height + tl.arange(0, height)[:, None]
        inside = (row < rows) & (pair < pairs)
        at = _place(row, 2 * pair, 2 * pairs, positions)
        t_first = root * (_activation(x, at, inside, constants)[None] - element_i)
        t_second = root * (_activation(x, at + positions, inside, constants)[None] - element_j)
        at = _place(row, pair, pairs, positions)
        u = tl.load(upstream + at, mask=inside, other=0.0).to(constants.dtype.element_ty)
        sums += tl.exp2(-t_first * t_first)[:, None] * (u[None] * tl.exp2(-t_second * t_second))[None]
    i = i[:, None, None, None]
    j = j[None, :, None, None]
    pair = pair[None, None]
    at = ((block * size + i) * size + j) * pairs + pair
    mask = (i < size) & (j < size) & (pair < pairs)
    tl.store(partials + at, tl.sum(sums, axis=2, keep_dims=True), mask=mask)
