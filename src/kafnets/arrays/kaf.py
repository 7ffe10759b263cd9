r"""KAFs: :math:`g_n(s) = \sum_i \alpha_{n,i} \, \kappa(s, d_i)` and its derivatives.

Gaussians of a fixed bandwidth on a grid take the factored form of :mod:`kafnets.arrays.factors`, all others
one element after the other. See :mod:`kafnets.arrays` for what each function gives.
"""

from collections.abc import Callable
from typing import Any

from kafnets.arrays import tails
from kafnets.arrays.factors import Factors, over_rows, segments_of
from kafnets.arrays.library import Library
from kafnets.expansion import Expansion
from kafnets.kernels import Gaussian

Array = Any


def value(xp: Library, expansion: Expansion, s: Array, alpha: Array) -> Array:
    """The expansion."""
    at = tails.inside(xp, expansion, s)
    if expansion.factored:
        total = _factored(xp, expansion, at, alpha, steep=False)
    else:
        total = _one_by_one(xp, expansion, at, alpha, expansion.kernel.value)
    return total + tails.added(xp, expansion, s, alpha) if expansion.tails == "linear" else total


def slope(xp: Library, expansion: Expansion, s: Array, alpha: Array) -> Array:
    """Its derivative by each input."""
    at = tails.inside(xp, expansion, s)
    if expansion.factored:
        total = _factored(xp, expansion, at, alpha, steep=True)
    else:
        total = _one_by_one(xp, expansion, at, alpha, expansion.kernel.slope)
    return tails.flattened(xp, expansion, s, total)


def by_gamma(xp: Library, expansion: Expansion, s: Array, alpha: Array) -> Array:
    """The derivative of each output by its bandwidth."""
    assert isinstance(expansion.kernel, Gaussian)  # no other kernel has one
    at = tails.inside(xp, expansion, s)
    total = _one_by_one(xp, expansion, at, alpha, expansion.kernel.by_gamma)
    return (
        total + tails.added(xp, expansion, s, alpha, by_gamma=True) if expansion.tails == "linear" else total
    )


def by_input(xp: Library, upstream: Array, slopes: Array) -> Array:
    """The derivative of ``sum(upstream * output)`` by the input."""
    return slopes * upstream


def pushed(tangent: Array) -> Array:
    """The change of the outputs, from slopes times the change of the inputs."""
    return tangent


def by_coefficients(xp: Library, expansion: Expansion, upstream: Array, s: Array) -> Array:
    """The derivative of ``sum(upstream * output)`` by alpha."""
    total = _moments(xp, expansion, upstream, tails.inside(xp, expansion, s))
    return total + tails.by_coefficients(xp, expansion, upstream, s) if expansion.tails == "linear" else total


def _moments(xp: Library, expansion: Expansion, upstream: Array, s: Array) -> Array:
    """The sum over rows of ``upstream`` times each element's term."""
    size = expansion.dictionary.size
    if not expansion.factored:

        def column(i: Any) -> Array:
            d = xp.element(expansion.dictionary.values, i, s)
            return over_rows(xp, upstream * expansion.kernel.value(xp, s, d))

        return xp.transpose(xp.collect(size, column), (1, 0))
    segments = segments_of(expansion, xp.is_double(s))

    def columns(number: Any) -> Array:
        factors = Factors.of(xp, segments, number, s)
        sums = {
            k: segments.weights[k] * over_rows(xp, term)
            for k, term in factors.powers(upstream * factors.envelope)
        }
        return xp.stack([sums[k] for k in range(segments.length)])

    by_element = xp.collect(segments.count, columns)  # (count, length, N)
    flat = xp.reshape(by_element, (segments.count * segments.length, -1))
    return xp.transpose(flat[:size], (1, 0))


def _one_by_one(
    xp: Library, expansion: Expansion, s: Array, alpha: Array, term: Callable[..., Array]
) -> Array:
    def add(i: Any, total: Array) -> Array:
        d = xp.element(expansion.dictionary.values, i, s)
        return xp.multiply_add(alpha[:, i], term(xp, s, d), total)

    return xp.accumulate(expansion.dictionary.size, add, xp.zeros_like(s))


def _factored(xp: Library, expansion: Expansion, s: Array, alpha: Array, *, steep: bool) -> Array:
    segments = segments_of(expansion, xp.is_double(s))
    table = segments.padded(xp, alpha)

    def add(number: Any, total: Array) -> Array:
        factors = Factors.of(xp, segments, number, s)
        coefficients = [table[:, number, k] * weight for k, weight in enumerate(segments.weights)]
        if steep:
            coefficients = factors.steep(coefficients)
        return xp.multiply_add(factors.envelope, factors.horner(coefficients), total)

    total = xp.accumulate(segments.count, add, xp.zeros_like(s))
    return segments.slope * total if steep else total
