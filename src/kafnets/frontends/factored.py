r"""The Gaussian expansion with a fixed bandwidth on an even grid, factored.

With spacing :math:`\Delta`, :math:`z = (s - c) / \Delta` counted from a centre c, and
:math:`a = \gamma \Delta^2`,

.. math:: e^{-a (z - m)^2} = e^{-a z^2} \, r^m \, e^{-a m^2}, \qquad r = e^{2 a z}

so that a sum over elements is a polynomial in r: two exponentials and a chain of multiply-adds, by Horner's
rule. Derivatives keep the factor :math:`z - m` inside the chain, where nothing cancels. A long dictionary is
cut into segments of the same length, each with its own centre; the last one is filled up with coefficients
of 0.

Functions take a :class:`kafnets.frontends.library.Library`, and arrays with channels last; see
:mod:`kafnets.frontends.formulas`.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kafnets.frontends.direct import over_rows, pair, unpair
from kafnets.frontends.library import Library
from kafnets.frontends.plan import REACH, Plan, Segments

Array = Any


@dataclass(frozen=True)
class _Factors:
    """Of one segment, at all activations."""

    segments: Segments
    z: Array
    envelope: Array
    up: Array
    down: Array

    def horner(self, coefficients: Sequence[Array]) -> Array:
        """The polynomial in r and 1 / r with a coefficient for each element."""
        middle = self.segments.middle
        above = coefficients[-1]
        for each in reversed(coefficients[middle:-1]):
            above = above * self.up + each
        if not middle:
            return above
        below = coefficients[0]
        for each in coefficients[1:middle]:
            below = below * self.down + each
        return above + below * self.down

    def steep(self, coefficients: Sequence[Array]) -> list[Array]:
        """Coefficients of the derivative: each times the distance ``z - m`` from its element."""
        middle = self.segments.middle
        return [each * (self.z - float(k - middle)) for k, each in enumerate(coefficients)]

    def powers(self, start: Array) -> Iterator[tuple[int, Array]]:
        """By place in the segment: ``start`` times its power of r, from the centre outwards."""
        term = start
        for k in range(self.segments.middle, self.segments.length):
            yield k, term
            term = term * self.up
        term = start
        for k in range(self.segments.middle - 1, -1, -1):
            term = term * self.down
            yield k, term


def value(xp: Library, plan: Plan, s: Array, alpha: Array, double: bool) -> Array:
    """The expansion."""
    segments = plan.segments(double)
    if plan.dimensions == 1:
        table = _padded(xp, alpha, segments)

        def add(number: Any, total: Array) -> Array:
            each = _factors(xp, plan, segments, number, s, double)
            return total + each.envelope * each.horner(_weighted(table[:, number], segments))

        return xp.accumulate(segments.count, add, xp.zeros_like(s))
    square = _padded2d(xp, alpha, segments)

    def add_pair(number: Any, total: Array) -> Array:
        first, second, rows = _pair_of_segments(xp, plan, segments, number, s, square, double)
        inner = [second.envelope * second.horner(row) for row in rows]
        return total + first.envelope * first.horner(inner)

    return xp.accumulate(segments.count**2, add_pair, xp.zeros_like(s[..., 0::2]))


def slope(xp: Library, plan: Plan, s: Array, alpha: Array, double: bool) -> Array:
    """Its derivative by each input."""
    segments = plan.segments(double)
    factor = -2.0 * segments.a / segments.spacing
    if plan.dimensions == 1:
        table = _padded(xp, alpha, segments)

        def add(number: Any, total: Array) -> Array:
            each = _factors(xp, plan, segments, number, s, double)
            coefficients = each.steep(_weighted(table[:, number], segments))
            return total + (factor * each.envelope) * each.horner(coefficients)

        return xp.accumulate(segments.count, add, xp.zeros_like(s))
    square = _padded2d(xp, alpha, segments)

    def add_pair(number: Any, totals: tuple[Array, Array]) -> tuple[Array, Array]:
        first, second, rows = _pair_of_segments(xp, plan, segments, number, s, square, double)
        inner = [second.envelope * second.horner(row) for row in rows]
        slopes = [second.envelope * second.horner(second.steep(row)) for row in rows]
        by_first, by_second = first.horner(first.steep(inner)), first.horner(slopes)
        envelope = factor * first.envelope
        return totals[0] + envelope * by_first, totals[1] + envelope * by_second

    nothing = xp.zeros_like(s[..., 0::2])
    by_first, by_second = xp.accumulate(segments.count**2, add_pair, (nothing, nothing))
    return unpair(xp, by_first, by_second, s)


def by_coefficients(xp: Library, plan: Plan, upstream: Array, s: Array, double: bool) -> Array:
    """The derivative of ``sum(upstream * output)`` by alpha."""
    segments = plan.segments(double)
    count, length = segments.count, segments.length
    if plan.dimensions == 1:

        def columns(number: Any) -> Array:
            each = _factors(xp, plan, segments, number, s, double)
            found = {}
            for k, term in each.powers(upstream * each.envelope):
                found[k] = segments.weights[k] * over_rows(xp, term)
            return xp.stack([found[k] for k in range(length)])

        by_element = xp.collect(count, columns)  # (count, length, N)
        flat = xp.reshape(by_element, (count * length, -1))
        return xp.transpose(flat[: plan.size], (1, 0))

    def cells(number: Any) -> Array:
        first, second = _factors2d(xp, plan, segments, number, s, double)
        found = {}
        # Envelope and powers of one axis before those of the other: both together may leave all range.
        for i, along in first.powers(upstream * first.envelope):
            for j, term in second.powers(along * second.envelope):
                found[i, j] = (segments.weights[i] * segments.weights[j]) * over_rows(xp, term)
        return xp.stack([found[key] for key in sorted(found)])

    by_pair = xp.reshape(xp.collect(count**2, cells), (count, count, length, length, -1))
    size = count * length
    flat = xp.reshape(xp.transpose(by_pair, (4, 0, 2, 1, 3)), (-1, size, size))
    return flat[:, : plan.size, : plan.size]


def _factors(xp: Library, plan: Plan, segments: Segments, number: Any, s: Array, double: bool) -> _Factors:
    a = segments.a
    z = (s - xp.element(segments.centres, number, s)) * (1.0 / segments.spacing)
    # Further away the sum is 0 to all digits, and r would leave the range of numbers.
    outside = xp.abs(z) > REACH[double] / math.sqrt(a)
    z = xp.where(outside, xp.zeros_like(z), z)
    envelope = xp.where(outside, xp.zeros_like(z), xp.exp(-a * (z * z)))
    # A segment of one element has no powers, and its kernel may be so narrow that r overflows.
    up = xp.exp((2.0 * a) * z) if segments.length > 1 else xp.ones_like(z)
    return _Factors(segments, z, envelope, up, 1.0 / up)


def _factors2d(
    xp: Library, plan: Plan, segments: Segments, number: Any, s: Array, double: bool
) -> tuple[_Factors, _Factors]:
    """Of a pair of segments, counted row by row."""
    s1, s2 = pair(s)
    return (
        _factors(xp, plan, segments, number // segments.count, s1, double),
        _factors(xp, plan, segments, number % segments.count, s2, double),
    )


def _pair_of_segments(
    xp: Library, plan: Plan, segments: Segments, number: Any, s: Array, square: Array, double: bool
) -> tuple[_Factors, _Factors, list[list[Array]]]:
    first, second = _factors2d(xp, plan, segments, number, s, double)
    own, weights = square[:, number], segments.weights
    every = range(segments.length)
    return first, second, [[own[:, i, j] * (weights[i] * weights[j]) for j in every] for i in every]


def _weighted(coefficients: Array, segments: Segments) -> list[Array]:
    """Of one segment, times what does not depend on the activation."""
    return [coefficients[:, k] * weight for k, weight in enumerate(segments.weights)]


def _padded(xp: Library, alpha: Array, segments: Segments) -> Array:
    """``(N, count, length)``."""
    missing = segments.count * segments.length - alpha.shape[1]
    if missing:
        alpha = xp.concatenate([alpha, xp.zeros_like(alpha[:, :missing])], axis=1)
    return xp.reshape(alpha, (-1, segments.count, segments.length))


def _padded2d(xp: Library, alpha: Array, segments: Segments) -> Array:
    """``(P, count * count, length, length)``."""
    count, length = segments.count, segments.length
    missing = count * length - alpha.shape[1]
    if missing:
        alpha = xp.concatenate([alpha, xp.zeros_like(alpha[:, :missing])], axis=1)
        alpha = xp.concatenate([alpha, xp.zeros_like(alpha[:, :, :missing])], axis=2)
    apart = xp.transpose(xp.reshape(alpha, (-1, count, length, count, length)), (0, 1, 3, 2, 4))
    return xp.reshape(apart, (-1, count * count, length, length))
