"""Sums of hinges, which make any continuous piecewise-linear function."""

import torch
from torch import Tensor

from kafnets.ops.dispatch import apply
from kafnets.ops.formula import FORMULAS, Formula, columns, nan_in_slopes, over_channels


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
    return apply(Hinges(to_the_right, rectified), s, torch.cat([slopes, places], 1), dim)


class Hinges(Formula):
    """Slopes, then places, of each channel."""

    kernel = "hinges"

    def __init__(self, to_the_right: int, rectified: bool) -> None:
        self.to_the_right, self.rectified = to_the_right, rectified
        self.settings = (float(to_the_right), float(rectified), 0.0, 0.0, 0.0)

    def plain(self, s: Tensor, table: Tensor, dim: int) -> Tensor:
        result = nan_in_slopes(s).relu() if self.rectified else s
        for slope, opening, _ in self._hinges(s, table, dim):
            result = torch.addcmul(result, slope, nan_in_slopes(opening).relu())
        return result

    def gradients(
        self, upstream: Tensor, s: Tensor, table: Tensor, dim: int, wanted: tuple[bool, bool]
    ) -> tuple[Tensor, Tensor]:
        of_s = torch.where(s > 0, upstream, s.relu()) if self.rectified else upstream  # NaN stays NaN
        of_slopes, of_places = [], []
        for slope, opening, side in self._hinges(s, table, dim):
            opened = opening.relu()
            reaching = torch.where(opening > 0, upstream, opened)
            of_slopes.append(over_channels(upstream * opened, dim))
            of_places.append(over_channels(reaching, dim) * slope.flatten() * -side)
            of_s = torch.addcmul(of_s, reaching, slope, value=side)
        return of_s, torch.stack([*of_slopes, *of_places], 1)

    def _hinges(self, s: Tensor, table: Tensor, dim: int) -> list[tuple[Tensor, Tensor, int]]:
        """Slope, what the hinge opens by, and side."""
        slopes_and_places = columns(table, s, dim)
        half = len(slopes_and_places) // 2
        return [
            (slope, s - place, 1) if i < self.to_the_right else (slope, place - s, -1)
            for i, (slope, place) in enumerate(
                zip(slopes_and_places[:half], slopes_and_places[half:], strict=True)
            )
        ]


FORMULAS["hinges"] = lambda settings, shape: Hinges(int(settings[0]), bool(settings[1]))
