"""Kernels: what one dictionary element contributes at one activation, and its derivatives.

Arguments broadcast against each other: ``s`` is an activation, ``d`` a dictionary element. A
two-dimensional kernel takes the two values of a pair and the two coordinates of a grid point.

At an infinite activation a kernel gives its limit. The periodic kernel has none there: NaN.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def _as_array(values: ArrayLike) -> Array:
    return np.asarray(values, dtype=np.float64)


class Kernel(Protocol):
    r"""A function :math:`\kappa(s, d)` with its derivative with respect to :math:`s`."""

    def value(self, s: ArrayLike, d: ArrayLike) -> Array: ...

    def derivative(self, s: ArrayLike, d: ArrayLike) -> Array: ...


class Kernel2D(Protocol):
    r"""A function :math:`\kappa((s_1, s_2), (d_1, d_2))` with its two partial derivatives."""

    def value2d(self, s1: ArrayLike, s2: ArrayLike, d1: ArrayLike, d2: ArrayLike) -> Array: ...

    def derivatives2d(
        self, s1: ArrayLike, s2: ArrayLike, d1: ArrayLike, d2: ArrayLike
    ) -> tuple[Array, Array]: ...


@dataclass(frozen=True)
class Gaussian:
    r""":math:`\kappa(s, d) = \exp(-\gamma (s - d)^2)`; in two dimensions :math:`\exp(-\gamma \|s - d\|^2)`.

    ``gamma`` is a positive number, or an array that broadcasts (one per neuron).
    """

    gamma: float | Array

    def value(self, s: ArrayLike, d: ArrayLike) -> Array:
        difference = _as_array(s) - _as_array(d)
        return np.exp(-self.gamma * difference**2)

    def derivative(self, s: ArrayLike, d: ArrayLike) -> Array:
        r""":math:`-2 \gamma (s - d) \kappa(s, d)`, which is 0 at infinity."""
        difference = _as_array(s) - _as_array(d)
        kernel = self.value(s, d)
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(difference), 0.0, -2.0 * self.gamma * difference * kernel)

    def gamma_derivative(self, s: ArrayLike, d: ArrayLike) -> Array:
        r""":math:`-(s - d)^2 \kappa(s, d)`, which is 0 at infinity."""
        difference = _as_array(s) - _as_array(d)
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(difference), 0.0, -(difference**2) * self.value(s, d))

    def value2d(self, s1: ArrayLike, s2: ArrayLike, d1: ArrayLike, d2: ArrayLike) -> Array:
        return self.value(s1, d1) * self.value(s2, d2)

    def derivatives2d(
        self, s1: ArrayLike, s2: ArrayLike, d1: ArrayLike, d2: ArrayLike
    ) -> tuple[Array, Array]:
        return (
            self.derivative(s1, d1) * self.value(s2, d2),
            self.value(s1, d1) * self.derivative(s2, d2),
        )

    def gamma_derivative2d(self, s1: ArrayLike, s2: ArrayLike, d1: ArrayLike, d2: ArrayLike) -> Array:
        first = self.gamma_derivative(s1, d1) * self.value(s2, d2)
        return first + self.value(s1, d1) * self.gamma_derivative(s2, d2)


@dataclass(frozen=True)
class GaussianDerivative:
    r"""A Gaussian's derivative of some order with respect to s, by Hermite polynomials.

    With :math:`v = \sqrt{\gamma} (s - d)` it is :math:`(-\sqrt{\gamma})^n H_n(v) \, e^{-v^2}`.
    """

    gamma: float | Array
    order: int

    def value(self, s: ArrayLike, d: ArrayLike) -> Array:
        root: Array = np.sqrt(_as_array(self.gamma))
        v = np.clip(root * (_as_array(s) - _as_array(d)), -40.0, 40.0)  # where nothing is left
        chosen = np.zeros(self.order + 1)
        chosen[-1] = 1.0
        return (-root) ** self.order * np.polynomial.hermite.hermval(v, chosen) * np.exp(-(v**2))

    def derivative(self, s: ArrayLike, d: ArrayLike) -> Array:
        return GaussianDerivative(self.gamma, self.order + 1).value(s, d)

    def gamma_derivative(self, s: ArrayLike, d: ArrayLike) -> Array:
        r""":math:`-(\kappa^{(n+2)} + 2 \gamma \kappa^{(n)}) / 4 \gamma^2`, by the heat equation."""
        second = GaussianDerivative(self.gamma, self.order + 2).value(s, d)
        return -(second + 2.0 * self.gamma * self.value(s, d)) / (4.0 * np.square(self.gamma))


@dataclass(frozen=True)
class Polynomial:
    r""":math:`\kappa(s, d) = (1 + s d)^p`; in two dimensions :math:`(1 + s_1 d_1 + s_2 d_2)^p`."""

    degree: int

    def value(self, s: ArrayLike, d: ArrayLike) -> Array:
        return (1.0 + _as_array(s) * _as_array(d)) ** self.degree

    def derivative(self, s: ArrayLike, d: ArrayLike) -> Array:
        d = _as_array(d)
        return self.degree * d * (1.0 + _as_array(s) * d) ** (self.degree - 1)

    def value2d(self, s1: ArrayLike, s2: ArrayLike, d1: ArrayLike, d2: ArrayLike) -> Array:
        inner = _as_array(s1) * _as_array(d1) + _as_array(s2) * _as_array(d2)
        return (1.0 + inner) ** self.degree

    def derivatives2d(
        self, s1: ArrayLike, s2: ArrayLike, d1: ArrayLike, d2: ArrayLike
    ) -> tuple[Array, Array]:
        d1, d2 = _as_array(d1), _as_array(d2)
        inner = _as_array(s1) * d1 + _as_array(s2) * d2
        outer = self.degree * (1.0 + inner) ** (self.degree - 1)
        return outer * d1, outer * d2


@dataclass(frozen=True)
class ReLUKernel:
    r""":math:`\kappa(s, d) = \max(0, s - d)`; its derivative at :math:`s = d` is 0, as torch has it.

    Not positive semi-definite, so not a kernel in the paper's sense: see
    :func:`tests.oracle.least_squares_ridge` for what that means for initialization.
    """

    def value(self, s: ArrayLike, d: ArrayLike) -> Array:
        return np.maximum(0.0, _as_array(s) - _as_array(d))

    def derivative(self, s: ArrayLike, d: ArrayLike) -> Array:
        difference = _as_array(s) - _as_array(d)
        return np.where(np.isnan(difference), np.nan, (difference > 0).astype(np.float64))


@dataclass(frozen=True)
class Softplus:
    r""":math:`\kappa(s, d) = \log(1 + \exp(s - d))`. Not positive semi-definite either."""

    def value(self, s: ArrayLike, d: ArrayLike) -> Array:
        with np.errstate(invalid="ignore"):
            return np.logaddexp(0.0, _as_array(s) - _as_array(d))

    def derivative(self, s: ArrayLike, d: ArrayLike) -> Array:
        r"""The sigmoid of :math:`s - d`, by the exponential that cannot overflow."""
        difference = _as_array(s) - _as_array(d)
        small = np.exp(-np.abs(difference))
        return np.where(difference >= 0, 1.0, small) / (1.0 + small)


@dataclass(frozen=True)
class Periodic:
    r""":math:`\kappa(s, d) = \exp(-2 \sin^2(\pi (s - d) / T) / \ell^2)`, period :math:`T`.

    In two dimensions the product over the axes, which is positive semi-definite as well.
    """

    period: float
    length_scale: float

    def value(self, s: ArrayLike, d: ArrayLike) -> Array:
        phase = np.pi * (_as_array(s) - _as_array(d)) / self.period
        with np.errstate(invalid="ignore"):
            return np.exp(-2.0 * np.sin(phase) ** 2 / self.length_scale**2)

    def derivative(self, s: ArrayLike, d: ArrayLike) -> Array:
        r""":math:`-2 \pi \sin(2 \pi (s - d) / T) / (T \ell^2) \; \kappa(s, d)`."""
        phase = np.pi * (_as_array(s) - _as_array(d)) / self.period
        with np.errstate(invalid="ignore"):
            slope = -2.0 * np.pi * np.sin(2.0 * phase) / (self.period * self.length_scale**2)
        return slope * self.value(s, d)

    def value2d(self, s1: ArrayLike, s2: ArrayLike, d1: ArrayLike, d2: ArrayLike) -> Array:
        return self.value(s1, d1) * self.value(s2, d2)

    def derivatives2d(
        self, s1: ArrayLike, s2: ArrayLike, d1: ArrayLike, d2: ArrayLike
    ) -> tuple[Array, Array]:
        return (
            self.derivative(s1, d1) * self.value(s2, d2),
            self.value(s1, d1) * self.derivative(s2, d2),
        )


def twin(kernel: Any, gamma: Any = None) -> Any:
    """The oracle's kernel for one of the package's, found by the name of its class.

    Args:
        kernel: of the package, with its choices made: a Gaussian has a gamma, unless one is given.
        gamma: a Gaussian's, a number or an array that broadcasts; None: the kernel's own.
    """
    name = type(kernel).__name__
    if name == "Gaussian":
        own = kernel.gamma if gamma is None else gamma
        if own is None:
            raise ValueError("gamma must be given for a Gaussian that has none")
        return Gaussian(own if isinstance(own, float) else _as_array(own))
    if name == "Polynomial":
        return Polynomial(kernel.degree)
    if name == "Periodic":
        return Periodic(kernel.period, kernel.length_scale)
    return {"ReLUKernel": ReLUKernel, "Softplus": Softplus}[name]()
