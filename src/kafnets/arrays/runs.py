"""Runs of neighboring elements of a dictionary, along one axis."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kafnets.arrays.library import Array, Library


@dataclass(frozen=True)
class Cut:
    """How a dictionary is cut: ``count`` runs of ``length`` elements, the last perhaps not full."""

    size: int
    count: int
    length: int

    @property
    def weights(self) -> tuple[float, ...]:
        """By place in a run: what coefficients are multiplied by."""
        return (1.0,) * self.length

    @property
    def slope(self) -> float:
        """What sums of derivatives are multiplied by."""
        return 1.0

    def padded(self, xp: Library, alpha: Array, axis: int) -> Array:
        """Coefficients with zeros where the last run is not full."""
        missing = self.count * self.length - self.size
        if not missing:
            return alpha
        return xp.concatenate(
            [alpha, xp.zeros_like(alpha[(slice(None),) * axis + (slice(missing),)])], axis=axis
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


ALONE, NOTHING = Cut(1, 1, 1), _Nothing()
"""Of an axis that is not there: its only term is 1."""
