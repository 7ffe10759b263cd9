r"""KAFs, :math:`\sum_i \alpha_{n,i} \, \kappa(s, d_i)`, and 2D-KAFs, with their derivatives.

A 2D-KAF is a sum along its first axis of sums along its second; a KAF has no second one. Along each axis the
dictionary is cut into runs of neighboring elements, which come one after the other.
"""

import functools
from collections.abc import Callable
from typing import Any

from kafnets.arrays import tails
from kafnets.arrays.library import Array, Library
from kafnets.arrays.segments import ALONE, NOTHING, Cut, Factors, Terms, segments_of
from kafnets.expansion import Expansion


def value(xp: Library, expansion: Expansion, s: Array, alpha: Array) -> Array:
    """The expansion."""
    total = _sum(xp, expansion, tails.inside(xp, expansion, s), alpha, "value", 0)
    return total + tails.added(xp, expansion, s, alpha) if expansion.tails == "linear" else total


def slope(xp: Library, expansion: Expansion, s: Array, alpha: Array) -> Array:
    """Its derivative by each input, in the shape of ``s``."""
    at = tails.inside(xp, expansion, s)
    slopes = [_sum(xp, expansion, at, alpha, "slope", axis) for axis in range(expansion.dimensions)]
    if len(slopes) == 1:
        return tails.flattened(xp, expansion, s, slopes[0])
    return xp.reshape(xp.stack(slopes, axis=-1), xp.shape(s))


def by_gamma(xp: Library, expansion: Expansion, s: Array, alpha: Array) -> Array:
    """The derivative of each output by its bandwidth, which only the Gaussian has."""
    at = tails.inside(xp, expansion, s)
    found = [_sum(xp, expansion, at, alpha, "by_gamma", axis) for axis in range(expansion.dimensions)]
    total = found[0] if len(found) == 1 else found[0] + found[1]
    return (
        total + tails.added(xp, expansion, s, alpha, by_gamma=True) if expansion.tails == "linear" else total
    )


def by_input(xp: Library, upstream: Array, slopes: Array) -> Array:
    """The derivative of ``sum(upstream * output)`` by the input, from its slopes."""
    if slopes.shape[-1] == upstream.shape[-1]:
        return slopes * upstream
    # The axis counted from 0: autograd's derivative of ``repeat`` is wrong for negative ones.
    return slopes * xp.repeat(upstream, 2, axis=len(upstream.shape) - 1)


def by_coefficients(xp: Library, expansion: Expansion, upstream: Array, s: Array) -> Array:
    """The derivative of ``sum(upstream * output)`` by alpha."""
    total = _moments(xp, expansion, upstream, tails.inside(xp, expansion, s))
    return total + tails.by_coefficients(xp, expansion, upstream, s) if expansion.tails == "linear" else total


def _moments(xp: Library, expansion: Expansion, upstream: Array, s: Array) -> Array:
    """The sum over rows of ``upstream`` times each element's term."""
    (one, two), runs = _cut(xp, expansion, s, "value", 0)

    def cells(number: Any) -> Array:
        first, second = runs(number)
        sums = {}
        # Envelope and powers of one axis before those of the other: both together may leave all range.
        for i, along in first.spread(upstream):
            for j, term in second.spread(along):
                sums[i, j] = (one.weights[i] * two.weights[j]) * over_rows(xp, term)
        return xp.stack([sums[key] for key in sorted(sums)])

    found = xp.collect(one.count * two.count, cells, s)
    apart = xp.reshape(found, (one.count, two.count, one.length, two.length, -1))
    shape = (-1, one.count * one.length, two.count * two.length)
    whole = xp.reshape(xp.transpose(apart, (4, 0, 2, 1, 3)), shape)
    return whole[:, : one.size, : two.size] if expansion.dimensions == 2 else whole[:, : one.size, 0]


def over_rows(xp: Library, values: Array) -> Array:
    """The sum over all axes but that of the channels."""
    return xp.sum(values, axis=tuple(range(len(values.shape) - 1)))


def _sum(xp: Library, expansion: Expansion, s: Array, alpha: Array, kind: str, axis: int) -> Array:
    """Terms times coefficients, with the kernel's function ``kind`` along ``axis``, its value elsewhere."""
    (one, two), runs = _cut(xp, expansion, s, kind, axis)
    padded = two.padded(xp, one.padded(xp, xp.reshape(alpha, (-1, one.size, two.size)), 1), 2)
    apart = xp.reshape(padded, (-1, one.count, one.length, two.count, two.length))
    shape = (-1, one.count * two.count, one.length, two.length)
    table = xp.reshape(xp.transpose(apart, (0, 1, 3, 2, 4)), shape)

    def add(number: Any, total: Array) -> Array:
        first, second = runs(number)
        rows = [
            second.sum([table[:, number, i, j] * (u * v) for j, v in enumerate(two.weights)])
            for i, u in enumerate(one.weights)
        ]
        return first.sum(rows, total)

    total = xp.accumulate(one.count * two.count, add, xp.zeros_like(s[..., :: expansion.dimensions]))
    return one.slope * total if kind == "slope" else total


def _cut(
    xp: Library, expansion: Expansion, s: Array, kind: str, axis: int
) -> tuple[tuple[Cut, Cut], Callable[[Any], tuple[Any, Any]]]:
    """How each axis is cut, and what gives the runs of a number, one of each axis."""
    kernel, elements, size = expansion.kernel, expansion.dictionary.values, expansion.dictionary.size
    paired = expansion.dimensions == 2

    def place(k: int) -> Array:  # cut out in each turn: compilers would keep what is cut out before
        return s[..., k :: expansion.dimensions]

    if expansion.factored:
        cut = segments_of(expansion, xp.is_double(s))
        one, two = (functools.partial(Factors.of, xp, cut, kind == "slope" and axis == k) for k in (0, 1))
        if not paired:
            return (cut, ALONE), lambda i: (one(i, s), NOTHING)
        return (cut, cut), lambda i: (one(i // cut.count, place(0)), two(i % cut.count, place(1)))
    cuts = Cut(size, size, 1, (1.0,), 1.0), Cut(size, 1, size, (1.0,) * size, 1.0) if paired else ALONE
    if paired and not kernel.separable:

        def joint(i: Any, j: int) -> Array:
            point = (place(0), place(1), xp.element(elements, i, s), elements[j])
            return kernel.value2d(xp, *point) if kind == "value" else kernel.slopes2d(xp, *point)[axis]

        return cuts, lambda i: (NOTHING, Terms(xp, size, functools.partial(joint, i)))
    along = [getattr(kernel, kind) if k == axis else kernel.value for k in (0, 1)]

    def first(i: Any) -> Terms:
        return Terms(xp, 1, lambda _: along[0](xp, place(0), xp.element(elements, i, s)))

    if not paired:
        return cuts, lambda i: (first(i), NOTHING)

    def term(j: int) -> Array:
        return along[1](xp, place(1), elements[j])

    kept = [term(j) for j in range(size)] if xp.keeps_terms else None
    return cuts, lambda i: (first(i), Terms(xp, size, kept.__getitem__ if kept else term))
