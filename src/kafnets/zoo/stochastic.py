"""Activations that are random in training mode; in evaluation mode they give their expected value."""

import math
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.fx import Proxy
from torch.nn import functional

from kafnets.nn.activation import ByChannel, leaf_of_trace
from kafnets.registry import Facts, register


@register("rrelu")
class RReLU(nn.RReLU):
    r"""A leaky rectifier, :math:`\max\{0, s\} + \alpha \min\{0, s\}`, with a random slope.

    torch's own. The slope is drawn uniformly from ``lower`` to ``upper``; in evaluation mode, it is their
    mean.

    Args:
        num_features: not needed.
        lower: the smallest slope.
        upper: the largest.
        dim: not needed.
        inplace: whether it may overwrite its input in training mode.
    """

    facts: ClassVar[Facts] = Facts(
        family="stochastic",
        source="Xu et al., 2015",
        formula="max(0, s) + α min(0, s), α random",
        smooth=False,
        plottable=True,
    )

    def __init__(
        self,
        num_features: int | None = None,
        *,
        lower: float = 1 / 8,
        upper: float = 1 / 3,
        dim: int = 1,
        inplace: bool = False,
    ) -> None:
        if not lower <= upper:
            raise ValueError(f"lower must not exceed upper, got {lower} and {upper}")
        super().__init__(lower, upper, inplace)

    def forward(self, input: Tensor) -> Tensor:
        if type(input) is not Tensor and isinstance(input, Proxy):
            return leaf_of_trace(self, input)
        if self.training:
            if input.dtype in (torch.float16, torch.bfloat16):  # which torch's own does not take everywhere
                return super().forward(input.float()).to(input.dtype)
            return super().forward(input)
        return functional.leaky_relu(input, (self.lower + self.upper) / 2)  # torch.func knows this one


class _Noisy(ByChannel):
    facts: ClassVar[Facts] = Facts(
        family="stochastic",
        source="Gulcehre et al., 2016",
        formula="hard function, noise where it saturates",
        parameters="1",
        smooth=False,
        local="no",
        regularization="no",
        plottable=True,
    )
    undecayed_parameters = ("p",)
    _shown = ("alpha", "scale")

    def __init__(
        self,
        num_features: int = 1,
        *,
        groups: int | None = None,
        alpha: float = 1.15,
        scale: float = 0.5,
        dim: int = 1,
        inplace: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(num_features, dim, groups)
        if not scale >= 0:
            raise ValueError(f"scale must be a number ≥ 0, got {scale}")
        self.alpha = alpha
        self.scale = scale
        self.p = nn.Parameter(torch.empty(self.groups, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset the parameters."""
        nn.init.ones_(self.p)

    def activate(self, s: Tensor, dim: int) -> Tensor:
        hard, linear = self.functions(s)
        deviation = self.scale * (torch.sigmoid(self.along(self.p, s, dim) * (hard - linear)) - 0.5).square()
        size = torch.randn_like(s).abs() if self.training else math.sqrt(2 / math.pi)
        toward = torch.sign(s) * math.copysign(1.0, self.alpha - 1) if self.alpha != 1 else 0.0
        return self.alpha * hard + (1 - self.alpha) * linear + toward * deviation * size

    def functions(self, s: Tensor) -> tuple[Tensor, Tensor]:
        """h(s), which saturates, and u(s), its middle continued."""
        raise NotImplementedError


@register("noisy_hard_tanh")
class NoisyHardTanh(_Noisy):
    r"""A hard tanh, with noise where it saturates.

    .. math:: g(s) = \alpha h(s) + (1 - \alpha) u(s) + d(s) \, \sigma(s) \, |\varepsilon|

    with :math:`h(s) = \max\{-1, \min\{1, s\}\}`, :math:`u(s) = s`, normal :math:`\varepsilon`, the direction
    :math:`d = -\mathrm{sgn}(s) \, \mathrm{sgn}(1 - \alpha)` and the deviation
    :math:`\sigma = c \, (\delta(p (h - u)) - 1/2)^2`, which is 0 where the function does not saturate; p is
    learned and initialized to 1. In evaluation mode, :math:`|\varepsilon|` is its mean, :math:`\sqrt{2 /
    \pi}`.

    Args:
        alpha: the share of the hard function; above 1 the function bends back toward 0, and the noise points
            away from it. At 1 there is no noise.
        scale: c.
    """

    def functions(self, s: Tensor) -> tuple[Tensor, Tensor]:
        return functional.hardtanh(s), s


@register("noisy_hard_sigmoid")
class NoisyHardSigmoid(_Noisy):
    r"""A hard sigmoid, with noise where it saturates.

    As :class:`NoisyHardTanh` with :math:`u(s) = s / 4 + 1/2`, the sigmoid's tangent at 0, and
    :math:`h(s) = \max\{0, \min\{1, u(s)\}\}`.

    Args:
        alpha: the share of the hard function.
        scale: c.
    """

    def __init__(
        self,
        num_features: int = 1,
        *,
        groups: int | None = None,
        alpha: float = 1.1,
        scale: float = 0.15,
        dim: int = 1,
        inplace: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            num_features, groups=groups, alpha=alpha, scale=scale, dim=dim, device=device, dtype=dtype
        )

    def functions(self, s: Tensor) -> tuple[Tensor, Tensor]:
        linear = 0.25 * s + 0.5
        return linear.clamp(0, 1), linear
