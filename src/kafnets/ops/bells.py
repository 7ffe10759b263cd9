"""Sums of Gaussians whose places are coefficients too: dictionaries that are learned."""

import torch
from torch import Tensor

from kafnets.ops import native
from kafnets.ops.dispatch import apply
from kafnets.ops.formula import FORMULAS, Formula, columns, nan_in_slopes, over_channels

FAR = 1e18
"""Differences beyond it contribute nothing; larger ones would make infinity of their square."""


def bell_sum(s: Tensor, alpha: Tensor, places: Tensor, gamma: float, *, dim: int) -> Tensor:
    r""":math:`\sum_i \alpha_i \exp(-\gamma (s - d_i)^2)` with elements d at any distance from each other.

    Args:
        s: activations, with N channels along ``dim``.
        alpha: the :math:`\alpha_i`, ``(N, D)``.
        places: the :math:`d_i`, likewise.
        gamma: the bandwidth of all.
        dim: the channel axis.
    """
    return apply(Bells(gamma), s, torch.cat([alpha, places.to(alpha.dtype)], 1), dim)


class Bells(Formula):
    """Coefficients, then places, of each channel."""

    def __init__(self, gamma: float) -> None:
        self.gamma = gamma
        self.settings = (gamma, 0.0, 0.0, 0.0, 0.0)
        # Kernels that were built from older sources do not have this one.
        self.kernel = "bells" if native.kernels is None or native.kernels.has(_NAMED) else None

    def plain(self, s: Tensor, table: Tensor, dim: int) -> Tensor:
        result, s = torch.zeros_like(s), nan_in_slopes(s)
        for coefficient, difference in self._terms(s, table, dim):
            result = torch.addcmul(result, coefficient, torch.exp(-self.gamma * (difference * difference)))
        return result

    def gradients(
        self, upstream: Tensor, s: Tensor, table: Tensor, dim: int, wanted: tuple[bool, bool]
    ) -> tuple[Tensor, Tensor]:
        of_s, of_alpha, of_places = torch.zeros_like(s), [], []
        for coefficient, difference in self._terms(s, table, dim):
            reaching = upstream * torch.exp(-self.gamma * (difference * difference))
            change = (-2 * self.gamma) * (coefficient * difference) * reaching
            of_s = of_s + change
            of_alpha.append(over_channels(reaching, dim))
            of_places.append(-over_channels(change, dim))
        return of_s, torch.stack([*of_alpha, *of_places], 1)

    def _terms(self, s: Tensor, table: Tensor, dim: int) -> list[tuple[Tensor, Tensor]]:
        """Coefficient and difference."""
        both = columns(table, s, dim)
        half = len(both) // 2
        return [(a, (s - d).clamp(-FAR, FAR)) for a, d in zip(both[:half], both[half:], strict=True)]


class _Named(Formula):
    kernel = "bells"


_NAMED = _Named()
FORMULAS["bells"] = lambda settings, shape: Bells(settings[0])
