"""Activations with a fixed, small number of parameters per neuron."""

from functools import partial
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from kafnets.nn.activation import ByChannel
from kafnets.ops import apply
from kafnets.ops.dispatch import needs_plain_formula
from kafnets.ops.formula import Formula
from kafnets.ops.hinges import Hinges
from kafnets.registry import Facts, register

_facts = partial(Facts, "parametric", regularization="no", plottable=True)


class Parametric(ByChannel):
    """Activations with one number per function for each parameter, initialized to known values."""

    first_values: ClassVar[dict[str, float]]
    """Initial values by the name of the parameter."""

    def __init__(
        self,
        num_features: int = 1,
        *,
        groups: int | None = None,
        dim: int = 1,
        inplace: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(num_features, dim, groups)
        for name in self.first_values:
            setattr(self, name, nn.Parameter(torch.empty(self.groups, device=device, dtype=dtype)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset the parameters."""
        for name, value in self.first_values.items():
            nn.init.constant_(getattr(self, name), value)


@register("generalized_tanh")
class GeneralizedTanh(ByChannel):
    r"""Learned amplitude and slope, :math:`g(s) = a (1 - e^{-bs}) / (1 + e^{-bs}) = a \tanh(bs/2)`.

    a and b stay positive because their logarithms are learned. They are initialized randomly, as in the
    paper, around a = 1, b = 2, which is tanh: a uniformly from 0.5 to 1.5, b from 1 to 3.

    Args:
        num_features: N, the number of channels along ``dim``; 1: one function for any number of them.
    """

    facts: ClassVar[Facts] = _facts("Chen and Chang, 1996", "a tanh(b s / 2)", "2", smooth=True, local="no")
    undecayed_parameters = ("log_a", "log_b")

    def __init__(
        self,
        num_features: int = 1,
        *,
        groups: int | None = None,
        dim: int = 1,
        inplace: bool = False,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(num_features, dim, groups)
        self.log_a = nn.Parameter(torch.empty(self.groups, device=device, dtype=dtype))
        self.log_b = nn.Parameter(torch.empty(self.groups, device=device, dtype=dtype))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Reset the parameters."""
        with torch.no_grad():
            self.log_a.uniform_(0.5, 1.5, generator=generator).log_()
            self.log_b.uniform_(1.0, 3.0, generator=generator).log_()

    @property
    def a(self) -> Tensor:
        """The amplitudes."""
        return self.log_a.exp()

    @property
    def b(self) -> Tensor:
        """The steepness: the slope at 0 is a b / 2."""
        return self.log_b.exp()

    def activate(self, s: Tensor, dim: int) -> Tensor:
        return self.along(self.log_a, s, dim).exp() * torch.tanh(
            s * (self.along(self.log_b, s, dim).exp() / 2)
        )


@register("prelu")
class PReLU(ByChannel):
    r"""A leaky rectifier with a learned slope, :math:`g(s) = \max\{0, s\} + \alpha \min\{0, s\}`.

    torch's function, with a choice of the channel axis. Weight decay does not apply: it would pull the slope
    toward 0, a ReLU.

    Args:
        init: the initial :math:`\alpha`.
    """

    facts: ClassVar[Facts] = _facts(
        "He et al., 2015", "max(0, s) + α min(0, s)", "1", smooth=False, local="partially"
    )
    undecayed_parameters = ("weight",)

    def __init__(
        self,
        num_features: int = 1,
        *,
        groups: int | None = None,
        init: float = 0.25,
        dim: int = 1,
        inplace: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(num_features, dim, groups)
        self.init = init
        self.weight = nn.Parameter(torch.empty(self.groups, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset the parameters."""
        nn.init.constant_(self.weight, self.init)

    def activate(self, s: Tensor, dim: int) -> Tensor:
        if needs_plain_formula(s):  # torch's own is not right under nested transforms
            return torch.where(s > 0, s, s * self.along(self.weight, s, dim))
        weight = self.weight.to(s.dtype)
        if s.dim() == 1:
            return functional.prelu(s[None], weight)[0]
        if dim in (1, 1 - s.dim()):
            return functional.prelu(s, weight)
        return functional.prelu(s.movedim(dim, 1), weight).movedim(1, dim)


@register("pelu")
class PELU(Parametric):
    r"""A parametric ELU: :math:`(\alpha / \beta) s` from 0 on, :math:`\alpha (e^{s / \beta} - 1)` below.

    :math:`\alpha` and :math:`\beta` stay positive because their logarithms are learned (the original clips
    them at 0.1). They are initialized to 1, an ELU, as in the original. Weight decay applies, since small
    weights could otherwise be compensated by a large :math:`\alpha`; for logarithms, it pulls them toward 1.

    Args:
        num_features: N, the number of channels along ``dim``; 1: one function for any number of them.
    """

    facts: ClassVar[Facts] = _facts(
        "Trottier et al., 2016",
        "α/β s, or α (exp(s/β) - 1) below 0",
        "2",
        smooth=True,
        local="no",
        regularization="l2",
    )
    l2_parameters = ("log_alpha", "log_beta")
    first_values: ClassVar[dict[str, float]] = {"log_alpha": 0.0, "log_beta": 0.0}
    log_alpha: nn.Parameter
    log_beta: nn.Parameter

    @property
    def alpha(self) -> Tensor:
        """Minus the value at which it saturates."""
        return self.log_alpha.exp()

    @property
    def beta(self) -> Tensor:
        """How quickly it saturates."""
        return self.log_beta.exp()

    def activate(self, s: Tensor, dim: int) -> Tensor:
        return self.along(self.log_alpha, s, dim).exp() * functional.elu(
            s / self.along(self.log_beta, s, dim).exp()
        )


@register("srelu")
class SReLU(Parametric):
    r"""Three straight lines, the identity in the middle.

    .. math:: g(s) = s + (a^r - 1) \max\{0, s - t^r\} - (a^l - 1) \max\{0, t^l - s\}

    These are the paper's three cases as one sum, which stays continuous even if training moves :math:`t^l`
    past :math:`t^r`, where the cases contradict each other. Initialized as a leaky ReLU, :math:`t^l = 0`,
    :math:`a^l = 0.2`, with :math:`a^r = 1` and :math:`t^r = 1`. (The original sets :math:`t^r` from the data
    after some epochs in which these are frozen: ``module.t_right.data.fill_(...)`` and ``requires_grad_`` do
    the same.) Weight decay does not apply.

    Args:
        num_features: N, the number of channels along ``dim``; 1: one function for any number of them.
    """

    facts: ClassVar[Facts] = _facts(
        "Jin et al., 2016",
        "s between t_l and t_r, slopes a_l, a_r beyond",
        "4",
        smooth=False,
        local="partially",
    )
    undecayed_parameters = ("t_right", "a_right", "t_left", "a_left")
    first_values: ClassVar[dict[str, float]] = {"t_right": 1.0, "a_right": 1.0, "t_left": 0.0, "a_left": 0.2}
    t_right: nn.Parameter
    a_right: nn.Parameter
    t_left: nn.Parameter
    a_left: nn.Parameter

    def exact_formula(self) -> tuple[Formula, Tensor]:
        return self._hinges(self.a_right.dtype)

    def activate(self, s: Tensor, dim: int) -> Tensor:
        formula, hinges = self._hinges(s.dtype)
        return apply(formula, s, hinges, dim)

    def _hinges(self, dtype: torch.dtype) -> tuple[Formula, Tensor]:
        slopes = (self.a_right.to(dtype) - 1, 1 - self.a_left.to(dtype))
        places = (self.t_right.to(dtype), self.t_left.to(dtype))
        return Hinges(to_the_right=1, rectified=False), torch.stack([*slopes, *places], 1)


@register("beta_swish")
class BetaSwish(Parametric):
    r"""Swish with a learned gate, :math:`g(s) = s \, \delta(\beta s)` with the sigmoid :math:`\delta`.

    Initialized as Swish, :math:`\beta = 1`. Weight decay does not apply: it would pull the function toward
    the line s / 2.

    Args:
        num_features: N, the number of channels along ``dim``; 1: one function for any number of them.
    """

    facts: ClassVar[Facts] = _facts(
        "Ramachandran et al., 2017", "s sigmoid(β s)", "1", smooth=True, local="no"
    )
    undecayed_parameters = ("beta",)
    first_values: ClassVar[dict[str, float]] = {"beta": 1.0}
    beta: nn.Parameter

    def activate(self, s: Tensor, dim: int) -> Tensor:
        return s * torch.sigmoid(s * self.along(self.beta, s, dim))
