r"""Runs of neighboring elements of a dictionary, along one axis: term by term, or factored.

A Gaussian with a fixed bandwidth on a grid factors. With spacing :math:`\Delta`, :math:`z = (s - c) / \Delta`
counted from a center c, and :math:`a = \gamma \Delta^2`,

.. math:: e^{-a (z - m)^2} = e^{-a z^2} \, r^m \, e^{-a m^2}, \qquad r = e^{2 a z}

so that a sum over elements is a polynomial in r: two exponentials and a chain of multiply-adds, by Horner's
rule. Derivatives keep the factor :math:`z - m` inside the chain, where nothing cancels. A long dictionary is
cut into runs of the same length, each with its own center.
"""

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kafnets.arrays.library import Array, Library
from kafnets.expansion import Expansion

LONGEST = {1: 16, 2: 4}
"""By dimensions: elements on either side of a center, at most: compilers take long over long ones."""

EXTENT = {True: 13.2, False: 2.3}
r"""By whether numbers are double: elements reach at most so many times 1 / sqrt(a) from their center, so that
no factor leaves the range. In single precision runs are shorter than that: the relative error of a term m
places from the center is about :math:`4 a m^2` roundings."""

REACH = {True: 26.4, False: 9.3}
"""By whether numbers are double: from so many times 1 / sqrt(a) on, exponentials count as 0."""


@dataclass(frozen=True)
class Cut:
    """How a dictionary is cut: ``count`` runs of ``length`` elements, the last perhaps not full."""

    size: int
    count: int
    length: int
    weights: tuple[float, ...]
    """By place in a run: what coefficients are multiplied by."""
    slope: float
    """What sums of derivatives are multiplied by."""

    def padded(self, xp: Library, alpha: Array, axis: int) -> Array:
        """Coefficients with zeros where the last run is not full."""
        missing = (slice(None),) * axis + (slice(self.count * self.length - self.size),)
        return (
            xp.concatenate([alpha, xp.zeros_like(alpha[missing])], axis=axis) if missing[-1].stop else alpha
        )


@dataclass(frozen=True)
class Terms:
    """A run whose terms come one by one."""

    xp: Library
    length: int
    term: Callable[[int], Array]

    def sum(self, coefficients: Sequence[Array], start: Array | None = None) -> Array:
        """Of terms times coefficients."""
        for k, each in enumerate(coefficients):
            term = self.term(k)
            start = each * term if start is None else self.xp.multiply_add(each, term, start)
        return start

    def spread(self, start: Array) -> Iterator[tuple[int, Array]]:
        """By place in the run: ``start`` times its term."""
        return ((k, start * self.term(k)) for k in range(self.length))


class _Nothing:
    def sum(self, coefficients: Sequence[Any], start: Array | None = None) -> Array:
        return coefficients[0] if start is None else start + coefficients[0]

    def spread(self, start: Array) -> Iterator[tuple[int, Array]]:
        yield 0, start


ALONE, NOTHING = Cut(1, 1, 1, (1.0,), 1.0), _Nothing()
"""Of an axis that is not there: its only term is 1."""


@dataclass(frozen=True)
class Segments(Cut):
    """A grid that is cut for factoring."""

    spacing: float
    a: float
    """gamma times the squared spacing."""
    reach: float
    """In spacings: further from a center the sum is 0 to all digits, and r would leave the range."""
    centers: tuple[float, ...]


@functools.lru_cache(maxsize=256)
def segments_of(expansion: Expansion, double: bool) -> Segments:
    """How the dictionary of a factored expansion is cut."""
    size, gamma, spacing = expansion.dictionary.size, expansion.gamma, expansion.dictionary.spacing
    assert spacing is not None
    assert gamma is not None
    a = gamma * spacing**2
    half = int(min(EXTENT[double] / math.sqrt(a), LONGEST[expansion.dimensions]))
    count = math.ceil(size / (2 * half + 1))
    length = math.ceil(size / count)
    middle, first = length // 2, expansion.dictionary.values[0]
    weights = tuple(math.exp(-a * (k - middle) ** 2) for k in range(length))
    centers = tuple(first + spacing * (k * length + middle) for k in range(count))
    reach = REACH[double] / math.sqrt(a)
    return Segments(size, count, length, weights, -2.0 * a / spacing, spacing, a, reach, centers)


@dataclass(frozen=True)
class Factors:
    """Of a factored run, at all activations; of derivatives if ``steep``."""

    xp: Library
    steep: bool
    length: int
    z: Array
    envelope: Array
    up: Array
    down: Array

    @classmethod
    def of(cls, xp: Library, cut: Segments, steep: bool, number: Any, s: Array) -> "Factors":
        """Of the run of that number."""
        z = (s - xp.element(cut.centers, number, s)) * (1.0 / cut.spacing)
        outside = xp.abs(z) > cut.reach
        z = xp.where(outside, xp.zeros_like(z), z)
        envelope = xp.where(outside, xp.zeros_like(z), xp.exp(-cut.a * (z * z)))
        # A run of one element has no powers, and its kernel may be so narrow that r overflows.
        up = xp.exp((2.0 * cut.a) * z) if cut.length > 1 else xp.ones_like(z)
        return cls(xp, steep, cut.length, z, envelope, up, 1.0 / up)

    def sum(self, coefficients: Sequence[Array], start: Array | None = None) -> Array:
        """Of terms times coefficients: a polynomial in r and 1 / r."""
        middle, multiply_add = self.length // 2, self.xp.multiply_add
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
        """By place in the run: ``start`` times its term, from the center outwards."""
        term = center = start * self.envelope
        for k in range(self.length // 2, self.length):
            yield k, term
            term = term * self.up
        term = center
        for k in reversed(range(self.length // 2)):
            term = term * self.down
            yield k, term
