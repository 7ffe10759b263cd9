"""Adaptive piecewise-linear units."""

import math
from typing import ClassVar

import torch
from torch import Tensor, nn

from kafnets.checks import check_integer
from kafnets.nn.activation import ByChannel
from kafnets.ops import apply
from kafnets.ops.formula import Formula
from kafnets.ops.hinges import Hinges
from kafnets.registry import Facts, register


@register("apl")
class APL(ByChannel):
    r"""A rectifier plus S learned hinges, :math:`g(s) = \max\{0, s\} + \sum_i a_i \max\{0, b_i - s\}`.

    It can represent exactly the continuous piecewise-linear functions that are the identity for large s and a
    straight line for small s, with one hinge for each of their corners and one for that of the rectifier.
    Initialized as in the authors' code: b normal with standard deviation 1/2, a uniform within :math:`\pm
    1/S` (there 0.2 for S = 5). Weight decay applies to both, by :math:`\ell_2` only, as in the paper, since
    small weights could otherwise be compensated by large slopes.

    Args:
        segments: S, the number of hinges.

    Attributes:
        slopes: the :math:`a_i`, a parameter ``(num_features, segments)``.
        places: the :math:`b_i`, likewise.
    """

    facts: ClassVar[Facts] = Facts(
        family="piecewise",
        source="Agostinelli et al., 2014",
        formula="max(0, s) + Σ_i a_i max(0, b_i - s)",
        parameters="2 * segments",
        smooth=False,
        local="partially",
        regularization="l2",
        plottable=True,
        hyperparameter="segments",
    )
    l2_parameters = ("slopes", "places")
    _shown = ("segments",)

    def __init__(
        self,
        num_features: int = 1,
        *,
        groups: int | None = None,
        segments: int = 3,
        dim: int = 1,
        inplace: bool = False,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(num_features, dim, groups)
        check_integer("segments", segments)
        self.segments = segments
        self.slopes = nn.Parameter(torch.empty(self.groups, segments, device=device, dtype=dtype))
        self.places = nn.Parameter(torch.empty(self.groups, segments, device=device, dtype=dtype))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Reset the parameters."""
        with torch.no_grad():
            self.slopes.uniform_(-1 / self.segments, 1 / self.segments, generator=generator)
            self.places.normal_(0.0, math.sqrt(0.25), generator=generator)

    def exact_formula(self) -> tuple[Formula, Tensor]:
        return Hinges(to_the_right=0, rectified=True), torch.cat([self.slopes, self.places], 1)

    def activate(self, s: Tensor, dim: int) -> Tensor:
        formula, hinges = self.exact_formula()
        return apply(formula, s, hinges, dim)
