"""The Triton kernels of KAFs; :mod:`kafnets.ops.triton` says how they see memory, and launches them."""

# mypy: disable-error-code="untyped-decorator"

import triton
import triton.language as tl

from kafnets.ops.triton_bases import added

# Their grids have one axis, because the others end at 65535 programs.


@triton.jit
def offset(row: tl.tensor, channel: tl.tensor, channels: tl.tensor, positions: tl.tensor) -> tl.tensor:
    """The offset of a value in (batch, channels, positions)."""
    return (row // positions * channels + channel) * positions + row % positions


@triton.jit
def _load(x: tl.tensor, at: tl.tensor, mask: tl.tensor, constants: tl.tensor) -> tl.tensor:
    """In computing precision."""
    return tl.load(x + at, mask=mask, other=0.0).to(constants.dtype.element_ty)


@triton.jit
def _inside(s: tl.tensor, low: tl.tensor, high: tl.tensor) -> tl.tensor:
    """Moved in between; NaN stays."""
    s = tl.where(s > high, high, s)
    return tl.where(s < low, low, s)


@triton.jit
def activation_at(x: tl.tensor, at: tl.tensor, mask: tl.tensor, constants: tl.tensor) -> tl.tensor:
    """Moved in to where terms are zero but finite."""
    limit = tl.load(constants + 2)
    return _inside(_load(x, at, mask, constants), -limit, limit)


@triton.jit
def _parted(
    s: tl.tensor, constants: tl.tensor, size: tl.tensor, tails: tl.constexpr
) -> tuple[tl.tensor, tl.tensor]:
    """Where kernels are evaluated, and how far beyond that the activation is."""
    if tails == "zero":  # only where terms are finite
        high = tl.load(constants + 2)
        low = -high
    else:
        low = tl.load(constants + 3)
        high = tl.load(constants + 2 + size)
    inside = _inside(s, low, high)
    return inside, s - inside


@triton.jit
def _weight(
    table: tl.tensor, size: tl.tensor, neuron: tl.tensor, neurons: tl.tensor, form: tl.constexpr
) -> tl.tensor:
    """Of the base, 1 if it has none: it follows the coefficients."""
    mask = (neuron < neurons) & (form != "fixed")
    return tl.load(table + size * neurons + neuron, mask=mask, other=1.0)


@triton.jit
def _store(
    partials: tl.tensor,
    sums: tl.tensor,
    weights: tl.tensor,
    block: tl.tensor,
    i: tl.tensor,
    neuron: tl.tensor,
    size: tl.tensor,
    neurons: tl.tensor,
    form: tl.constexpr,
) -> None:
    """Sums over a tile's rows, as the table has its columns."""
    first = block * (size + (form != "fixed"))
    at = (first + i) * neurons + neuron[None]
    mask = (i < size) & (neuron[None] < neurons)
    tl.store(partials + at, tl.sum(sums, axis=1, keep_dims=True), mask=mask)
    if form != "fixed":
        at = (first + size) * neurons + neuron
        tl.store(partials + at, tl.sum(weights, axis=0, keep_dims=True), mask=neuron < neurons)


@triton.jit
def forward(
    x: tl.tensor,
    table: tl.tensor,
    result: tl.tensor,
    constants: tl.tensor,
    rows: tl.tensor,
    neurons: tl.tensor,
    positions: tl.tensor,
    size: tl.tensor,
    height: tl.constexpr,
    width: tl.constexpr,
    index: tl.constexpr,
    tails: tl.constexpr,
    function: tl.constexpr,
    form: tl.constexpr,
) -> None:
    """One dictionary element after the other."""
    program = tl.program_id(0).to(index)
    across = tl.cdiv(neurons, width)
    neuron = program % across * width + tl.arange(0, width)[None, :]
    row = program // across * height + tl.arange(0, height)[:, None]
    inside = (row < rows) & (neuron < neurons)
    at = offset(row, neuron, neurons, positions)
    s = _load(x, at, inside, constants)
    activation, beyond = _parted(s, constants, size, tails)
    root = tl.load(constants)
    total = tl.zeros((height, width), constants.dtype.element_ty)
    steep = tl.zeros((height, width), constants.dtype.element_ty)
    coefficients = table + neuron
    for i in range(size):
        t = root * (activation - tl.load(constants + 3 + i))
        term = tl.load(coefficients, mask=neuron < neurons, other=0.0) * tl.exp2(-t * t)
        total += term
        if tails == "linear":
            steep += term * t
        coefficients += neurons
    if tails == "linear":
        total += tl.load(constants + 1) * steep * beyond
    value, _, _ = added(s, _weight(table, size, neuron, neurons, form), function, form)
    total += value
    tl.store(result + at, total.to(result.dtype.element_ty), mask=inside)


@triton.jit
def backward(
    x: tl.tensor,
    table: tl.tensor,
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
    tails: tl.constexpr,
    function: tl.constexpr,
    form: tl.constexpr,
) -> None:
    """Both gradients from one look at each activation; what is not wanted is None."""
    program = tl.program_id(0).to(index)
    across = tl.cdiv(neurons, width)
    block = program // across
    neuron = program % across * width + tl.arange(0, width)[None, :]
    i = tl.arange(0, elements).to(index)
    element = tl.load(constants + 3 + i, mask=i < size, other=0.0)[:, None, None]
    i = i[:, None, None]
    # Loaded in the shape of the tile, so that the compiler spreads both over the threads alike.
    neuron_in_tile = neuron + tl.zeros((height, 1), index)
    mask = (i < size) & (neuron_in_tile[None] < neurons)
    coefficient = tl.load(table + i * neurons + neuron_in_tile[None], mask=mask, other=0.0)
    weight = _weight(table, size, neuron, neurons, form)
    root = tl.load(constants)
    slope = tl.load(constants + 1)
    sums = tl.zeros((elements, height, width), constants.dtype.element_ty)
    weights = tl.zeros((height, width), constants.dtype.element_ty)
    for tile in range(block, tl.cdiv(rows, height), blocks):
        row = tile * height + tl.arange(0, height)[:, None]
        inside = (row < rows) & (neuron < neurons)
        at = offset(row, neuron, neurons, positions)
        u = _load(upstream, at, inside, constants)
        s = _load(x, at, inside, constants)
        activation, beyond = _parted(s, constants, size, tails)
        t = root * (activation[None] - element)
        kernel = tl.exp2(-t * t)
        _, by_s, by_weight = added(s, weight, function, form)
        if by_input is not None:
            found = slope * tl.sum(coefficient * (t * kernel), axis=0)
            if tails == "constant":
                found = tl.where((beyond < 0) | (beyond > 0), 0.0, found)
            tl.store(by_input + at, (u * (found + by_s)).to(by_input.dtype.element_ty), mask=inside)
        if partials is not None:
            if tails == "linear":
                kernel += kernel * t * (slope * beyond)[None]
            sums += u[None] * kernel
            weights += u * by_weight
    if partials is not None:
        _store(partials, sums, weights, block, i, neuron, size, neurons, form)
