"""Two-dimensional kernel activation functions."""

from typing import ClassVar

from torch import Tensor

from kafnets.functional import kaf2d
from kafnets.nn.kaf import KernelActivation
from kafnets.ops.formula import Formula
from kafnets.registry import Facts, register


@register("kaf2d")
class KAF2D(KernelActivation):
    r"""Two-dimensional KAF: each pair of neighboring channels becomes one learned function of both.

    .. math:: g(s_{2k}, s_{2k+1}) = \sum_{i,j} \alpha_{k,i,j} \, \kappa((s_{2k}, s_{2k+1}), (d_i, d_j))

    The number of channels is halved, so the next layer takes ``num_features // 2``:

    >>> net = nn.Sequential(nn.Linear(18, 300), kafnets.KAF2D(300), nn.Linear(150, 1))
    >>> net(torch.randn(5, 18)).shape
    torch.Size([5, 1])

    Arguments as for :class:`KAF`, with ``num_features`` even (``KAF2D()``: one function for all pairs), the
    initializers given one per pair, and a ``dictionary_size`` of 10; ``alpha`` is
    ``(groups, dictionary_size, dictionary_size)``, by default with one group per pair. The rule of
    thumb for the bandwidth is multiplied by :math:`\sqrt 2`. Kernels without a two-dimensional form are
    refused.
    """

    facts = Facts(
        family="expansions",
        source="Scardapane et al., 2017",
        formula="Σ_ij α_ij κ((s, t), (d_i, d_j))",
        parameters="dictionary_size**2 / 2",
        smooth=True,
        local="yes",
        regularization="yes",
        plottable=True,
        arity=2,
        hyperparameter="dictionary_size",
    )
    inputs: ClassVar[int] = 2

    @property
    def out_features(self) -> int:
        """Half the number of channels."""
        return self.num_features // 2

    def exact_formula(self) -> tuple[Formula, Tensor]:
        gamma = self.gamma if isinstance(self.gamma, Tensor) else None
        return self._formula, self._formula.table(self.alpha, None, gamma)

    def compute_shared(self, input: Tensor) -> Tensor:
        gamma = self.gamma if isinstance(self.gamma, Tensor) else None
        return kaf2d(input, self.alpha, self.expansion, self.dim, gamma=gamma)
