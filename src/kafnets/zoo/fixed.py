"""Activations without parameters: torch's own, under the paper's names.

All take the number of features and the channel axis like the others but do not need them. Those that can
overwrite their input do so with ``inplace=True``.
"""

from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional

from kafnets.registry import Facts, register


def _facts(source: str, formula: str, *, smooth: bool, alpha_dropout: bool = False) -> Facts:
    return Facts(
        family="fixed",
        source=source,
        formula=formula,
        smooth=smooth,
        plottable=True,
        alpha_dropout=alpha_dropout,
    )


@register("sigmoid")
class Sigmoid(nn.Sigmoid):
    r"""The logistic function, :math:`g(s) = 1 / (1 + e^{-s})`."""

    facts: ClassVar[Facts] = _facts("Cybenko, 1989", "1 / (1 + exp(-s))", smooth=True)

    def __init__(self, num_features: int | None = None, *, dim: int = 1, inplace: bool = False) -> None:
        super().__init__()


@register("tanh")
class Tanh(nn.Tanh):
    r"""The hyperbolic tangent, :math:`g(s) = (e^s - e^{-s}) / (e^s + e^{-s})`."""

    facts: ClassVar[Facts] = _facts("Cybenko, 1989", "tanh(s)", smooth=True)

    def __init__(self, num_features: int | None = None, *, dim: int = 1, inplace: bool = False) -> None:
        super().__init__()


@register("relu")
class ReLU(nn.ReLU):
    r"""The rectifier, :math:`g(s) = \max\{0, s\}`."""

    facts: ClassVar[Facts] = _facts("Glorot and Bengio, 2010", "max(0, s)", smooth=False)

    def __init__(self, num_features: int | None = None, *, dim: int = 1, inplace: bool = False) -> None:
        super().__init__(inplace)


@register("softplus")
class Softplus(nn.Softplus):
    r"""A smooth rectifier, :math:`g(s) = \log(1 + e^s)`."""

    facts: ClassVar[Facts] = _facts("Glorot et al., 2011", "log(1 + exp(s))", smooth=True)

    def __init__(self, num_features: int | None = None, *, dim: int = 1, inplace: bool = False) -> None:
        # torch's own threshold of 20, beyond which it returns s, is right for float32 only.
        super().__init__(threshold=40.0)


@register("leaky_relu")
class LeakyReLU(nn.LeakyReLU):
    r"""A leaky rectifier, :math:`g(s) = \max\{0, s\} + \alpha \min\{0, s\}`.

    Args:
        num_features: not needed.
        negative_slope: the fixed :math:`\alpha`.
        dim: not needed.
        inplace: whether it may overwrite its input.
    """

    facts: ClassVar[Facts] = _facts("Maas et al., 2013", "max(0, s) + α min(0, s)", smooth=False)

    def __init__(
        self,
        num_features: int | None = None,
        *,
        negative_slope: float = 0.01,
        dim: int = 1,
        inplace: bool = False,
    ) -> None:
        super().__init__(negative_slope, inplace)


@register("elu")
class ELU(nn.ELU):
    r"""The exponential linear unit: s from 0 on, :math:`\alpha (e^s - 1)` below.

    Smooth for :math:`\alpha = 1` only.

    Args:
        num_features: not needed.
        alpha: minus the value at which it saturates.
        dim: not needed.
        inplace: whether it may overwrite its input.
    """

    facts: ClassVar[Facts] = _facts("Clevert et al., 2016", "s, or α (exp(s) - 1) below 0", smooth=True)

    def __init__(
        self,
        num_features: int | None = None,
        *,
        alpha: float = 1.0,
        dim: int = 1,
        inplace: bool = False,
    ) -> None:
        super().__init__(alpha, inplace)


@register("selu")
class SELU(nn.SELU):
    r"""The scaled ELU of self-normalizing networks, :math:`\lambda \, \mathrm{ELU}_\alpha(s)`.

    With :math:`\lambda \approx 1.0507` and :math:`\alpha \approx 1.6733`, which the paper swaps: with these
    values, mean 0 and variance 1 are preserved. Use it with alpha dropout, as the builders do.
    """

    facts: ClassVar[Facts] = _facts("Klambauer et al., 2017", "λ ELU(s)", smooth=False, alpha_dropout=True)

    def __init__(self, num_features: int | None = None, *, dim: int = 1, inplace: bool = False) -> None:
        super().__init__(inplace)


@register("swish")
class Swish(nn.SiLU):
    r"""The input times its sigmoid, :math:`g(s) = s \, \delta(s)` with the sigmoid :math:`\delta`."""

    facts: ClassVar[Facts] = _facts("Ramachandran et al., 2017", "s sigmoid(s)", smooth=True)

    def __init__(self, num_features: int | None = None, *, dim: int = 1, inplace: bool = False) -> None:
        super().__init__(inplace)


@register("gelu")
class GELU(nn.GELU):
    r"""The input times the normal distribution function, :math:`g(s) = s \, \Phi(s)`.

    The exact function, not the approximation by tanh.
    """

    facts: ClassVar[Facts] = _facts("Hendrycks and Gimpel, 2016", "s Φ(s)", smooth=True)

    def __init__(self, num_features: int | None = None, *, dim: int = 1, inplace: bool = False) -> None:
        super().__init__()


@register("mish")
class Mish(nn.Mish):
    r"""A smooth gate, :math:`g(s) = s \tanh(\log(1 + e^s))`."""

    facts: ClassVar[Facts] = _facts("Misra, 2019", "s tanh(log(1 + exp(s)))", smooth=True)

    def __init__(self, num_features: int | None = None, *, dim: int = 1, inplace: bool = False) -> None:
        super().__init__(inplace)


@register("squared_relu")
class SquaredReLU(nn.Module):
    r"""The square of the rectifier, :math:`g(s) = \max\{0, s\}^2`."""

    facts: ClassVar[Facts] = _facts("So et al., 2021", "max(0, s)²", smooth=True)

    def __init__(self, num_features: int | None = None, *, dim: int = 1, inplace: bool = False) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return functional.relu(input).square()
