"""Sums of hinges, which make any continuous piecewise-linear function."""

from dataclasses import dataclass

import torch
from torch import Tensor

from kafnets.ops.recomputed import over_channels, recomputed


def hinge_sum(
    s: Tensor, slopes: Tensor, places: Tensor, *, sides: tuple[int, ...], rectified: bool
) -> Tensor:
    r"""A base plus :math:`\sum_i a_i \max\{0, \sigma_i (s - b_i)\}`.

    Args:
        s: activations.
        slopes: the :math:`a_i`, first axis over hinges, the others broadcast with ``s``.
        places: the :math:`b_i`, likewise.
        sides: the :math:`\sigma_i`: 1 for a hinge that opens to the right, -1 for one to the left.
        rectified: the base is :math:`\max\{0, s\}`, or else s.
    """
    return recomputed(_Hinges(sides, rectified), s, slopes, places)


@dataclass(frozen=True)
class _Hinges:
    sides: tuple[int, ...]
    rectified: bool

    def value(self, s: Tensor, slopes: Tensor, places: Tensor) -> Tensor:
        result = s.relu() if self.rectified else s
        for side, slope, place in zip(self.sides, slopes.unbind(), places.unbind(), strict=True):
            result = torch.addcmul(result, slope, _opening(s, place, side).relu())
        return result

    def gradients(self, upstream: Tensor, s: Tensor, slopes: Tensor, places: Tensor) -> tuple[Tensor, ...]:
        of_s = torch.where(s > 0, upstream, 0) if self.rectified else upstream
        of_slopes, of_places = torch.empty_like(slopes), torch.empty_like(places)
        for i, side in enumerate(self.sides):
            opening = _opening(s, places[i], side)
            reaching = torch.where(opening > 0, upstream, 0)
            of_slopes[i] = over_channels(reaching * opening, slopes[i])
            of_places[i] = over_channels(reaching, places[i]) * slopes[i] * -side
            of_s = torch.addcmul(of_s, reaching, slopes[i], value=side)
        return of_s, of_slopes, of_places


def _opening(s: Tensor, place: Tensor, side: int) -> Tensor:
    return s - place if side > 0 else place - s
