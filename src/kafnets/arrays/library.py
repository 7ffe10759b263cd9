"""An array library as the formulas want it: NumPy's names, and loops."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

Array = Any


class Library:
    """A module with NumPy's names, and loops whose turns come one after the other.

    A compiler that saw all turns at once would make everything at the same time, and need memory for all of
    it: front ends for such compilers give loops of their own.
    """

    keeps_terms = True
    """Whether kernel values of a whole dictionary may be kept at once."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def accumulate(self, count: int, turn: Callable[[Any, Any], Any], start: Any) -> Any:
        """``turn(i, total)`` gives the next total, for i from 0 to ``count``."""
        for i in range(count):
            start = turn(i, start)
        return start

    def collect(self, count: int, turn: Callable[[Any], Array], like: Array) -> Array:
        """``turn(i)`` for i from 0 to ``count``, stacked in front; numbers are those of ``like``."""
        return self._module.stack([turn(i) for i in range(count)])

    def element(self, values: Sequence[float], i: Any, like: Array) -> Any:
        """The i-th of some numbers, for use beside ``like``."""
        return values[i]

    def array(self, values: Sequence[float], like: Array) -> Array:
        """Numbers as an array for use beside ``like``."""
        return self._module.asarray(values, dtype=like.dtype)

    def multiply_add(self, a: Array, b: Array, c: Array) -> Array:
        """``a * b + c``."""
        return a * b + c

    def is_double(self, array: Array) -> bool:
        """Whether its numbers are float64."""
        return "float64" in str(array.dtype)

    def softplus(self, s: Array) -> Array:
        """``log(1 + exp(s))``."""
        return self._module.logaddexp(s, self._module.zeros_like(s))

    def slope(self, function: Callable[[Array], Array], s: Array) -> Array:
        """The derivative of a function that is applied value by value, for kernels that give none."""
        raise NotImplementedError(
            f"{self._module.__name__} has no automatic differentiation: define the kernel's method slope"
        )


class NumpyLibrary(Library):
    """NumPy with the functions that it has not."""

    def sigmoid(self, s: Array) -> Array:
        """``1 / (1 + exp(-s))`` to all digits."""
        small = numpy.exp(-numpy.abs(s))
        return numpy.where(s < 0, small, numpy.ones_like(small)) / (1.0 + small)

    def erf(self, s: Array) -> Array:
        """The error function."""
        return numpy.vectorize(math.erf, otypes=[numpy.float64])(s).astype(s.dtype)


NUMPY = NumpyLibrary(numpy)
