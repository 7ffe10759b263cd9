"""Expansions added up element by element of the dictionary, for any kernel and any dictionary.

Functions take a :class:`kafnets.frontends.library.Library`, and arrays with channels last; see
:mod:`kafnets.frontends.formulas`.
"""

from typing import Any

from kafnets.frontends.kernels import GAUSSIAN, terms_of
from kafnets.frontends.library import Library
from kafnets.frontends.plan import Plan

Array = Any


def value(xp: Library, plan: Plan, s: Array, alpha: Array, gamma: Any) -> Array:
    """The expansion."""
    terms = terms_of(plan.kernel)
    if plan.dimensions == 1:

        def add(i: Any, total: Array) -> Array:
            d = xp.element(plan.dictionary, i, s)
            return total + alpha[:, i] * terms.value(xp, plan.kernel, s, d, gamma)

        return xp.accumulate(plan.size, add, xp.zeros_like(s))
    s1, s2 = pair(s)

    def add_row(i: Any, total: Array) -> Array:
        d1 = xp.element(plan.dictionary, i, s)
        for j, d2 in enumerate(plan.dictionary):
            total = total + alpha[:, i, j] * terms.value2d(xp, plan.kernel, s1, s2, d1, d2, gamma)
        return total

    return xp.accumulate(plan.size, add_row, xp.zeros_like(s1))


def slope(xp: Library, plan: Plan, s: Array, alpha: Array, gamma: Any) -> Array:
    """Its derivative by each input."""
    terms = terms_of(plan.kernel)
    if plan.dimensions == 1:

        def add(i: Any, total: Array) -> Array:
            d = xp.element(plan.dictionary, i, s)
            return total + alpha[:, i] * terms.slope(xp, plan.kernel, s, d, gamma)

        return xp.accumulate(plan.size, add, xp.zeros_like(s))
    s1, s2 = pair(s)

    def add_row(i: Any, totals: tuple[Array, Array]) -> tuple[Array, Array]:
        d1, (by_first, by_second) = xp.element(plan.dictionary, i, s), totals
        for j, d2 in enumerate(plan.dictionary):
            first, second = terms.slopes2d(xp, plan.kernel, s1, s2, d1, d2, gamma)
            by_first, by_second = by_first + alpha[:, i, j] * first, by_second + alpha[:, i, j] * second
        return by_first, by_second

    nothing = xp.zeros_like(s1)
    by_first, by_second = xp.accumulate(plan.size, add_row, (nothing, nothing))
    return unpair(xp, by_first, by_second, s)


def by_coefficients(xp: Library, plan: Plan, upstream: Array, s: Array, gamma: Any) -> Array:
    """The derivative of ``sum(upstream * output)`` by alpha."""
    terms, size = terms_of(plan.kernel), plan.size
    if plan.dimensions == 1:

        def column(i: Any) -> Array:
            d = xp.element(plan.dictionary, i, s)
            return over_rows(xp, upstream * terms.value(xp, plan.kernel, s, d, gamma))

        return xp.transpose(xp.collect(size, column), (1, 0))
    s1, s2 = pair(s)

    def cell(number: Any) -> Array:
        d1 = xp.element(plan.dictionary, number // size, s)
        d2 = xp.element(plan.dictionary, number % size, s)
        return over_rows(xp, upstream * terms.value2d(xp, plan.kernel, s1, s2, d1, d2, gamma))

    return xp.transpose(xp.reshape(xp.collect(size**2, cell), (size, size, -1)), (2, 0, 1))


def by_gamma(xp: Library, plan: Plan, s: Array, alpha: Array, gamma: Any) -> Array:
    """The derivative of each output by its neuron's bandwidth."""
    if plan.dimensions == 1:

        def add(i: Any, total: Array) -> Array:
            d = xp.element(plan.dictionary, i, s)
            return total + alpha[:, i] * GAUSSIAN.by_gamma(xp, s, d, gamma)

        return xp.accumulate(plan.size, add, xp.zeros_like(s))
    s1, s2 = pair(s)

    def add_row(i: Any, total: Array) -> Array:
        d1 = xp.element(plan.dictionary, i, s)
        for j, d2 in enumerate(plan.dictionary):
            total = total + alpha[:, i, j] * GAUSSIAN.by_gamma2d(xp, s1, s2, d1, d2, gamma)
        return total

    return xp.accumulate(plan.size, add_row, xp.zeros_like(s1))


def pair(s: Array) -> tuple[Array, Array]:
    """First and second values of neighbours."""
    return s[..., 0::2], s[..., 1::2]


def unpair(xp: Library, first: Array, second: Array, like: Array) -> Array:
    """Neighbours again, in the shape of ``like``."""
    return xp.reshape(xp.stack([first, second], axis=-1), xp.shape(like))


def over_rows(xp: Library, values: Array) -> Array:
    """The sum over all axes but that of the channels."""
    return xp.sum(values, axis=tuple(range(len(values.shape) - 1)))
