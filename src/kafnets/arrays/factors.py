r"""The Gaussian expansion with a fixed bandwidth on a grid, factored.

With spacing :math:`\Delta`, :math:`z = (s - c) / \Delta` counted from a center c, and
:math:`a = \gamma \Delta^2`,

.. math:: e^{-a (z - m)^2} = e^{-a z^2} \, r^m \, e^{-a m^2}, \qquad r = e^{2 a z}

so that a sum over elements is a polynomial in r: two exponentials and a chain of multiply-adds, by Horner's
rule. Derivatives keep the factor :math:`z - m` inside the chain, where nothing cancels. A long dictionary is
cut into segments of the same length, each with its own center.
"""

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kafnets.arrays.library import Array, Library
from kafnets.arrays.runs import Cut
from kafnets.expansion import Expansion

LONGEST = {1: 16, 2: 4}
"""By dimensions: elements on either side of a center, at most: compilers take long over long ones."""

EXTENT = {True: 13.2, False: 2.3}
r"""By whether numbers are double: elements reach so many times 1 / sqrt(a) from their center, at most, so that no
factor leaves the range of numbers. In single precision segments are shorter than that: the relative error of a
term m places from the center is about :math:`4 a m^2` roundings."""

REACH = {True: 26.4, False: 9.3}
"""By whether numbers are double: from so many times 1 / sqrt(a) on, exponentials count as 0."""


@dataclass(frozen=True)
class Segments(Cut):
    """A grid, cut.

    Attributes:
        spacing: of its elements.
        a: gamma times the squared spacing.
        reach: in spacings: further from a center the sum is 0 to all digits, and r would leave the range.
        centers: of the segments.
    """

    spacing: float
    a: float
    reach: float
    centers: tuple[float, ...]

    @property
    def middle(self) -> int:
        """The center's place in a segment."""
        return self.length // 2

    @functools.cached_property
    def weights(self) -> tuple[float, ...]:
        """What each element's term has beyond powers of r."""
        return tuple(math.exp(-self.a * (k - self.middle) ** 2) for k in range(self.length))

    @property
    def slope(self) -> float:
        """What derivatives have beyond the factor z - m."""
        return -2.0 * self.a / self.spacing


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
    centers = tuple(dictionary.values[0] + spacing * (k * length + length // 2) for k in range(count))
    return Segments(dictionary.size, count, length, spacing, a, REACH[double] / math.sqrt(a), centers)


@dataclass(frozen=True)
class Factors:
    """Of one segment, at all activations; of derivatives if ``steep``."""

    xp: Library
    segments: Segments
    steep: bool
    z: Array
    envelope: Array
    up: Array
    down: Array

    @classmethod
    def of(cls, xp: Library, segments: Segments, steep: bool, number: Any, s: Array) -> "Factors":
        """Of the segment of that number."""
        a = segments.a
        z = (s - xp.element(segments.centers, number, s)) * (1.0 / segments.spacing)
        outside = xp.abs(z) > segments.reach
        z = xp.where(outside, xp.zeros_like(z), z)
        envelope = xp.where(outside, xp.zeros_like(z), xp.exp(-a * (z * z)))
        # A segment of one element has no powers, and its kernel may be so narrow that r overflows.
        up = xp.exp((2.0 * a) * z) if segments.length > 1 else xp.ones_like(z)
        return cls(xp, segments, steep, z, envelope, up, 1.0 / up)

    def sum(self, coefficients: Sequence[Array], start: Array | None = None) -> Array:
        """Of terms times coefficients: a polynomial in r and 1 / r."""
        middle, multiply_add = self.segments.middle, self.xp.multiply_add
        if self.steep:
            coefficients = [each * (self.z - float(k - middle)) for k, each in enumerate(coefficients)]
        found = coefficients[-1]
        for each in reversed(coefficients[middle:-1]):
            found = multiply_add(found, self.up, each)
        if middle:
            below = coefficients[0]
            for each in coefficients[1:middle]:
                below = multiply_add(below, self.down, each)
            found = multiply_add(below, self.down, found)
        return self.envelope * found if start is None else multiply_add(self.envelope, found, start)

    def spread(self, start: Array) -> Iterator[tuple[int, Array]]:
        """By place in the segment: ``start`` times its term, from the center outwards."""
        term = middle = start * self.envelope
        for k in range(self.segments.middle, self.segments.length):
            yield k, term
            term = term * self.up
        term = middle
        for k in range(self.segments.middle - 1, -1, -1):
            term = term * self.down
            yield k, term
