"""Sums over functions that follow from those before: powers, Hermite functions."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from kafnets.ops.cpu import Settings
from kafnets.ops.recomputed import columns, over_channels, recomputed


def power_sum(s: Tensor, coefficients: Tensor, *, dim: int) -> Tensor:
    r""":math:`\sum_k a_k s^k`, with ``coefficients`` ``(N, powers)`` for the N channels along ``dim``."""
    return recomputed(_Powers(), s, coefficients, dim)


def hermite_sum(s: Tensor, coefficients: Tensor, *, dim: int) -> Tensor:
    r""":math:`\sum_k a_k \psi_k(s)` over orthonormal Hermite functions, otherwise as :func:`power_sum`."""
    return recomputed(_Hermite(), s, coefficients, dim)


@dataclass(frozen=True)
class _Powers:
    kernel: ClassVar[str] = "powers"
    settings: ClassVar[Settings] = (0.0, 0.0, 0.0)

    def value(self, s: Tensor, table: Tensor, dim: int) -> Tensor:
        *others, highest = columns(table, s, dim)
        result = highest.expand_as(s)
        for coefficient in reversed(others):
            result = torch.addcmul(coefficient, result, s)
        return result

    def gradients(self, upstream: Tensor, s: Tensor, table: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        slope, power = torch.zeros_like(s), upstream
        of_table = [over_channels(power, dim)]
        for k, coefficient in enumerate(columns(table, s, dim)[1:], start=1):
            slope = torch.addcmul(slope, coefficient, power, value=k)
            power = power * s
            of_table.append(over_channels(power, dim))
        return slope, torch.stack(of_table, 1)


@dataclass(frozen=True)
class _Hermite:
    kernel: ClassVar[str] = "hermite"
    settings: ClassVar[Settings] = (0.0, 0.0, 0.0)

    def value(self, s: Tensor, table: Tensor, dim: int) -> Tensor:
        result = torch.zeros_like(s)
        for coefficient, psi in zip(columns(table, s, dim), _hermite_functions(s), strict=False):
            result = torch.addcmul(result, coefficient, psi)
        return result

    def gradients(self, upstream: Tensor, s: Tensor, table: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        """By psi_k' = sqrt(k / 2) psi_{k-1} - sqrt((k + 1) / 2) psi_{k+1}, sorted by psi."""
        coefficients, count = columns(table, s, dim), table.shape[1]
        slope, of_table = torch.zeros_like(s), []
        for k, psi in zip(range(count + 1), _hermite_functions(s), strict=False):
            if k + 1 < count:
                slope = torch.addcmul(slope, coefficients[k + 1], psi, value=math.sqrt((k + 1) / 2))
            if k > 0:
                slope = torch.addcmul(slope, coefficients[k - 1], psi, value=-math.sqrt(k / 2))
            if k < count:
                of_table.append(over_channels(upstream * psi, dim))
        return upstream * slope, torch.stack(of_table, 1)


def _hermite_functions(s: Tensor) -> Iterator[Tensor]:
    # Beyond this nothing is left, and infinity times nothing would be NaN.
    limit = math.sqrt(-2 * math.log(torch.finfo(s.dtype).tiny))
    near = s.clamp(-limit, limit)
    bell = torch.exp(near * near * -0.5) * math.pi**-0.25
    before, psi = torch.zeros_like(s), torch.where(s.abs() > limit, 0, bell)
    s = near
    k = 0
    while True:
        yield psi
        later = torch.addcmul(before * -math.sqrt(k / (k + 1)), psi, s, value=math.sqrt(2 / (k + 1)))
        before, psi = psi, later
        k += 1
