r"""The Gaussian expansion with a fixed bandwidth on a grid, factored.

With spacing :math:`\Delta`, :math:`z = (s - c) / \Delta` counted from a center c, and
:math:`a = \gamma \Delta^2`,

.. math:: e^{-a (z - m)^2} = e^{-a z^2} \, r^m \, e^{-a m^2}, \qquad r = e^{2 a z}

so that a sum over elements is a polynomial in r: two exponentials and a chain of multiply-adds, by Horner's
rule. Derivatives keep the factor :math:`z - m` inside the chain, where nothing cancels. A long dictionary is
cut into segments of the same length, each with its own center; the last one is filled up with coefficients
of 0.
"""

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kafnets.arrays.library import Library
from kafnets.expansion import Expansion

Array = Any

LONGEST = {1: 16, 2: 4}
"""By dimensions: elements on either side of a segment's center, at most: compilers take long over more."""

EXTENT = {True: 13.2, False: 2.3}
r"""By whether numbers are double: elements reach so many times 1 / sqrt(a) from their center, at most, so
that no factor leaves the range of numbers. In single precision segments are shorter than that: the relative
error of a term m places from the center is about :math:`4 a m^2` roundings."""

REACH = {True: 26.4, False: 9.3}
"""By whether numbers are double: from so many times 1 / sqrt(a) on, exponentials count as 0."""


@dataclass(frozen=True)
class Segments:
    """How a grid is cut: ``count`` pieces of ``length`` elements, the last perhaps not full."""

    size: int
    count: int
    length: int
    spacing: float
    a: float
    """gamma times the squared spacing."""
    reach: float
    """In spacings: further from a center the sum is 0 to all digits, and r would leave all range."""
    centers: tuple[float, ...]
    weights: tuple[float, ...]
    """What each element's term has beyond powers of r."""

    @property
    def middle(self) -> int:
        """The center's place in a segment."""
        return self.length // 2

    @property
    def slope(self) -> float:
        """What derivatives have beyond the factor z - m."""
        return -2.0 * self.a / self.spacing

    def padded(self, xp: Library, alpha: Array) -> Array:
        """``(N, D)`` to ``(N, count, length)``, and ``(P, D, D)`` to ``(P, count ** 2, length, length)``."""
        missing = self.count * self.length - self.size
        if missing:
            alpha = xp.concatenate([alpha, xp.zeros_like(alpha[:, :missing])], axis=1)
            if len(alpha.shape) == 3:
                alpha = xp.concatenate([alpha, xp.zeros_like(alpha[:, :, :missing])], axis=2)
        if len(alpha.shape) == 2:
            return xp.reshape(alpha, (-1, self.count, self.length))
        apart = xp.reshape(alpha, (-1, self.count, self.length, self.count, self.length))
        return xp.reshape(xp.transpose(apart, (0, 1, 3, 2, 4)), (-1, self.count**2, self.length, self.length))


@functools.lru_cache(maxsize=256)
def segments_of(expansion: Expansion, double: bool) -> Segments:
    """How the dictionary of a factored expansion is cut."""
    dictionary, gamma, spacing = expansion.dictionary, expansion.gamma, expansion.dictionary.spacing
    assert spacing is not None
    assert gamma is not None
    a = gamma * spacing**2
    half = int(min(EXTENT[double] / math.sqrt(a), LONGEST[expansion.dimensions]))
    count = math.ceil(dictionary.size / (2 * half + 1))
    length = math.ceil(dictionary.size / count)
    middle = length // 2
    return Segments(
        dictionary.size,
        count,
        length,
        spacing,
        a,
        REACH[double] / math.sqrt(a),
        tuple(dictionary.values[0] + spacing * (k * length + middle) for k in range(count)),
        tuple(math.exp(-a * (k - middle) ** 2) for k in range(length)),
    )


@dataclass(frozen=True)
class Factors:
    """Of one segment, at all activations."""

    xp: Library
    segments: Segments
    z: Array
    envelope: Array
    up: Array
    down: Array

    @classmethod
    def of(cls, xp: Library, segments: Segments, number: Any, s: Array) -> "Factors":
        """Of the segment of that number."""
        a = segments.a
        z = (s - xp.element(segments.centers, number, s)) * (1.0 / segments.spacing)
        outside = xp.abs(z) > segments.reach
        z = xp.where(outside, xp.zeros_like(z), z)
        envelope = xp.where(outside, xp.zeros_like(z), xp.exp(-a * (z * z)))
        # A segment of one element has no powers, and its kernel may be so narrow that r overflows.
        up = xp.exp((2.0 * a) * z) if segments.length > 1 else xp.ones_like(z)
        return cls(xp, segments, z, envelope, up, 1.0 / up)

    def horner(self, coefficients: Sequence[Array]) -> Array:
        """The polynomial in r and 1 / r with a coefficient for each element."""
        middle, multiply_add = self.segments.middle, self.xp.multiply_add
        above = coefficients[-1]
        for each in reversed(coefficients[middle:-1]):
            above = multiply_add(above, self.up, each)
        if not middle:
            return above
        below = coefficients[0]
        for each in coefficients[1:middle]:
            below = multiply_add(below, self.down, each)
        return multiply_add(below, self.down, above)

    def steep(self, coefficients: Sequence[Array]) -> list[Array]:
        """Coefficients of the derivative: each times the distance ``z - m`` from its element."""
        middle = self.segments.middle
        return [each * (self.z - float(k - middle)) for k, each in enumerate(coefficients)]

    def powers(self, start: Array) -> Iterator[tuple[int, Array]]:
        """By place in the segment: ``start`` times its power of r, from the center outwards."""
        term = start
        for k in range(self.segments.middle, self.segments.length):
            yield k, term
            term = term * self.up
        term = start
        for k in range(self.segments.middle - 1, -1, -1):
            term = term * self.down
            yield k, term


def over_rows(xp: Library, values: Array) -> Array:
    """The sum over all axes but that of the channels."""
    return xp.sum(values, axis=tuple(range(len(values.shape) - 1)))
