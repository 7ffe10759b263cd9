"""Functions that no longer change: for each channel a polynomial per cell of an even grid, looked up."""

import functools
import math
from typing import NamedTuple

import torch
from torch import Tensor

from kafnets.ops import native
from kafnets.ops.formula import FORMULAS, Formula
from kafnets.ops.layout import in_layout_of

FARTHEST = 1e30
"""Inputs beyond this count as this: an infinite one would meet slopes of 0."""


class Grid(NamedTuple):
    """Cells of one width. The first and the last reach to infinity.

    Attributes:
        first: the number of the first cell.
        width: of a cell.
        center: of cell 0.
        powers: coefficients per cell, 4 or 8, of t, which is -1 and 1 at the ends of a cell.
    """

    first: int
    width: float
    center: float
    powers: int

    @property
    def width_parts(self) -> tuple[float, float]:
        """A width of few digits, of which small multiples are exact in float32, and the rest."""
        unit = math.ldexp(1.0, math.frexp(self.width)[1] - 12)
        high = round(self.width / unit) * unit
        return high, self.width - high


class BakedFormula(Formula):
    """Its table is ``(N, cells * powers)``, cell by cell. There are no derivatives."""

    kernel: str | None = "baked"

    def __init__(self, grid: Grid) -> None:
        self.grid, self.terms = grid, grid.powers
        self.settings = (float(grid.first), grid.width, float(grid.powers), grid.center, 0.0)
        if native.kernels is not None and not native.kernels.has(self):
            self.kernel = None  # built from older sources

    def plain(self, s: Tensor, table: Tensor, dim: int) -> Tensor:
        axis, last = dim % s.dim(), s.dim() - 1
        grid, cells = self.grid, table.shape[1] // self.grid.powers
        rows = s.movedim(axis, last).clamp(-FARTHEST, FARTHEST)
        n = ((rows - grid.center) / grid.width).round().clamp(grid.first, grid.first + cells - 1)
        high, low = grid.width_parts
        t = ((rows - n * high) - (n * low + grid.center)) * (2 / grid.width)
        own = torch.arange(len(table), device=s.device) * cells - grid.first
        index = torch.where(n.isnan(), float(grid.first), n).to(torch.int64) + own
        places = index.reshape(1, -1)
        result = torch.zeros_like(t)
        for power in reversed(range(grid.powers)):  # one by one: what exported programs do fastest
            column = table[:, power :: grid.powers].reshape(1, -1)
            result = result * t + column.gather(1, places).reshape(index.shape)
        return in_layout_of(s, result.movedim(last, axis))


@functools.lru_cache(maxsize=256)
def _from_settings(first: float, width: float, powers: float, center: float, _: float) -> BakedFormula:
    return BakedFormula(Grid(int(first), width, center, int(powers)))


FORMULAS["baked"] = lambda settings, shape: _from_settings(*settings)
