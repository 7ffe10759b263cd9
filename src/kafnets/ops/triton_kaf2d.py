"""The Triton kernels of 2D-KAFs; :mod:`kafnets.ops.triton` says how they see memory, and launches them."""

# mypy: disable-error-code="untyped-decorator"

import triton
import triton.language as tl

from kafnets.ops.triton_kaf import activation_at, offset


@triton.jit
def forward(
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
    place = offset(row, 2 * pair, 2 * pairs, positions)
    first = activation_at(x, place, inside, constants)
    second = activation_at(x, place + positions, inside, constants)
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
    at = offset(row, pair, pairs, positions)
    tl.store(result + at, total.to(result.dtype.element_ty), mask=inside)


@triton.jit
def input_gradient(
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
    """As the forward kernel, with the derivatives of both activations' kernel values."""
    program = tl.program_id(0).to(index)
    across = tl.cdiv(pairs, width)
    pair = program % across * width + tl.arange(0, width)[None, :]
    row = program // across * height + tl.arange(0, height)[:, None]
    inside = (row < rows) & (pair < pairs)
    place = offset(row, 2 * pair, 2 * pairs, positions)
    first = activation_at(x, place, inside, constants)
    second = activation_at(x, place + positions, inside, constants)
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
    at = offset(row, pair, pairs, positions)
    u = tl.load(upstream + at, mask=inside, other=0.0).to(constants.dtype.element_ty)
    u *= tl.load(constants + 1)
    tl.store(by_input + place, (u * by_first).to(by_input.dtype.element_ty), mask=inside)
    tl.store(by_input + place + positions, (u * by_second).to(by_input.dtype.element_ty), mask=inside)


@triton.jit
def coefficient_gradient(
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
    """Partial sums of all first elements times a chunk of second ones, over a block of rows."""
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
        at = offset(row, 2 * pair, 2 * pairs, positions)
        t_first = root * (activation_at(x, at, inside, constants)[None] - element_i)
        t_second = root * (activation_at(x, at + positions, inside, constants)[None] - element_j)
        at = offset(row, pair, pairs, positions)
        u = tl.load(upstream + at, mask=inside, other=0.0).to(constants.dtype.element_ty)
        sums += tl.exp2(-t_first * t_first)[:, None] * (u[None] * tl.exp2(-t_second * t_second))[None]
    i = i[:, None, None, None]
    j = j[None, :, None, None]
    pair = pair[None, None]
    at = ((block * size + i) * size + j) * pairs + pair
    mask = (i < size) & (j < size) & (pair < pairs)
    tl.store(partials + at, tl.sum(sums, axis=2, keep_dims=True), mask=mask)
