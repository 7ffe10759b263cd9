"""Piecewise polynomials on an equispaced grid: each activation looks its piece up, and nothing else."""

from dataclasses import dataclass

import torch
from torch import Tensor

from kafnets.ops.recomputed import recomputed


def piecewise_polynomial(s: Tensor, pieces: Tensor, *, first: float, spacing: float, dim: int) -> Tensor:
    r"""The polynomial :math:`\sum_j p_j u^j` of the piece that an activation is in.

    Args:
        s: activations, any shape, with N channels along ``dim``.
        pieces: ``(N, K + 2, order + 1)``, lowest power first. Piece 0 is everything left of the grid and
            piece K + 1 everything right of it, the others its K intervals in turn.
        first: the grid's leftmost place.
        spacing: between places. u is the distance from an interval's left end in spacings; left of the grid
            from the leftmost place, right of it from the rightmost.
        dim: the channel axis.
    """
    return recomputed(_Piecewise(first, spacing, dim), s, pieces)


@dataclass(frozen=True)
class _Piecewise:
    first: float
    spacing: float
    dim: int

    def value(self, s: Tensor, pieces: Tensor) -> Tensor:
        where, u = self._find(s, pieces)
        table = pieces.reshape(-1, pieces.shape[-1])
        coefficients = (column[where] for column in reversed(table.unbind(-1)))
        result = next(coefficients)
        for coefficient in coefficients:
            result = torch.addcmul(coefficient, result, u)
        return result

    def gradients(self, upstream: Tensor, s: Tensor, pieces: Tensor) -> tuple[Tensor, ...]:
        where, u = self._find(s, pieces)
        table = pieces.reshape(-1, pieces.shape[-1])
        slope = torch.zeros_like(s)
        for j in range(pieces.shape[-1] - 1, 0, -1):
            slope = torch.addcmul(table[:, j][where] * j, slope, u)
        of_table = torch.zeros_like(table)
        flat, weighted = where.reshape(-1), upstream
        for j in range(pieces.shape[-1]):
            of_table[:, j] = torch.zeros_like(table[:, j]).index_add_(0, flat, weighted.reshape(-1))
            weighted = weighted * u
        return upstream * slope * (1 / self.spacing), of_table.view_as(pieces)

    def _find(self, s: Tensor, pieces: Tensor) -> tuple[Tensor, Tensor]:
        """The row of the table that an activation needs, and u."""
        neurons, count = pieces.shape[:2]
        distance = (s - self.first) * (1 / self.spacing)
        with torch.no_grad():
            # A NaN belongs to no piece. It is sent to one all the same: u is NaN, and so will be the result.
            interval = distance.detach().floor().clamp(-1, count - 2).nan_to_num(0.0)
            left = interval.clamp(0, count - 2)
            shape = [1] * s.dim()
            shape[self.dim] = neurons
            rows = torch.arange(neurons, device=s.device).reshape(shape) * count
            where = interval.long() + 1 + rows
        return where, distance - left
