"""Layers in which a neuron is a function of several linear maps.

Each contains its linear map, by default an ``nn.Linear``; for convolutions, give a function of the numbers of
channels, ``linear=functools.partial(nn.Conv2d, kernel_size=5, padding=2)``.
"""

import math
from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.fx import Proxy
from torch.nn import functional

from kafnets.checks import check_integer
from kafnets.nn.activation import leaf_of_trace
from kafnets.nn.resettable import Resettable
from kafnets.registry import Facts, register

Linear = Callable[[int, int], nn.Module]


def _facts(source: str, formula: str, parameters: str, *, smooth: bool) -> Facts:
    return Facts(
        family="maxout",
        source=source,
        formula=formula,
        parameters=parameters,
        smooth=smooth,
        local="no",
        regularization="yes",
        plottable=False,
        hyperparameter="pieces",
        owns_linear=True,
    )


class _Pieces(Resettable):
    """K linear maps per neuron, and what becomes of them."""

    def __init__(
        self, in_features: int, num_features: int, *, pieces: int = 3, linear: Linear = nn.Linear
    ) -> None:
        super().__init__()
        for name, value in (("in_features", in_features), ("num_features", num_features), ("pieces", pieces)):
            check_integer(name, value)
        self.in_features = in_features
        self.num_features = num_features
        self.pieces = pieces
        self.linear = linear(in_features, num_features * pieces)

    @property
    def out_features(self) -> int:
        """The number of channels of the output."""
        return self.num_features

    @property
    def dim(self) -> int:
        """The channel axis: the last one behind ``nn.Linear``, that before the positions of convolutions."""
        for kind, axis in ((nn.Linear, -1), (nn.Conv1d, -2), (nn.Conv2d, -3), (nn.Conv3d, -4)):
            if isinstance(self.linear, kind):
                return axis
        return 1

    def forward(self, input: Tensor) -> Tensor:
        if type(input) is not Tensor and isinstance(input, Proxy):
            return leaf_of_trace(self, input)
        s = self.linear(input)
        z = s.to(torch.promote_types(s.dtype, torch.float32)).movedim(self.dim, -1)
        result = self.reduce(z.unflatten(-1, (self.num_features, self.pieces)))
        return result.movedim(-1, self.dim).to(s.dtype)

    def reduce(self, z: Tensor) -> Tensor:
        """From (..., N, K) to (..., N), in float32 or float64."""
        raise NotImplementedError

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.num_features}, pieces={self.pieces}"


@register("maxout")
class Maxout(_Pieces):
    r"""The largest of K linear maps, :math:`g(\mathbf{h}) = \max_i \{\mathbf{w}_i^T \mathbf{h} + b_i\}`.

    Args:
        in_features: the number of inputs.
        num_features: the number of neurons.
        pieces: K. (The paper says 5; its Table 2 counts the parameters of 3.)
        linear: creates the linear map from the numbers of inputs and outputs.
    """

    facts: ClassVar[Facts] = _facts(
        "Goodfellow et al., 2013", "max_i (w_i·h + b_i)", "pieces * (in_features + 1)", smooth=False
    )

    def reduce(self, z: Tensor) -> Tensor:
        return z.max(-1).values  # the whole gradient to one of several equals, as for max pooling


@register("soft_maxout")
class SoftMaxout(_Pieces):
    r"""A smooth maximum, :math:`g(\mathbf{h}) = \log \sum_i \exp(\mathbf{w}_i^T \mathbf{h} + b_i)`.

    Args:
        in_features: the number of inputs.
        num_features: the number of neurons.
        pieces: K.
        linear: creates the linear map from the numbers of inputs and outputs.
    """

    facts: ClassVar[Facts] = _facts(
        "Zhang et al., 2014", "log Σ_i exp(w_i·h + b_i)", "pieces * (in_features + 1)", smooth=True
    )

    def reduce(self, z: Tensor) -> Tensor:
        return torch.logsumexp(z, -1)


@register("lp_maxout")
class LpMaxout(_Pieces):
    r"""A norm of K linear maps, :math:`g(\mathbf{h}) = (\sum_i |\mathbf{w}_i^T \mathbf{h} + b_i|^p)^{1/p}`.

    Args:
        in_features: the number of inputs.
        num_features: the number of neurons.
        pieces: K.
        p: a fixed positive integer. For 2 or more it is smooth except where all maps are 0.
        linear: creates the linear map from the numbers of inputs and outputs.
    """

    facts: ClassVar[Facts] = _facts(
        "Zhang et al., 2014", "(Σ_i |w_i·h + b_i|^p)^(1/p)", "pieces * (in_features + 1)", smooth=True
    )

    def __init__(
        self, in_features: int, num_features: int, *, pieces: int = 3, p: int = 2, linear: Linear = nn.Linear
    ) -> None:
        super().__init__(in_features, num_features, pieces=pieces, linear=linear)
        check_integer("p", p)
        self.p = p

    def reduce(self, z: Tensor) -> Tensor:
        if self.p == 2:  # cut off because the root has no derivative at 0
            return z.square().sum(-1).clamp_min(torch.finfo(z.dtype).tiny).sqrt()
        scale = _scale(z.abs())  # so that high powers do not overflow
        return scale * torch.linalg.vector_norm(z / scale[..., None], self.p, -1)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, p={self.p}"


@register("lp_unit")
class LpUnit(_Pieces):
    r"""A learned norm with learned centers: :math:`(\frac{1}{K} \sum_i |s_i - c_i|^p)^{1/p}`.

    :math:`s_i = \mathbf{w}_i^T \mathbf{h} + b_i`. The learned parameter is :math:`\rho`, one per neuron, with
    :math:`p = 1 + \log(1 + e^\rho) > 1`, so that it is a norm. For large p the output tends to the largest
    :math:`|s_i - c_i|`. Centers are initialized to 0 and p to 2; weight decay does not apply to them.

    Args:
        in_features: the number of inputs.
        num_features: the number of neurons.
        pieces: K.
        linear: creates the linear map from the numbers of inputs and outputs.

    Attributes:
        centers: a parameter ``(num_features, pieces)``.
        rho: a parameter ``(num_features,)``.
    """

    facts: ClassVar[Facts] = _facts(
        "Gulcehre et al., 2013",
        "(mean_i |w_i·h + b_i - c_i|^p)^(1/p)",
        "pieces * (in_features + 1) + pieces + 1",
        smooth=True,
    )
    undecayed_parameters = ("centers", "rho")

    def __init__(
        self, in_features: int, num_features: int, *, pieces: int = 3, linear: Linear = nn.Linear
    ) -> None:
        super().__init__(in_features, num_features, pieces=pieces, linear=linear)
        like = next(self.linear.parameters())
        self.centers = nn.Parameter(torch.empty(num_features, pieces, device=like.device, dtype=like.dtype))
        self.rho = nn.Parameter(torch.empty(num_features, device=like.device, dtype=like.dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset the parameters except the linear map."""
        nn.init.zeros_(self.centers)
        nn.init.constant_(self.rho, math.log(math.e - 1))

    @property
    def p(self) -> Tensor:
        """The norm of each neuron, from 1."""
        return 1 + functional.softplus(self.rho)

    def reduce(self, z: Tensor) -> Tensor:
        size = (z - self.centers).abs()
        scale, p = _scale(size), 1 + functional.softplus(self.rho.to(z.dtype))
        # By logarithms, cut off where |s_i - c_i| is nothing beside the largest: 0^p has no usable
        # derivative.
        shares = (size / scale[..., None]).clamp_min(torch.finfo(z.dtype).tiny)
        log_mean = torch.logsumexp(p[:, None] * torch.log(shares), -1) - math.log(self.pieces)
        return scale * torch.exp(log_mean / p)


def _scale(size: Tensor) -> Tensor:
    """The largest of each group, or 1. A norm is the same whatever it is scaled by, so this is a constant."""
    largest = size.detach().amax(-1)
    return torch.where(largest > 0, largest, 1)
