r"""Kernels for the modules: small immutable descriptions, each with its formula in torch.

The formulas themselves are documented in :mod:`kafnets.reference.kernels`; :meth:`Kernel.reference`
gives the twin that a kernel is tested against. Activations come as ``(..., N)``, channels last,
and are compared with a dictionary ``(D,)``.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional

from kafnets import reference

Gamma = Tensor | float | None
"""A bandwidth: a number, a tensor of one value or of one a neuron, or None for kernels without."""


@dataclass(frozen=True)
class Kernel:
    """What all kernels share. Subclass it to add a kernel of your own."""

    positive_definite: ClassVar[bool] = True
    """Whether kernel matrices are positive semi-definite, as kernel ridge regression supposes."""
    unbounded: ClassVar[bool] = False
    """Whether values grow without bound, so that a sum of terms cannot be formed at infinity."""
    refusal_2d: ClassVar[str | None] = None
    """Why there is no two-dimensional form; None where there is one."""

    def reference(self, gamma: float | None) -> reference.Kernel:
        """The same kernel in the readable NumPy reference."""
        raise NotImplementedError

    def value(self, s: Tensor, d: Tensor, gamma: Gamma) -> Tensor:
        r""":math:`\kappa(s, d)`, broadcast."""
        raise NotImplementedError

    def value2d(self, s1: Tensor, s2: Tensor, d1: Tensor, d2: Tensor, gamma: Gamma) -> Tensor:
        """The two-dimensional kernel, broadcast: by default the product over the two axes."""
        return self.value(s1, d1, gamma) * self.value(s2, d2, gamma)

    def at_infinity(self, s: Tensor, alpha: Tensor, dictionary: Tensor) -> Tensor:
        """The expansion's limit at infinite ``s``; only unbounded kernels are asked.

        ``s`` holds 1 where the activation is finite, and what is returned there is not used.
        """
        raise NotImplementedError

    def at_infinity2d(self, s1: Tensor, s2: Tensor, alpha: Tensor, dictionary: Tensor) -> Tensor:
        """The same in two dimensions, where one value of the pair or both are infinite."""
        raise NotImplementedError


@dataclass(frozen=True)
class Gaussian(Kernel):
    r""":math:`\kappa(s, d) = \exp(-\gamma (s - d)^2)`.

    Args:
        gamma: a positive number. None takes the paper's rule of thumb, :math:`1 / (6 \Delta^2)` on
            an equispaced dictionary with spacing :math:`\Delta`, times :math:`\sqrt 2` in two
            dimensions.
        learn_gamma: adapt gamma by gradient descent, starting from the value above. True or
            ``"shared"``: one for the whole layer; ``"neuron"``: one a neuron (a pair in two
            dimensions). It is stored as its logarithm and so stays positive. The paper tried this
            and saw no gain.
    """

    gamma: float | None = None
    learn_gamma: bool | Literal["shared", "neuron"] = False

    def __post_init__(self) -> None:
        if self.gamma is not None and not (math.isfinite(self.gamma) and self.gamma > 0):
            raise ValueError(f"gamma must be a positive finite number or None, got {self.gamma}")
        if self.learn_gamma not in (True, False, "shared", "neuron"):
            raise ValueError(
                f"learn_gamma must be True, False, 'shared' or 'neuron', got {self.learn_gamma!r}"
            )

    def reference(self, gamma: float | None) -> reference.Gaussian:
        assert gamma is not None
        return reference.Gaussian(gamma)

    def value(self, s: Tensor, d: Tensor, gamma: Gamma) -> Tensor:
        assert gamma is not None
        difference = s - d
        # Beyond this distance the exponential is exactly 0. Stopping there keeps infinity out of
        # the derivatives, where it would meet that 0 and give NaN.
        vanished = 750.0 if difference.dtype == torch.float64 else 110.0
        if isinstance(gamma, Tensor):
            reach: Tensor | float = (vanished / gamma.detach()).sqrt()
        else:
            reach = math.sqrt(vanished / gamma)
        difference = torch.where(difference.abs() > reach, reach, difference)
        return torch.exp(-gamma * difference.square())


@dataclass(frozen=True)
class Polynomial(Kernel):
    r""":math:`\kappa(s, d) = (1 + s d)^p` with p = ``degree``.

    However long its dictionary, the expansion is one polynomial of degree p, and grows like one: no
    locality, and large values for large activations.
    """

    unbounded: ClassVar[bool] = True

    degree: int = 2

    def __post_init__(self) -> None:
        if not isinstance(self.degree, int) or self.degree < 1:
            raise ValueError(f"degree must be a whole number from 1, got {self.degree!r}")

    def reference(self, gamma: float | None) -> reference.Polynomial:
        return reference.Polynomial(self.degree)

    def value(self, s: Tensor, d: Tensor, gamma: Gamma) -> Tensor:
        return (1.0 + s * d) ** self.degree

    def value2d(self, s1: Tensor, s2: Tensor, d1: Tensor, d2: Tensor, gamma: Gamma) -> Tensor:
        return (1.0 + s1 * d1 + s2 * d2) ** self.degree

    def at_infinity(self, s: Tensor, alpha: Tensor, dictionary: Tensor) -> Tensor:
        p = self.degree
        powers = [math.comb(p, k) * (alpha * dictionary**k).sum(-1) for k in range(p + 1)]
        return _leading_term(powers, s)

    def at_infinity2d(self, s1: Tensor, s2: Tensor, alpha: Tensor, dictionary: Tensor) -> Tensor:
        # As a polynomial in the infinite value whose coefficients depend on the finite one. With two
        # infinite values the limit depends on the direction: there is none.
        p = self.degree
        limits = []
        for infinite, finite, mixing in ((s1, s2, alpha), (s2, s1, alpha.transpose(-1, -2))):
            inner = 1.0 + torch.where(finite.isinf(), 0.0, finite).unsqueeze(-1) * dictionary
            weights = [(mixing * dictionary[:, None] ** k).sum(-2) for k in range(p + 1)]
            powers = [math.comb(p, k) * (weights[k] * inner ** (p - k)).sum(-1) for k in range(p + 1)]
            limits.append(_leading_term(powers, torch.where(infinite.isinf(), infinite, 1.0)))
        both = s1.isinf() & s2.isinf()
        return torch.where(both, math.nan, torch.where(s1.isinf(), limits[0], limits[1]))


@dataclass(frozen=True)
class ReLUKernel(Kernel):
    r""":math:`\kappa(s, d) = \max(0, s - d)`: the expansion is piecewise linear with its kinks on the
    dictionary, 0 to its left and a straight line to its right.

    Not the activation ``torch.nn.ReLU``. Not positive semi-definite, so outside the paper's
    definition of a kernel; the authors' code offers it.
    """

    positive_definite: ClassVar[bool] = False
    unbounded: ClassVar[bool] = True
    refusal_2d: ClassVar[str | None] = (
        "it is a function of the difference s - d, which in two dimensions is a vector and has no "
        "sign to cut off"
    )

    def reference(self, gamma: float | None) -> reference.ReLUKernel:
        return reference.ReLUKernel()

    def value(self, s: Tensor, d: Tensor, gamma: Gamma) -> Tensor:
        return functional.relu(s - d)

    def at_infinity(self, s: Tensor, alpha: Tensor, dictionary: Tensor) -> Tensor:
        return _right_asymptote(s, alpha, dictionary)


@dataclass(frozen=True)
class Softplus(Kernel):
    r""":math:`\kappa(s, d) = \log(1 + \exp(s - d))`: the smooth sibling of :class:`ReLUKernel`."""

    positive_definite: ClassVar[bool] = False
    unbounded: ClassVar[bool] = True
    refusal_2d: ClassVar[str | None] = ReLUKernel.refusal_2d

    def reference(self, gamma: float | None) -> reference.Softplus:
        return reference.Softplus()

    def value(self, s: Tensor, d: Tensor, gamma: Gamma) -> Tensor:
        # logaddexp is right to the last digit everywhere; functional.softplus switches to the
        # identity at 20, which costs digits in float64.
        difference = s - d
        return torch.logaddexp(difference, torch.zeros_like(difference))

    def at_infinity(self, s: Tensor, alpha: Tensor, dictionary: Tensor) -> Tensor:
        return _right_asymptote(s, alpha, dictionary)


@dataclass(frozen=True)
class Periodic(Kernel):
    r""":math:`\kappa(s, d) = \exp(-2 \sin^2(\pi (s - d) / T) / \ell^2)`.

    The paper names periodic kernels as a possible extension without a formula; this is the usual
    one. An infinite activation has no phase, so the result there is NaN, as for ``torch.sin``.

    Args:
        period: T, the distance after which the function repeats.
        length_scale: :math:`\ell`, how far an element reaches within one period.
    """

    period: float = 6.0
    length_scale: float = 1.0

    def __post_init__(self) -> None:
        for name in ("period", "length_scale"):
            number = getattr(self, name)
            if not (math.isfinite(number) and number > 0):
                raise ValueError(f"{name} must be a positive finite number, got {number}")

    def reference(self, gamma: float | None) -> reference.Periodic:
        return reference.Periodic(self.period, self.length_scale)

    def value(self, s: Tensor, d: Tensor, gamma: Gamma) -> Tensor:
        phase = (math.pi / self.period) * (s - d)
        return torch.exp((-2.0 / self.length_scale**2) * torch.sin(phase).square())


def _leading_term(powers: list[Tensor], s: Tensor) -> Tensor:
    """The limit of ``sum(powers[k] * s**k)`` at infinite s: its highest term that is not 0.

    Terms that are not used are formed with s = 1, since infinity times their 0 would be NaN, in the
    value or in the derivative.
    """
    limit = powers[0] + torch.zeros_like(s)
    found = torch.zeros_like(s, dtype=torch.bool)
    for k in range(len(powers) - 1, 0, -1):
        leading = ~found & (powers[k] != 0)
        limit = torch.where(leading, powers[k] * torch.where(leading, s, 1.0) ** k, limit)
        found = found | leading
    return limit


def _right_asymptote(s: Tensor, alpha: Tensor, dictionary: Tensor) -> Tensor:
    """``sum(alpha * (s - dictionary))`` at plus infinity, 0 at minus infinity."""
    slope = alpha.sum(-1)
    offset = -(alpha * dictionary).sum(-1)
    rising = _leading_term([offset, slope], torch.where(s > 0, s, 1.0))
    return torch.where(s > 0, rising, 0.0)
