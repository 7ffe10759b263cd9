"""Expansions and their derivatives over any array library ``xp`` with NumPy's names.

Each front end calls these with its own library, and tells its framework which derivative belongs to what.
Activations come as ``(..., N)``, channels last, with coefficients ``(N, D)``; for a plan with two dimensions
as ``(..., 2 P)`` with coefficients ``(P, D, D)``, and ``(..., P)`` comes out. Both in the precision that is
to be computed in, ``double`` saying whether that is float64. Nothing here is larger than the activations,
whatever D is.

A learned bandwidth is given as ``gamma``, ``()`` or one a neuron; None if the plan has it.
"""

from typing import Any

from kafnets.frontends import direct, factored
from kafnets.frontends.library import Library
from kafnets.frontends.plan import Plan

Array = Any


def expand(xp: Library, plan: Plan, s: Array, alpha: Array, gamma: Array | None, double: bool) -> Array:
    """The expansion."""
    if gamma is None and plan.factored:
        return factored.value(xp, plan, s, alpha, double)
    return direct.value(xp, plan, s, alpha, plan.gamma if gamma is None else gamma)


def slope(xp: Library, plan: Plan, s: Array, alpha: Array, gamma: Array | None, double: bool) -> Array:
    """The derivative of outputs by inputs, in the shape of ``s``: an input has part in one output only."""
    if gamma is None and plan.factored:
        return factored.slope(xp, plan, s, alpha, double)
    return direct.slope(xp, plan, s, alpha, plan.gamma if gamma is None else gamma)


def by_input(xp: Library, plan: Plan, upstream: Array, slopes: Array) -> Array:
    """The derivative of ``sum(upstream * output)`` by the input, from its slopes."""
    if plan.dimensions == 1:
        return slopes * upstream
    # The axis counted from 0: autograd's derivative of ``repeat`` is wrong for negative ones.
    return slopes * xp.repeat(upstream, 2, axis=len(upstream.shape) - 1)


def by_coefficients(
    xp: Library, plan: Plan, upstream: Array, s: Array, gamma: Array | None, double: bool
) -> Array:
    """The derivative of ``sum(upstream * output)`` by alpha."""
    if gamma is None and plan.factored:
        return factored.by_coefficients(xp, plan, upstream, s, double)
    return direct.by_coefficients(xp, plan, upstream, s, plan.gamma if gamma is None else gamma)


def by_gamma(xp: Library, plan: Plan, upstream: Array, s: Array, alpha: Array, gamma: Array) -> Array:
    """The derivative of ``sum(upstream * output)`` by a learned bandwidth, in its shape."""
    by_neuron = direct.over_rows(xp, upstream * direct.by_gamma(xp, plan, s, alpha, gamma))
    return by_neuron if len(gamma.shape) else xp.sum(by_neuron)
