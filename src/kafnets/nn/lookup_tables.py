r"""Functions as tables: a polynomial per cell of an even grid, as few cells as an error allows.

In a cell of width w the polynomial of p coefficients is the interpolant at Chebyshev nodes, whose error is
at most :math:`2 (w / 4)^p \max |f^{(p)}| / p!`. For a sum of Gaussians, the derivatives are computed at
places that are :math:`\delta` apart in units of :math:`1 / \sqrt\gamma`. Between two of them a function
differs from a straight line by at most :math:`\delta^2 / 8` times its second derivative, and Cramér's
inequality, :math:`|H_p(x)| e^{-x^2 / 2} \le 1.0865 \sqrt{2^p \, p!}`, bounds that derivative:

.. math::
   |f^{(p)}(s)| \le 1.0865 \, \gamma^{p/2} \sqrt{2^p \, p!} \,
   \sum_i |\alpha_i| e^{-\gamma (s - d_i)^2 / 2}.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.polynomial.hermite import hermval
from numpy.typing import NDArray

from kafnets.ops.baked import FARTHEST, Grid

Array = NDArray[np.float64]
Function = Callable[[Array], Array]
"""From places ``(P,)`` to the values of N functions, ``(N, P)``."""

POWERS = (4, 8)
MOST_CELLS = 2048
CRAMER = 1.0865
CUT_OFF = 1 / 8
"""The part of the error that is spent on Gaussians' far ends, which are cut off."""
STEP, MARGIN = 1 / 32, 6.0
"""Between places where derivatives are computed, and how far these go beyond the dictionary."""
FAR = 1024.0
"""So many times farther out, functions must still be the lines or parabolas that they have become."""
SAFETY = 2.0
"""Where an error is measured, what is left for places that were not looked at."""
LIMIT = 16.0
"""So far from 0 functions are followed that never become lines or parabolas."""
EVERYWHERE = (-math.inf, math.inf)


def _cramer(order: int) -> float:
    """What a derivative of a Gaussian is at most, in units of 1 / sqrt(gamma)."""
    return CRAMER * math.sqrt(2.0**order * math.factorial(order))


@dataclass(frozen=True)
class Gaussians:
    """Sums of Gaussians: ``alpha`` is ``(N, D)``, ``gamma`` ``(N,)`` or ``(1,)``."""

    alpha: Array
    dictionary: Array
    gamma: Array

    def derivative(self, order: int) -> float:
        """A bound of all derivatives of that order."""
        if len(self.gamma) == 1:
            return self._derivative(order, float(self.gamma[0]), self.alpha)
        each = zip(self.gamma, self.alpha, strict=True)
        return max(self._derivative(order, float(gamma), alpha[None]) for gamma, alpha in each)

    def _derivative(self, order: int, gamma: float, alpha: Array) -> float:
        """Of functions with one gamma, with places and derivatives in units of 1 / sqrt(gamma)."""
        elements = self.dictionary * math.sqrt(gamma)
        places = np.arange(elements[0] - MARGIN, elements[-1] + MARGIN + STEP, STEP)
        distance = places[:, None] - elements
        kernels = hermval(distance, [0] * order + [1]) * np.exp(-(distance**2))
        total = np.abs(alpha).sum(1)
        inside = np.abs(kernels @ alpha.T).max(0) + STEP**2 / 8 * _cramer(order + 2) * total
        beyond = _cramer(order) * math.exp(-(MARGIN**2) / 2) * total
        return float(gamma ** (order / 2) * np.maximum(inside, beyond).max())

    def reach(self, error: float) -> float:
        """How far from the dictionary the sums are at most that large."""
        most = np.abs(self.alpha).sum(1)
        return float(np.sqrt(np.log(np.maximum(most / error, 1)) / self.gamma).max())


@dataclass(frozen=True)
class Table:
    """Functions by cell.

    Attributes:
        grid: the cells.
        coefficients: ``(N, cells, powers)``.
        bound: of the error.
        proven: whether the bound follows from a formula; else it is twice what was measured at many places.
        range: of the inputs for which the bound holds.
        hinge: ``(N,)``, a times max(0, s) that is added to each function; None: nothing.
    """

    grid: Grid
    coefficients: Array
    bound: float
    proven: bool = False
    range: tuple[float, float] = EVERYWHERE
    hinge: Array | None = None


def of_gaussians(
    function: Function, sums: Gaussians, error: float, powers_allowed: tuple[int, ...], *, tails: bool
) -> Table:
    """By the bound above.

    Args:
        function: the functions themselves: the sums, and besides them what is straight left and right of 0;
            with tails, of 0 only if that is the middle of the dictionary.
        sums: what they are within the dictionary, and everywhere if there are no tails.
        error: the largest that is allowed.
        powers_allowed: of those, the one that gives the smaller table is taken.
        tails: whether the functions go on as straight lines outside the dictionary.
    """
    ends = float(sums.dictionary[0]), float(sums.dictionary[-1])
    allowed = error if tails else (1 - CUT_OFF) * error
    if not tails:
        reach = sums.reach(CUT_OFF * error)
        ends = min(ends[0] - reach, 0.0), max(ends[1] + reach, 0.0)
    choices = []
    for powers in powers_allowed:
        scale = 2 * max(sums.derivative(powers), 1e-300) / math.factorial(powers)
        width = 4 * (allowed / scale) ** (1 / powers)
        choices.append((math.ceil((ends[1] - ends[0]) / width) * powers, powers, scale))
    size, powers, scale = min(choices)
    cells = size // powers
    if cells > MOST_CELLS:
        raise ValueError(f"it needs {cells} cells for an error of {error:g}, more than {MOST_CELLS}")
    if tails and ends[0] == -ends[1]:
        cells += cells % 2  # so that 0 is between two
    width = (ends[1] - ends[0]) / cells
    start = ends[0] if tails else 0.0  # corners are between cells: those of tails, or that of a base
    first = math.floor((ends[0] - start) / width + 1e-9)
    cells = math.ceil((ends[1] - start) / width - 1e-9) - first
    table = _table(function, _grid(start, width, first, powers), cells, error)
    return replace(table, bound=scale * (width / 4) ** powers + error - allowed, proven=True)


def measured(
    function: Function, error: float, powers_allowed: tuple[int, ...], start: float, piece: float, size: float
) -> Table:
    """Of any functions that are smooth in pieces.

    Args:
        function: the functions. Far out they should be straight lines or parabolas; those that are not
            (sines, for example) are followed up to :data:`LIMIT`.
        error: the largest that is allowed.
        powers_allowed: of those, the one that gives the smaller table is taken.
        start: of a piece, from which the others are counted.
        piece: how long one is.
        size: where functions begin to go on as they do far out, roughly.
    """
    reach = [_reach(function, side * size, error) for side in (-1, 1)]
    within = (-LIMIT if reach[0] is None else -math.inf, LIMIT if reach[1] is None else math.inf)
    low, high = -(reach[0] or LIMIT), reach[1] or LIMIT
    choices = []
    for powers in powers_allowed:
        parts = 1
        while (high - low) * parts <= MOST_CELLS * piece:
            width = piece / parts
            first, last = math.floor((low - start) / width), math.ceil((high - start) / width)
            table = _table(function, _grid(start, width, first, powers), last - first, error)
            table = replace(table, range=within)
            found = SAFETY * _largest_error(function, table)
            if found <= error:
                choices.append(replace(table, bound=found))
                break
            parts = math.ceil(1.2 * parts)
    if not choices:
        raise ValueError(f"its functions have corners between cells, or need more than {MOST_CELLS} of them")
    return min(choices, key=lambda table: table.coefficients.size)


def quantized(table: Table) -> tuple[NDArray[np.int8], Array, float]:
    """In 8 bits: whole numbers, their unit by function and power, and what this adds to the error at most.

    Straight lines beyond the cells are not bounded, so their errors are not either.
    """
    scale = np.maximum(np.abs(table.coefficients).max(1, keepdims=True) / 127, 1e-30)
    codes = np.rint(table.coefficients / scale).astype(np.int8)
    return codes, scale[:, 0], float(np.abs(table.coefficients - codes * scale).sum(2).max())


def _grid(start: float, width: float, first: int, powers: int) -> Grid:
    """Cells from ``start + first * width`` on; numbers stay small, for float32."""
    near = round(start / width)
    return Grid(near + first, width, start - near * width + width / 2, powers)


def _table(function: Function, grid: Grid, cells: int, error: float) -> Table:
    """Interpolants in ``cells`` cells from ``grid.first`` on, and beyond them what functions are far out."""
    powers, half = grid.powers, grid.width / 2
    cells += 1 - cells % 2  # an even number could put all tables of a layer into the same part of a cache
    nodes = np.cos(np.pi * (np.arange(powers) + 0.5) / powers)
    centers = grid.center + grid.width * (grid.first + np.arange(cells))
    values = function((centers[:, None] + half * nodes).ravel())
    inverse = np.linalg.inv(np.vander(nodes, powers, increasing=True))
    inside = values.reshape(len(values), cells, powers) @ inverse.T
    whole = np.zeros((len(values), cells + 2, powers))
    whole[:, 1:-1] = inside
    for place, side in ((0, -1), (-1, 1)):
        center = (centers[0] if side < 0 else centers[-1]) + side * grid.width
        tail = _tail(function, center, side, half, error)
        if tail is None:  # the tangent of the last cell
            last = whole[:, 1 if side < 0 else -2]
            slope = (last * np.arange(powers) * float(side) ** (np.arange(powers) - 1)).sum(1)
            tail = np.stack([(last * float(side) ** np.arange(powers)).sum(1) + side * slope, slope], 1)
        whole[:, place, : tail.shape[1]] = tail
    return Table(grid._replace(first=grid.first - 1), whole, 0.0)


def evaluate(table: Table, places: Array) -> Array:
    """The functions at these places, ``(N, P)``, in float64."""
    grid, coefficients = table.grid, table.coefficients
    last = grid.first + coefficients.shape[1] - 1
    places = np.clip(places, -FARTHEST, FARTHEST)
    n = np.clip(np.rint((places - grid.center) / grid.width), grid.first, last)
    t = (places - grid.center - n * grid.width) * 2 / grid.width
    rows = coefficients[:, (n - grid.first).astype(int)]
    return np.asarray((rows * t[:, None] ** np.arange(grid.powers)).sum(2))


def _largest_error(function: Function, table: Table) -> float:
    """At many places of each cell and beyond. Of large values it counts relative to them."""
    grid, cells = table.grid, table.coefficients.shape[1]
    inner = (np.arange(24) + 0.5) / 24 - 0.5
    places = (grid.center + grid.width * (grid.first + np.arange(cells)[:, None] + inner)).ravel()
    edge = max(abs(places[0]), abs(places[-1])) * np.geomspace(1, FAR, 50)
    places = np.concatenate([places, edge, -edge])
    places = places[(places >= table.range[0]) & (places <= table.range[1])]
    return float(_off(evaluate(table, places), function(places)).max())


def _off(found: Array, exact: Array) -> Array:
    return np.asarray(np.abs(found - exact) / np.maximum(np.abs(exact), 1))


def _reach(function: Function, size: float, error: float) -> float | None:
    """How far from 0, on the side of ``size``, functions have become what they are far out."""
    for place in size * 1.25 ** np.arange(22):
        if _tail(function, place, int(np.sign(size)), 1.0, error) is not None:
            return float(abs(place))
    return None


def _tail(function: Function, center: float, side: int, half: float, error: float) -> Array | None:
    """What functions are from ``center`` outward: coefficients of (s - center) / half, of lines or parabolas.

    None if they are neither within the error. A line is taken from far out, where functions have become it.
    """
    step = side * max(abs(center), half)
    beyond = center + step * np.concatenate([[0], np.geomspace(1, FAR, 50)])
    exact = function(beyond)
    for places in (np.array([FAR, 2 * FAR]), np.array([0.0, 2.0, 4.0])):
        inverse = np.linalg.inv(np.vander(places, increasing=True))
        tail = function(center + step * places) @ inverse.T
        powers = np.arange(len(places))
        found = (tail[..., None] * (((beyond - center) / step) ** powers[:, None])).sum(1)
        if (_off(found, exact) <= error / SAFETY).all():
            return np.asarray(tail * (half / step) ** powers)
    return None
