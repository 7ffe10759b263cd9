"""Sums of powers: polynomials."""

import torch
from torch import Tensor

from kafnets.ops.dispatch import apply
from kafnets.ops.formula import FORMULAS, Formula, columns, over_channels


def power_sum(s: Tensor, coefficients: Tensor, *, dim: int) -> Tensor:
    r""":math:`\sum_k a_k s^k`, with ``coefficients`` ``(N, powers)`` for the N channels along ``dim``."""
    return apply(Powers(), s, coefficients, dim)


class Powers(Formula):
    """One coefficient per power, lowest first."""

    kernel = "powers"

    def plain(self, s: Tensor, table: Tensor, dim: int) -> Tensor:
        *others, highest = columns(table, s, dim)
        result = highest.expand_as(s)
        for coefficient in reversed(others):
            result = torch.addcmul(coefficient, result, s)
        return result

    def gradients(
        self, upstream: Tensor, s: Tensor, table: Tensor, dim: int, wanted: tuple[bool, bool]
    ) -> tuple[Tensor, Tensor]:
        slope, power = torch.zeros_like(s), upstream
        of_table = [over_channels(power, dim)]
        for k, coefficient in enumerate(columns(table, s, dim)[1:], start=1):
            slope = torch.addcmul(slope, coefficient, power, value=k)
            power = power * s
            of_table.append(over_channels(power, dim))
        return slope, torch.stack(of_table, 1)


FORMULAS["powers"] = lambda settings, shape: Powers()
