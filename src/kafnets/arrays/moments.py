r"""Second moments of KAFs whose inputs are standard normal: :math:`E[g(z)^2]` and :math:`E[g'(z)^2]`.

In float64 with NumPy, tails and base included. Integrals are split where functions may have kinks, at 0 and
at the elements of the dictionary, and taken by Gauss-Legendre quadrature in between. A 2D-KAF has two
independent inputs, and :math:`g'` stands for its gradient.
"""

import functools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kafnets.arrays import kaf, tails
from kafnets.arrays.library import NUMPY
from kafnets.expansion import Expansion
from kafnets.fixed_functions import FUNCTIONS

Array = NDArray[np.float64]

REACH = 12.0
"""Integrals end here: the density beyond is below 1e-31."""

BLOCK = 64
"""Elements whose terms are in memory at once."""


def of_terms(expansion: Expansion, *, steep: bool) -> float:
    r""":math:`\sum_i E[t_i^2]` over the terms of an expansion, or over their derivatives.

    Times the variance of independent coefficients with mean 0, it is the second moment of the sum.
    """
    if expansion.dimensions == 1 or expansion.kernel.separable:
        places, weights = _rule(expansion, 0.125, 8)
        values = _total(expansion, places, weights, steep=False) if expansion.dimensions == 2 else 1.0
        slopes_or_values = _total(expansion, places, weights, steep=steep)
        if expansion.dimensions == 1:
            return slopes_or_values
        return 2 * slopes_or_values * values if steep else values * values
    first, second, weights = _plane(expansion)
    d = expansion.dictionary.elements
    total = 0.0
    for d1 in d:
        for d2 in d:
            terms: tuple[Array, ...] = (
                expansion.kernel.slopes2d(NUMPY, first, second, d1, d2)
                if steep
                else (expansion.kernel.value2d(NUMPY, first, second, d1, d2),)
            )
            total += sum(float(weights @ np.square(each)) for each in terms)
    return total


def of_function(expansion: Expansion, alpha: Array, *, steep: bool) -> float:
    """The second moment of the sum with these coefficients, ``(D,)`` or ``(D, D)``, without a base."""
    if expansion.dimensions == 1:
        places, weights = _rule(expansion, 0.125, 8)
        found = (kaf.slope if steep else kaf.value)(NUMPY, expansion, places[:, None], alpha[None])
        return float(weights @ np.square(found[:, 0]))
    first, second, weights = _plane(expansion)
    pairs = np.stack([first, second], axis=-1)
    found = (kaf.slope if steep else kaf.value)(NUMPY, expansion, pairs, alpha[None])
    return float(weights @ np.square(found).sum(axis=-1))


def of_base(expansion: Expansion, *, steep: bool) -> float:
    """The second moment of its base, 0 without one. A learned weight counts as 1, where it starts."""
    if expansion.base is None:
        return 0.0
    function = functools.partial(FUNCTIONS[expansion.base.function], NUMPY)
    places, weights = _rule(expansion, 0.125, 8)
    step = 1e-6
    found = (function(places + step) - function(places - step)) / (2 * step) if steep else function(places)
    return float(weights @ np.square(found))


def _total(expansion: Expansion, places: Array, weights: Array, *, steep: bool) -> float:
    return sum(
        float(weights @ np.square(terms).sum(axis=1)) for terms in _terms(expansion, places, steep=steep)
    )


def _terms(expansion: Expansion, places: Array, *, steep: bool) -> Iterator[Array]:
    """What each element contributes at each place, ``(places, elements)``, block by block."""
    kernel, d = expansion.kernel, expansion.dictionary.elements
    inside = tails.inside(NUMPY, expansion, places)
    beyond = (places - inside)[:, None]
    for start in range(0, d.size, BLOCK):
        where = inside[:, None], d[None, start : start + BLOCK]
        if steep:
            slopes = kernel.slope(NUMPY, *where)
            yield np.where(beyond == 0, slopes, 0.0) if expansion.tails == "constant" else slopes
        elif expansion.tails == "linear":
            yield kernel.value(NUMPY, *where) + beyond * kernel.slope(NUMPY, *where)
        else:
            yield kernel.value(NUMPY, *where)


def _rule(expansion: Expansion, width: float, order: int) -> tuple[Array, Array]:
    """Places and weights of a quadrature against the normal density, in panels of at most ``width``."""
    d = expansion.dictionary.elements
    if d.size > 512:  # elements this near to one another need no panels of their own
        d = d[np.linspace(0, d.size - 1, 512).astype(int)]
    ends = np.linspace(-REACH, REACH, round(2 * REACH / width) + 1)
    ends = np.unique(np.concatenate([ends, d[np.abs(d) < REACH]]))
    nodes, weights = np.polynomial.legendre.leggauss(order)
    half = np.diff(ends)[:, None] / 2
    places = (ends[:-1, None] + half * (1 + nodes)).ravel()
    density = np.exp(-(places**2) / 2) / np.sqrt(2 * np.pi)
    return places, (half * weights).ravel() * density


def _plane(expansion: Expansion) -> tuple[Array, Array, Array]:
    """The same in two dimensions, coarser: first values, second values, weights."""
    places, weights = _rule(expansion, 0.75, 4)
    kept = np.abs(places) < 8  # the rest weighs less than 1e-14
    places, weights = places[kept], weights[kept]
    first, second = np.meshgrid(places, places, indexing="ij")
    return first.ravel(), second.ravel(), np.outer(weights, weights).ravel()
