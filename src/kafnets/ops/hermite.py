"""Sums of Hermite functions, each of which follows from the two before."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from kafnets.ops.dispatch import apply
from kafnets.ops.formula import FORMULAS, Formula, columns, nan_in_slopes, over_channels


def hermite_sum(s: Tensor, coefficients: Tensor, *, dim: int) -> Tensor:
    r""":math:`\sum_k a_k \psi_k(s)` over orthonormal Hermite functions, with ``coefficients`` ``(N, K)``."""
    return apply(HermiteFunctions(), s, coefficients, dim)


class HermiteFunctions(Formula):
    """One coefficient per function."""

    kernel = "hermite"

    def plain(self, s: Tensor, table: Tensor, dim: int) -> Tensor:
        result, s = torch.zeros_like(s), nan_in_slopes(s)
        for coefficient, psi in zip(columns(table, s, dim), _hermite_functions(s), strict=False):
            result = torch.addcmul(result, coefficient, psi)
        return result

    def gradients(
        self, upstream: Tensor, s: Tensor, table: Tensor, dim: int, wanted: tuple[bool, bool]
    ) -> tuple[Tensor, Tensor]:
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


FORMULAS["hermite"] = lambda settings, shape: HermiteFunctions()
