r"""Functions as tables: a polynomial per cell of an even grid, as few cells as an error allows.

In a cell of width w the polynomial of p coefficients is the interpolant at Chebyshev nodes, whose error is
at most :math:`2 (w / 4)^p \max |f^{(p)}| / p!`. For a sum of Gaussians Cramér's inequality,
:math:`|H_p(x)| e^{-x^2 / 2} \le 1.0865 \sqrt{2^p \, p!}`, gives

.. math::
   |f^{(p)}(s)| \le 1.0865 \, \gamma^{p/2} \sqrt{2^p \, p!} \,
   \sum_i |\alpha_i| e^{-\gamma (s - d_i)^2 / 2}.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kafnets.ops.baked import FARTHEST, Grid

Array = NDArray[np.float64]
Function = Callable[[Array], Array]
"""From places ``(P,)`` to the values of N functions, ``(N, P)``."""

POWERS = (4, 8)
MOST_CELLS = 2048
CRAMER = 1.0865
FAR = 1024.0
"""So many times farther out, functions must be straight lines."""
SAFETY = 2.0
"""Where an error is measured, what is left for places that were not looked at."""


@dataclass(frozen=True)
class Gaussians:
    """Sums of Gaussians: ``alpha`` is ``(N, D)``, ``gamma`` ``(N,)`` or ``(1,)``."""

    alpha: Array
    dictionary: Array
    gamma: Array

    def derivative(self, order: int) -> float:
        """A bound of all derivatives of that order."""
        # Between two neighboring places, each element counts as if it were at the nearer one.
        places = np.linspace(self.dictionary[0], self.dictionary[-1], 8 * len(self.dictionary) + 1)
        distance = np.maximum(
            np.maximum(places[:-1, None] - self.dictionary, self.dictionary - places[1:, None]), 0
        )
        gamma = self.gamma[:, None, None]
        largest = (np.abs(self.alpha)[:, None] * np.exp(-gamma * distance**2 / 2)).sum(2).max(1)
        factor = CRAMER * math.sqrt(2.0**order * math.factorial(order))
        return float((factor * self.gamma ** (order / 2) * largest).max())

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
    """

    grid: Grid
    coefficients: Array
    bound: float
    proven: bool


def of_gaussians(
    function: Function, sums: Gaussians, error: float, powers_allowed: tuple[int, ...], *, tails: bool
) -> Table:
    """By the bound above.

    Args:
        function: the functions themselves.
        sums: what they are within the dictionary, and everywhere if there are no tails.
        error: the largest that is allowed.
        powers_allowed: of those, the one that gives the smaller table is taken.
        tails: whether the functions go on as straight lines outside the dictionary.
    """
    ends = float(sums.dictionary[0]), float(sums.dictionary[-1])
    allowed = error if tails else error / 2  # the other half is for what is cut off
    if not tails:
        reach = sums.reach(error / 2)
        ends = ends[0] - reach, ends[1] + reach
    choices = []
    for powers in powers_allowed:
        scale = 2 * max(sums.derivative(powers), 1e-300) / math.factorial(powers)
        width = 4 * (allowed / scale) ** (1 / powers)
        choices.append((math.ceil((ends[1] - ends[0]) / width) * powers, powers, scale))
    size, powers, scale = min(choices)
    cells = size // powers
    if cells > MOST_CELLS:
        raise ValueError(f"it needs {cells} cells for an error of {error:g}, more than {MOST_CELLS}")
    width = (ends[1] - ends[0]) / cells
    first = round(ends[0] / width)
    grid = Grid(first, width, ends[0] - first * width + width / 2, powers)
    table = _table(function, grid, cells, lines=tails)
    return replace(table, bound=scale * (width / 4) ** powers + error - allowed, proven=True)


def measured(
    function: Function, error: float, powers_allowed: tuple[int, ...], ends: tuple[float, float], pieces: int
) -> Table:
    """Of any functions that are smooth in each of some pieces between the ends and straight far out."""
    size = max(map(abs, ends))
    reach = next((each for each in size * 2.0 ** np.arange(8) if _is_straight(function, each, error)), None)
    if reach is None:
        raise ValueError("its functions do not continue as straight lines")
    choices = []
    for powers in powers_allowed:
        count = pieces
        while (reach * 2 / (ends[1] - ends[0]) * count) <= MOST_CELLS:
            width = (ends[1] - ends[0]) / count
            low, high = math.floor((-reach - ends[0]) / width), math.ceil((reach - ends[0]) / width)
            first = round(ends[0] / width)
            grid = Grid(first + low, width, ends[0] - first * width + width / 2, powers)
            table = _table(function, grid, high - low, lines=True)
            found = SAFETY * _largest_error(function, table)
            if found <= error:
                choices.append(replace(table, bound=found))
                break
            count *= 2
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


def _table(function: Function, grid: Grid, cells: int, *, lines: bool) -> Table:
    """Interpolants in ``cells`` cells from ``grid.first`` on, and a straight line or 0 on each side."""
    powers = grid.powers
    nodes = np.cos(np.pi * (np.arange(powers) + 0.5) / powers)
    centers = grid.center + grid.width * (grid.first + np.arange(cells))
    values = function((centers[:, None] + grid.width / 2 * nodes).ravel())
    inverse = np.linalg.inv(np.vander(nodes, powers, increasing=True))
    inside = values.reshape(len(values), cells, powers) @ inverse.T
    whole = np.zeros((len(values), cells + 2, powers))
    whole[:, 1:-1] = inside
    if lines:
        for place, side in ((0, -1), (-1, 1)):
            start = (centers[0] if side < 0 else centers[-1]) + side * grid.width
            value, slope = _line(function, start, side * max(abs(start), grid.width))
            whole[:, place, 0], whole[:, place, 1] = value, slope * grid.width / 2
    return Table(grid._replace(first=grid.first - 1), whole, 0.0, False)


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
    exact = function(places)
    return float((np.abs(evaluate(table, places) - exact) / np.maximum(np.abs(exact), 1)).max())


def _line(function: Function, start: float, step: float) -> tuple[Array, Array]:
    """Value at the start, and slope, of the straight lines that functions become far out."""
    far = start + step * np.array([FAR, 2 * FAR])
    values = function(far)
    slope = (values[:, 1] - values[:, 0]) / (far[1] - far[0])
    return values[:, 0] + slope * (start - far[0]), slope


def _is_straight(function: Function, reach: float, error: float) -> bool:
    for side in (-1, 1):
        value, slope = _line(function, side * reach, side * reach)
        places = side * reach * np.geomspace(1, FAR, 50)
        exact = function(places)
        line = value[:, None] + slope[:, None] * (places - side * reach)
        if (np.abs(line - exact) > error / SAFETY * np.maximum(np.abs(exact), 1)).any():
            return False
    return True
