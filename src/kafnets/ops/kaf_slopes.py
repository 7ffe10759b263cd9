r"""Derivatives of KAFs by the activation, of any order, as formulas of the same coefficients.

With :math:`t = s - d`, the n-th derivative of a Gaussian is :math:`q_n(t) \, e^{-\gamma t^2}`, where
:math:`q_0 = 1`, :math:`q_1 = -2 \gamma t` and :math:`q_{n+1} = -2 \gamma (t \, q_n + n \, q_{n-1})`.
"""

import functools
from typing import Any

import torch
from torch import Tensor

from kafnets.expansion import TAILS, Dictionary, Expansion
from kafnets.kernels import Gaussian
from kafnets.ops.formula import FORMULAS, Formula, Settings, nan_in_slopes
from kafnets.ops.layout import in_layout_of
from kafnets.ops.library import TORCH


class KAFSlopes(Formula):
    """The sum's derivative of that order, without a base. A learned bandwidth is the last coefficient."""

    def __init__(self, expansion: Expansion, order: int) -> None:
        dictionary = expansion.dictionary
        self.expansion, self.order, self.learned = expansion, order, bool(expansion.learn_gamma)
        self.kernel = "kaf_slopes_by_bandwidth" if self.learned else "kaf_slopes"
        first, spacing, gamma = dictionary.values[0], dictionary.spacing, expansion.gamma
        assert spacing is not None
        assert gamma is not None
        tails = float(TAILS.index(expansion.tails))
        self.settings = (first, spacing, 0.0 if self.learned else gamma, tails, float(order))

    def slope(self) -> Formula:
        return slope_of(self.expansion, self.order + 1)

    def plain(self, s: Tensor, table: Tensor, dim: int) -> Tensor:
        rows, tails = nan_in_slopes(s.movedim(dim, -1)), self.expansion.tails
        first, last = self.expansion.dictionary.values[0], self.expansion.dictionary.values[-1]
        gamma: Any = table[:, -1:] if self.learned else self.expansion.gamma
        alpha = table[:, :-1] if self.learned else table
        inside = rows if tails == "zero" else rows.clamp(first, last)
        t = inside.unsqueeze(-1) - TORCH.array(self.expansion.dictionary.values, s)
        before, q = torch.zeros_like(t), torch.ones_like(t)
        for n in range(self.order):
            before, q = q, -2.0 * gamma * (t * q + n * before)
        result = (alpha * q * torch.exp(-gamma * t * t)).sum(-1)
        if tails == "constant" or (tails == "linear" and self.order > 1):
            result = result.masked_fill((rows < first) | (rows > last), 0.0)
        return in_layout_of(s, result.movedim(-1, dim))

    def gradients(
        self, upstream: Tensor, s: Tensor, table: Tensor, dim: int, wanted: tuple[bool, bool]
    ) -> tuple[Tensor | None, Tensor | None]:
        with torch.enable_grad():
            inputs = s.detach().requires_grad_(), table.detach().requires_grad_()
            by_s, by_table = torch.autograd.grad(self.plain(*inputs, dim), inputs, upstream)
        return by_s, by_table


@functools.lru_cache(maxsize=256)
def slope_of(expansion: Expansion, order: int) -> KAFSlopes:
    """The formula of that order."""
    return KAFSlopes(expansion, order)


@functools.lru_cache(maxsize=256)
def _from_settings(size: int, settings: Settings, learned: bool) -> KAFSlopes:
    first, spacing, gamma, tails, order = settings
    dictionary = Dictionary(tuple(first + spacing * k for k in range(size - learned)))
    kernel = Gaussian(1.0, "neuron") if learned else Gaussian(gamma)
    return slope_of(Expansion(kernel, dictionary, 1, TAILS[int(tails)]), int(order))


FORMULAS["kaf_slopes"] = lambda settings, shape: _from_settings(int(shape[1]), settings, False)
FORMULAS["kaf_slopes_by_bandwidth"] = lambda settings, shape: _from_settings(int(shape[1]), settings, True)
