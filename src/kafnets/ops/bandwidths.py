"""Gaussian expansions whose bandwidth is learned, as one more coefficient of each channel."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from kafnets.kernels import Gaussian
from kafnets.ops import composite
from kafnets.ops.cpu import Settings
from kafnets.ops.grid import Grid
from kafnets.ops.layout import along_dim
from kafnets.ops.recomputed import columns, over_channels, recomputed


def kaf_by_bandwidth(s: Tensor, alpha: Tensor, gamma: Tensor, grid: Grid, *, dim: int) -> Tensor:
    r""":math:`\sum_i \alpha_{n,i} \exp(-\gamma_n (s - d_i)^2)`, differentiable in the bandwidths too.

    Args:
        s: activations, any shape, with N channels along ``dim``.
        alpha: ``(N, D)``.
        gamma: ``()`` or ``(N,)``.
        grid: the dictionary.
        dim: the channel axis.
    """
    table = torch.cat([alpha, gamma.expand(len(alpha)).unsqueeze(1)], 1)
    return recomputed(_GaussianSum(grid), s, table, dim)


@dataclass(frozen=True)
class _GaussianSum:
    grid: Grid

    kernel: ClassVar[str] = "kaf_by_bandwidth"

    @property
    def settings(self) -> Settings:
        return self.grid.first, self.grid.spacing, 0.0

    def value(self, s: Tensor, table: Tensor, dim: int) -> Tensor:
        dictionary = torch.from_numpy(self.grid.elements()).to(s)
        return along_dim(composite.kaf, s, table[:, :-1], dictionary, Gaussian(), table[:, -1], dim)

    def gradients(self, upstream: Tensor, s: Tensor, table: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        *alpha, gamma = columns(table, s, dim)
        slope, by_gamma, of_table = torch.zeros_like(s), torch.zeros_like(s), []
        for coefficient, element in zip(alpha, self.grid.elements().tolist(), strict=True):
            distance = s - element
            term = upstream * torch.exp(-gamma * distance**2)
            moment = coefficient * term * distance
            slope = torch.addcmul(slope, moment, gamma, value=-2)
            by_gamma = torch.addcmul(by_gamma, moment, distance, value=-1)
            of_table.append(over_channels(term, dim))
        return slope, torch.stack([*of_table, over_channels(by_gamma, dim)], 1)
