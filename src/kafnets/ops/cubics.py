"""Piecewise cubic polynomials on an equispaced grid: each activation looks up its piece, and nothing else."""

import torch
from torch import Tensor

from kafnets.ops.dispatch import apply
from kafnets.ops.formula import FORMULAS, Formula

COEFFICIENTS = 4
"""Of a cubic polynomial."""


def piecewise_cubic(s: Tensor, pieces: Tensor, *, first: float, spacing: float, dim: int) -> Tensor:
    r"""The polynomial :math:`\sum_j p_j u^j` of the piece that an activation is in.

    Args:
        s: activations, any shape, with N channels along ``dim``.
        pieces: ``(N, K + 2, 4)``, lowest power first. Piece 0 is everything left of the grid and piece K + 1
            everything right of it, the others its K intervals in turn. Left and right the polynomial is a
            straight
            line: higher powers, which could overflow, do not count.
        first: the grid's leftmost place.
        spacing: between places. u is the distance from an interval's left end in spacings; left of the grid
            from the leftmost place, right of it from the rightmost.
        dim: the channel axis.
    """
    return apply(Cubics(first, spacing), s, pieces.flatten(1), dim)


class Cubics(Formula):
    """The polynomials of each channel, one after the other."""

    kernel = "cubics"

    def __init__(self, first: float, spacing: float) -> None:
        self.first, self.spacing = first, spacing
        self.settings = (first, spacing, 0.0, 0.0, 0.0)

    def plain(self, s: Tensor, table: Tensor, dim: int) -> Tensor:
        where, u, inner = self._find(s, table, dim)
        constant, first, second, third = (
            column[where] for column in table.reshape(-1, COEFFICIENTS).unbind(1)
        )
        slope = torch.addcmul(first, torch.addcmul(second, third, inner), inner)
        return torch.addcmul(constant, slope, u)

    def gradients(
        self, upstream: Tensor, s: Tensor, table: Tensor, dim: int, wanted: tuple[bool, bool]
    ) -> tuple[Tensor, Tensor]:
        where, u, inner = self._find(s, table, dim)
        rows = table.reshape(-1, COEFFICIENTS)
        slope = torch.zeros_like(s)
        for j in range(COEFFICIENTS - 1, 0, -1):
            slope = torch.addcmul(rows[:, j][where] * j, slope, inner)
        of_rows = []
        flat, weighted = where.reshape(-1), upstream
        for j in range(COEFFICIENTS):
            of_rows.append(table.new_zeros(len(rows)).index_add_(0, flat, weighted.reshape(-1)))
            weighted = weighted * (u if j == 0 else inner)
        of_table = torch.stack(of_rows, 1).view_as(table)
        return upstream * slope * (1 / self.spacing), of_table

    def _find(self, s: Tensor, table: Tensor, dim: int) -> tuple[Tensor, Tensor, Tensor]:
        """The row of polynomials that an activation needs, u, and u but 0 outside the grid."""
        neurons, pieces = table.shape[0], table.shape[1] // COEFFICIENTS
        distance = (s - self.first) * (1 / self.spacing)
        with torch.no_grad():
            # A NaN belongs to no piece. It is sent to one all the same: u is NaN, and so will be the result.
            interval = distance.detach().floor().clamp(-1, pieces - 2).nan_to_num(0.0)
            left = interval.clamp(0, pieces - 2)
            shape = [1] * s.dim()
            shape[dim] = neurons
            rows = torch.arange(neurons, device=s.device).reshape(shape) * pieces
            where = interval.long() + 1 + rows
            outside = (interval < 0) | (interval == pieces - 2)
        u = distance - left
        return where, u, torch.where(outside, 0, u)


FORMULAS["cubics"] = lambda settings, shape: Cubics(settings[0], settings[1])
