"""Parametric activations that are more recent than the paper."""

import math
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from kafnets.fixed_functions import Base
from kafnets.nn.activation import ByChannel
from kafnets.ops.fixed_functions import TORCH_FUNCTIONS
from kafnets.registry import Facts, register
from kafnets.zoo.parametric import Parametric

_facts = partial(Facts, "recent", regularization="no", plottable=True)


@register("pact")
class PAct(Parametric):
    r"""A fixed function f and the identity, mixed by a learned weight, :math:`g(s) = s + w (f(s) - s)`.

    Initialized as f, :math:`w = 1`. Weight decay does not apply: it would pull the function toward the
    identity. The same function with a KAF on top is ``KAF(base=Base("mish", "residual"))``.

    Args:
        function: the name of f: "mish", "selu", or any that :class:`kafnets.Base` takes.
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


@register("learned_sine")
class LearnedSine(Parametric):
    r"""A sine with learned amplitude and frequency, :math:`g(s) = a \sin(\omega s)`.

    Initialized with :math:`a = \omega = 1`; for a higher frequency, scale the weights of the preceding layer,
    as SIREN does. Weight decay does not apply: it would flatten the function.

    Args:
        num_features: N, the number of channels along ``dim``; 1: one function for any number of them.
    """

    facts: ClassVar[Facts] = _facts("Sitzmann et al., 2020", "a sin(ω s)", "2", smooth=True, local="no")
    undecayed_parameters = ("height", "frequency")
    first_values: ClassVar[dict[str, float]] = {"height": 1.0, "frequency": 1.0}
    height: nn.Parameter
    frequency: nn.Parameter

    def activate(self, s: Tensor, dim: int) -> Tensor:
        return self.along(self.height, s, dim) * torch.sin(self.along(self.frequency, s, dim) * s)


@register("xielu")
class XIELU(Parametric):
    r"""The integral of a learned ELU.

    .. math:: g(s) = \alpha_p s^2 + \beta s \text{ for } s > 0, \quad
              \alpha_n (e^s - 1 - s) + \beta s \text{ for } s \le 0

    :math:`\alpha_p = \log(1 + e^{p}) > 0` and :math:`\alpha_n = \beta + \log(1 + e^{n}) > \beta`, of which p
    and n are stored; both are initialized to 0.8, and :math:`\beta` is 0.5, as in the original. Weight decay
    does not apply.

    Args:
        num_features: N, the number of channels along ``dim``; 1: one function for any number of them.
    """

    facts: ClassVar[Facts] = _facts(
        "Huang and Schlag, 2024",
        "α_p s² + β s, or α_n (exp(s) - 1 - s) + β s below 0",
        "2",
        smooth=True,
        local="partially",
    )
    beta: ClassVar[float] = 0.5
    undecayed_parameters = ("raw_positive", "raw_negative")
    first_values: ClassVar[dict[str, float]] = {
        "raw_positive": math.log(math.expm1(0.8)),
        "raw_negative": math.log(math.expm1(0.8 - beta)),
    }
    raw_positive: nn.Parameter
    raw_negative: nn.Parameter

    @property
    def alpha_positive(self) -> Tensor:
        """Half the curvature for positive inputs."""
        return functional.softplus(self.raw_positive, threshold=40.0)

    @property
    def alpha_negative(self) -> Tensor:
        """The weight of the exponential for negative inputs."""
        return self.beta + functional.softplus(self.raw_negative, threshold=40.0)

    def activate(self, s: Tensor, dim: int) -> Tensor:
        right, left = (self.along(each, s, dim) for each in (self.alpha_positive, self.alpha_negative))
        below = torch.where(s > 0, 0.0, s)  # where the exponential would overflow, it is not wanted
        return torch.where(s > 0, right * s * s, left * (torch.expm1(below) - below)) + self.beta * s


@register("poly_norm")
class PolyNorm(ByChannel):
    r"""Powers of the input, normalized, :math:`g(s) = b + \sum_{i=1}^3 w_i \, s^i / \|s^i\|`.

    The norm is the root mean square over all channels of a row. There are three weights and a bias for the
    whole layer, initialized to 1/3 and 0, as in the original. Weight decay does not apply.

    Args:
        num_features: N, the number of channels along ``dim``.
    """

    facts: ClassVar[Facts] = Facts(
        "recent",
        source="Zhuo et al., 2024",
        formula="b + Σ w_i s^i / ‖s^i‖",
        parameters="4 / num_features",
        smooth=False,  # odd powers, normalized, change their sign within a thousandth of 0
        local="no",
        regularization="no",
    )
    undecayed_parameters = ("weight", "bias")
    sharable: ClassVar[bool] = False
    EPS: ClassVar[float] = 1e-6

    def __init__(
        self,
        num_features: int,
        *,
        dim: int = 1,
        inplace: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(num_features, dim)
        self.weight = nn.Parameter(torch.empty(3, device=device, dtype=dtype))
        self.bias = nn.Parameter(torch.empty(1, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset the parameters."""
        nn.init.constant_(self.weight, 1 / 3)
        nn.init.zeros_(self.bias)

    def activate(self, s: Tensor, dim: int) -> Tensor:
        result = self.bias.to(s.dtype)
        for weight, power in zip(self.weight.to(s.dtype), (s, s**2, s**3), strict=True):
            result = result + weight * power * (power.square().mean(dim, keepdim=True) + self.EPS).rsqrt()
        return result
