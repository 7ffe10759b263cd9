r"""Kernels: the contribution of one dictionary element to a KAF.

A kernel is a small immutable description with its formula over any array library, so that one class serves
torch, JAX, TensorFlow and NumPy alike. To define a custom kernel, subclass :class:`Kernel` and write
:meth:`Kernel.value` with the functions of ``xp``, which has NumPy's names (``xp.exp``, ``xp.where``, ...)::

    @dataclass(frozen=True)
    class Laplacian(kafnets.Kernel):
        scale: float = 1.0

        def value(self, xp, s, d):
            return xp.exp(-xp.abs(s - d) / self.scale)

It then works in every framework. If the derivative is known, also define :meth:`Kernel.slope`; otherwise it
is computed by automatic differentiation. Arguments broadcast against each other.
"""

import copy
import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

from kafnets.config import Configurable

Array = Any
"""An array of whatever library ``xp`` stands for."""


@dataclass(frozen=True)
class Kernel(Configurable):
    """Base class of kernels. Subclass it to define a custom kernel; its ``value`` is the formula.

    >>> import dataclasses
    >>> @dataclasses.dataclass(frozen=True)
    ... class Laplacian(kafnets.Kernel):
    ...     def value(self, xp, s, d):
    ...         return xp.exp(-xp.abs(s - d))
    >>> kafnets.KAF(4, kernel=Laplacian())(torch.zeros(3, 4)).shape
    torch.Size([3, 4])

    If a kernel is unbounded, inputs must be finite: a sum of infinite terms is NaN.
    """

    positive_definite: ClassVar[bool] = True
    """Whether kernel matrices are positive semi-definite, as kernel ridge regression supposes."""
    refusal_2d: ClassVar[str | None] = None
    """Why there is no two-dimensional form; None where there is one."""

    def fitted(self, spacing: float | None, dimensions: int) -> Self:
        """The kernel with every choice made that depends on the dictionary.

        Args:
            spacing: of the dictionary; None if it is not equispaced.
            dimensions: 1 for a KAF, 2 for a 2D-KAF.
        """
        return self

    def value(self, xp: Any, s: Array, d: Array) -> Array:
        r""":math:`\kappa(s, d)`."""
        raise NotImplementedError

    def slope(self, xp: Any, s: Array, d: Array) -> Array:
        r""":math:`\partial \kappa(s, d) / \partial s`; by default computed by automatic differentiation."""
        return xp.slope(lambda moved: self.value(xp, moved, d), s)

    @property
    def separable(self) -> bool:
        """Whether the two-dimensional form is the product of two one-dimensional ones."""
        return type(self).value2d is Kernel.value2d

    def value2d(self, xp: Any, s1: Array, s2: Array, d1: Array, d2: Array) -> Array:
        """The two-dimensional kernel: by default the product over the two axes."""
        return self.value(xp, s1, d1) * self.value(xp, s2, d2)

    def slopes2d(self, xp: Any, s1: Array, s2: Array, d1: Array, d2: Array) -> tuple[Array, Array]:
        """Its derivatives by ``s1`` and by ``s2``."""
        if self.separable:
            first, second = self.value(xp, s1, d1), self.value(xp, s2, d2)
            return self.slope(xp, s1, d1) * second, first * self.slope(xp, s2, d2)
        return (
            xp.slope(lambda moved: self.value2d(xp, moved, s2, d1, d2), s1),
            xp.slope(lambda moved: self.value2d(xp, s1, moved, d1, d2), s2),
        )


@dataclass(frozen=True)
class Gaussian(Kernel):
    r""":math:`\kappa(s, d) = \exp(-\gamma (s - d)^2)`; in two dimensions :math:`\exp(-\gamma \|s - d\|^2)`.

    >>> kafnets.KAF(64, kernel=kafnets.Gaussian(gamma=2.0)).gamma
    2.0

    Args:
        gamma: a positive number. None: the paper's rule of thumb, :math:`1 / (6 \Delta^2)` on
            an equispaced dictionary with spacing :math:`\Delta`, times :math:`\sqrt 2` in two
            dimensions.
        learn_gamma: adapt gamma by gradient descent, starting from the value above. True or
            ``"shared"``: one for the whole layer; ``"neuron"``: one per neuron (per pair in two
            dimensions). Its logarithm is stored, so that it stays positive. The paper tried this and saw no
            gain.
        divisor: the 6 in the rule of thumb. The authors' published code has 8.
    """

    gamma: float | None = None
    learn_gamma: bool | Literal["shared", "neuron"] = False
    divisor: float = 6.0

    FAR: ClassVar[float] = 1e18
    """Differences beyond it contribute nothing; larger ones would make infinity of their square."""

    def __post_init__(self) -> None:
        if self.gamma is not None and not (math.isfinite(self.gamma) and self.gamma > 0):
            raise ValueError(f"gamma must be a positive finite number or None, got {self.gamma}")
        if self.learn_gamma not in (True, False, "shared", "neuron"):
            raise ValueError(
                f"learn_gamma must be True, False, 'shared' or 'neuron', got {self.learn_gamma!r}"
            )
        if not (math.isfinite(self.divisor) and self.divisor > 0):
            raise ValueError(f"divisor must be a positive finite number, got {self.divisor}")

    def fitted(self, spacing: float | None, dimensions: int) -> Self:
        """With the rule of thumb applied where no gamma is given."""
        if self.gamma is not None:
            return replace(self, gamma=float(self.gamma), divisor=Gaussian.divisor)
        if spacing is None:
            raise ValueError(
                "dictionary is not equispaced, so the rule of thumb for gamma does not apply: "
                "give an explicit gamma, for example kernel=Gaussian(gamma=1.0)"
            )
        gamma = (math.sqrt(2.0) if dimensions == 2 else 1.0) / (self.divisor * spacing**2)
        return replace(self, gamma=gamma, divisor=Gaussian.divisor)

    def with_gamma(self, gamma: Array) -> Self:
        """The kernel with an array for its bandwidth, one that is being learned."""
        learning = copy.copy(self)
        object.__setattr__(learning, "gamma", gamma)
        return learning

    def _difference(self, xp: Any, s: Array, d: Array) -> Array:
        return xp.clip(s - d, -self.FAR, self.FAR)

    def value(self, xp: Any, s: Array, d: Array) -> Array:
        difference = self._difference(xp, s, d)
        return xp.exp(-self.gamma * (difference * difference))  # type: ignore[operator]

    def slope(self, xp: Any, s: Array, d: Array) -> Array:
        difference = self._difference(xp, s, d)
        term = difference * xp.exp(-self.gamma * (difference * difference))  # type: ignore[operator]
        return -2.0 * self.gamma * term  # type: ignore[operator]

    def by_gamma(self, xp: Any, s: Array, d: Array) -> Array:
        r""":math:`\partial \kappa(s, d) / \partial \gamma`."""
        square = self._difference(xp, s, d) ** 2
        return -square * xp.exp(-self.gamma * square)  # type: ignore[operator]

    def slope_by_gamma(self, xp: Any, s: Array, d: Array) -> Array:
        r""":math:`\partial^2 \kappa(s, d) / \partial s \partial \gamma`."""
        difference = self._difference(xp, s, d)
        square = difference * difference
        return -2.0 * difference * (1.0 - self.gamma * square) * xp.exp(-self.gamma * square)  # type: ignore[operator]


@dataclass(frozen=True)
class Polynomial(Kernel):
    r""":math:`\kappa(s, d) = (1 + s d)^p` with p = ``degree``.

    For any size of the dictionary, the expansion is a polynomial of degree p: it is not local, and its values
    are large for large inputs.

    >>> kafnets.KAF(4, kernel=kafnets.Polynomial(2))(torch.zeros(3, 4)).shape
    torch.Size([3, 4])
    """

    degree: int = 2

    def __post_init__(self) -> None:
        if not isinstance(self.degree, int) or self.degree < 1:
            raise ValueError(f"degree must be an integer ≥ 1, got {self.degree!r}")

    def value(self, xp: Any, s: Array, d: Array) -> Array:
        return (1.0 + s * d) ** self.degree

    def slope(self, xp: Any, s: Array, d: Array) -> Array:
        return self.degree * d * (1.0 + s * d) ** (self.degree - 1)

    def value2d(self, xp: Any, s1: Array, s2: Array, d1: Array, d2: Array) -> Array:
        return (1.0 + s1 * d1 + s2 * d2) ** self.degree

    def slopes2d(self, xp: Any, s1: Array, s2: Array, d1: Array, d2: Array) -> tuple[Array, Array]:
        outer = self.degree * (1.0 + s1 * d1 + s2 * d2) ** (self.degree - 1)
        return outer * d1, outer * d2


@dataclass(frozen=True)
class ReLUKernel(Kernel):
    r""":math:`\kappa(s, d) = \max(0, s - d)`: the expansion is piecewise linear with its kinks on the
    dictionary, 0 to its left and a straight line to its right.

    It is not the activation ``torch.nn.ReLU``. It is not positive semi-definite, and therefore not a kernel
    by the paper's definition; it is included because the authors' code has it. Its derivative at s = d is 0,
    as in torch.

    >>> kafnets.KAF(4, kernel=kafnets.ReLUKernel())(torch.full((1, 4), -5.0)).abs().sum().item()
    0.0
    """

    positive_definite: ClassVar[bool] = False
    refusal_2d: ClassVar[str | None] = (
        "it is a function of the difference s - d, which in two dimensions is a vector and has no "
        "sign to cut off"
    )

    def value(self, xp: Any, s: Array, d: Array) -> Array:
        difference = s - d
        # Not ``maximum``, whose derivative where both are equal is a half.
        return xp.where(difference <= 0, xp.zeros_like(difference), difference)

    def slope(self, xp: Any, s: Array, d: Array) -> Array:
        difference = s - d
        step = xp.where(difference > 0, xp.ones_like(difference), xp.zeros_like(difference))
        return xp.where(difference == difference, step, difference)  # NaN stays NaN


@dataclass(frozen=True)
class Softplus(Kernel):
    r""":math:`\kappa(s, d) = \log(1 + \exp(s - d))`: a smooth version of :class:`ReLUKernel`.

    >>> kafnets.KAF(4, kernel=kafnets.Softplus())(torch.zeros(3, 4)).shape
    torch.Size([3, 4])
    """

    positive_definite: ClassVar[bool] = False
    refusal_2d: ClassVar[str | None] = ReLUKernel.refusal_2d

    def value(self, xp: Any, s: Array, d: Array) -> Array:
        # Right to the last digit everywhere; torch's softplus switches to the identity at 20, which costs
        # digits in float64.
        difference = s - d
        return xp.logaddexp(difference, xp.zeros_like(difference))

    def slope(self, xp: Any, s: Array, d: Array) -> Array:
        difference = s - d
        return xp.exp(-xp.logaddexp(-difference, xp.zeros_like(difference)))


@dataclass(frozen=True)
class Periodic(Kernel):
    r""":math:`\kappa(s, d) = \exp(-2 \sin^2(\pi (s - d) / T) / \ell^2)`.

    The paper mentions periodic kernels as a possible extension without a formula; this is the usual one. For
    infinite inputs the result is NaN, as for ``torch.sin``.

    >>> kafnets.KAF(4, kernel=kafnets.Periodic())(torch.zeros(3, 4)).shape
    torch.Size([3, 4])

    Args:
        period: T, the distance after which the function repeats.
        length_scale: :math:`\ell`, the range of an element within one period.
    """

    period: float = 6.0
    length_scale: float = 1.0

    def __post_init__(self) -> None:
        for name in ("period", "length_scale"):
            number = getattr(self, name)
            if not (math.isfinite(number) and number > 0):
                raise ValueError(f"{name} must be a positive finite number, got {number}")

    def value(self, xp: Any, s: Array, d: Array) -> Array:
        sine = xp.sin((math.pi / self.period) * (s - d))
        return xp.exp((-2.0 / self.length_scale**2) * (sine * sine))

    def slope(self, xp: Any, s: Array, d: Array) -> Array:
        double = xp.sin((2.0 * math.pi / self.period) * (s - d))
        factor = -2.0 * math.pi / (self.period * self.length_scale**2)
        return factor * double * self.value(xp, s, d)
