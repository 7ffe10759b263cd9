r"""2D-KAFs: :math:`\sum_{i,j} \alpha_{p,i,j} \, \kappa((s_{2p}, s_{2p+1}), (d_i, d_j))` for each pair p."""

import functools
from typing import Any

from torch import Tensor

from kafnets.expansion import Expansion
from kafnets.ops.formula import FORMULAS
from kafnets.ops.kaf import ExpansionFormula, KAFFormula, from_settings
from kafnets.ops.library import TORCH


class KAF2DFormula(ExpansionFormula):
    """One function per pair of neighboring channels."""

    kinds = ("kaf2d", None)

    def _plain(self, s: Tensor, alpha: Tensor, gamma: Tensor | None) -> Tensor:
        kernel: Any = self.expansion.kernel
        if gamma is not None:
            kernel = kernel.with_gamma(gamma[..., None, None])
        first, second = s.unflatten(-1, (-1, 2)).unsqueeze(-1).unsqueeze(-1).unbind(-3)
        elements = TORCH.array(self.expansion.dictionary.values, s)
        return (alpha * kernel.value2d(TORCH, first, second, elements[:, None], elements)).sum((-1, -2))


FORMULAS["kaf2d"] = lambda settings, shape: from_settings(KAF2DFormula, 2, int(shape[1]), settings, False)


@functools.lru_cache(maxsize=256)
def formula_of(expansion: Expansion) -> ExpansionFormula:
    """The formula of an expansion, in one dimension or two."""
    return KAFFormula(expansion) if expansion.dimensions == 1 else KAF2DFormula(expansion)
