"""Parametric activations that are younger than the paper."""

from functools import partial
from typing import ClassVar

import torch
from torch import Tensor, nn

from kafnets.fixed_functions import Base
from kafnets.ops.fixed_functions import TORCH_FUNCTIONS
from kafnets.registry import Facts, register
from kafnets.zoo.parametric import Parametric

_facts = partial(Facts, "recent", regularization="no", plottable=True)


@register("pact")
class PAct(Parametric):
    r"""A fixed function f and the identity, mixed by a learned weight, :math:`g(s) = s + w (f(s) - s)`.

    Starts as f, :math:`w = 1`. Not to decay: that would pull it toward the identity. The same function with a
    KAF on top is ``KAF(base=Base("mish", "residual"))``.

    Args:
        num_features: N, the number of channels along ``dim``; 1: one function for any number of them.
        groups: the number of functions, each shared by N / groups neighboring channels. None: N.
        function: the name of f: "mish", "selu", or any that :class:`kafnets.Base` takes.
        dim: the channel axis.
        inplace: accepted and ignored.
        device: where the parameters live.
        dtype: their type.
    """

    facts: ClassVar[Facts] = _facts(
        "Holzmüller et al., 2024", "s + w (f(s) - s)", "1", smooth=True, local="partially"
    )
    undecayed_parameters = ("weight",)
    first_values: ClassVar[dict[str, float]] = {"weight": 1.0}
    weight: nn.Parameter

    def __init__(
        self,
        num_features: int = 1,
        *,
        groups: int | None = None,
        function: str = "mish",
        dim: int = 1,
        inplace: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        self.base = Base(function, "residual")
        super().__init__(num_features, groups=groups, dim=dim, device=device, dtype=dtype)

    @property
    def function(self) -> str:
        """The name of f."""
        return self.base.function

    _shown = ("function",)

    def activate(self, s: Tensor, dim: int) -> Tensor:
        return self.base.combine(s, TORCH_FUNCTIONS[self.function](s), self.along(self.weight, s, dim))
