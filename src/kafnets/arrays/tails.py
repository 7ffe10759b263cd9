r"""Tails: a sum of kernels outside its dictionary, over any array library.

With c the activation, or the nearest edge if it is outside, constant tails are :math:`g(c)` and linear ones
:math:`g(c) + g'(c) (s - c)`. Outside, c is one of two edges: the slopes there are found once per function.
"""

from typing import Any

from kafnets.arrays.library import Array, Library
from kafnets.expansion import Expansion
from kafnets.kernels import Gaussian


def inside(xp: Library, expansion: Expansion, s: Array) -> Array:
    """Where the kernels are evaluated."""
    if expansion.tails == "zero":
        return s
    return xp.clip(s, expansion.dictionary.values[0], expansion.dictionary.values[-1])


def added(xp: Library, expansion: Expansion, s: Array, alpha: Array, *, by_gamma: bool = False) -> Array:
    """What linear tails add to the sum at the edge, or to its derivative by gamma."""
    beyond = s - inside(xp, expansion, s)
    left, right = (xp.sum(alpha * each, axis=1) for each in _slopes(xp, expansion, alpha, by_gamma))
    return beyond * xp.where(beyond > 0, right, left)


def flattened(xp: Library, expansion: Expansion, s: Array, slopes: Array) -> Array:
    """Slopes of the sum, which are 0 where constant tails are."""
    if expansion.tails != "constant":
        return slopes
    beyond = xp.abs(s - inside(xp, expansion, s)) > 0
    return xp.where(beyond, xp.zeros_like(slopes), slopes)


def by_coefficients(xp: Library, expansion: Expansion, upstream: Array, s: Array) -> Array:
    """What linear tails add to the derivative by alpha: ``(N, D)``."""
    beyond = s - inside(xp, expansion, s)
    rows = tuple(range(len(s.shape) - 1))
    moments = upstream * beyond
    nothing = xp.zeros_like(moments)
    left = xp.sum(xp.where(beyond > 0, nothing, moments), axis=rows)
    right = xp.sum(xp.where(beyond > 0, moments, nothing), axis=rows)
    at_left, at_right = _slopes(xp, expansion, s, by_gamma=False)
    return xp.reshape(left, (-1, 1)) * at_left + xp.reshape(right, (-1, 1)) * at_right


def _slopes(xp: Library, expansion: Expansion, like: Array, by_gamma: bool) -> tuple[Array, Array]:
    """The kernel's slopes at both edges by element, ``(D,)`` or ``(N, D)``, or their derivatives by gamma."""
    kernel: Any = expansion.kernel
    if isinstance(kernel, Gaussian) and len(getattr(kernel.gamma, "shape", ())) == 1:
        kernel = kernel.with_gamma(xp.reshape(kernel.gamma, (-1, 1)))
    elements = xp.array(expansion.dictionary.values, like)
    function = kernel.slope_by_gamma if by_gamma else kernel.slope
    return function(xp, elements[0], elements), function(xp, elements[-1], elements)
