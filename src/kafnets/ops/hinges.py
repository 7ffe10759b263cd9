"""Sums of hinges, which make any continuous piecewise-linear function."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from kafnets.ops.cpu import Settings
from kafnets.ops.recomputed import columns, over_channels, recomputed


def hinge_sum(
    s: Tensor, slopes: Tensor, places: Tensor, *, to_the_right: int, rectified: bool, dim: int
) -> Tensor:
    r"""A base plus :math:`\sum_i a_i \max\{0, \pm (s - b_i)\}`.

    Args:
        s: activations, with N channels along ``dim``.
        slopes: the :math:`a_i`, ``(N, hinges)``.
        places: the :math:`b_i`, likewise.
        to_the_right: how many of the hinges, the first ones, open to the right (plus); the others to the
            left.
        rectified: the base is :math:`\max\{0, s\}`, or else s.
        dim: the channel axis.
    """
    return recomputed(_Hinges(to_the_right, rectified), s, torch.cat([slopes, places], 1), dim)


@dataclass(frozen=True)
class _Hinges:
    to_the_right: int
    rectified: bool

    kernel: ClassVar[str] = "hinges"

    @property
    def settings(self) -> Settings:
        return float(self.to_the_right), float(self.rectified), 0.0

    def value(self, s: Tensor, table: Tensor, dim: int) -> Tensor:
        result = s.relu() if self.rectified else s
        for slope, opening, _ in self._hinges(s, table, dim):
            result = torch.addcmul(result, slope, opening.relu())
        return result

    def gradients(self, upstream: Tensor, s: Tensor, table: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        of_s = torch.where(s > 0, upstream, 0) if self.rectified else upstream
        of_slopes, of_places = [], []
        for slope, opening, side in self._hinges(s, table, dim):
            reaching = torch.where(opening > 0, upstream, 0)
            of_slopes.append(over_channels(reaching * opening, dim))
            of_places.append(over_channels(reaching, dim) * slope.flatten() * -side)
            of_s = torch.addcmul(of_s, reaching, slope, value=side)
        return of_s, torch.stack([*of_slopes, *of_places], 1)

    def _hinges(self, s: Tensor, table: Tensor, dim: int) -> list[tuple[Tensor, Tensor, int]]:
        """Slope, what the hinge opens by, and side."""
        found = columns(table, s, dim)
        half = len(found) // 2
        return [
            (slope, s - place, 1) if i < self.to_the_right else (slope, place - s, -1)
            for i, (slope, place) in enumerate(zip(found[:half], found[half:], strict=True))
        ]
