"""The kernels over any array library ``xp`` with NumPy's names, with their derivatives.

The formulas are those of :mod:`kafnets.reference.kernels`, which every front end is tested against.
"""

import math
from typing import Any, Protocol

from kafnets.kernels import Gaussian, Kernel, Periodic, Polynomial, ReLUKernel, Softplus

Array = Any


class Terms(Protocol):
    """What one element of the dictionary contributes, for a kernel of one kind."""

    def value(self, xp: Any, kernel: Any, s: Array, d: float, gamma: Any) -> Array: ...

    def slope(self, xp: Any, kernel: Any, s: Array, d: float, gamma: Any) -> Array: ...

    def value2d(
        self, xp: Any, kernel: Any, s1: Array, s2: Array, d1: float, d2: float, gamma: Any
    ) -> Array: ...

    def slopes2d(
        self, xp: Any, kernel: Any, s1: Array, s2: Array, d1: float, d2: float, gamma: Any
    ) -> tuple[Array, Array]: ...


class _Separable:
    """In two dimensions a product over the axes."""

    def value(self, xp: Any, kernel: Any, s: Array, d: float, gamma: Any) -> Array:
        raise NotImplementedError

    def slope(self, xp: Any, kernel: Any, s: Array, d: float, gamma: Any) -> Array:
        raise NotImplementedError

    def value2d(self, xp: Any, kernel: Any, s1: Array, s2: Array, d1: float, d2: float, gamma: Any) -> Array:
        return self.value(xp, kernel, s1, d1, gamma) * self.value(xp, kernel, s2, d2, gamma)

    def slopes2d(
        self, xp: Any, kernel: Any, s1: Array, s2: Array, d1: float, d2: float, gamma: Any
    ) -> tuple[Array, Array]:
        first, second = self.value(xp, kernel, s1, d1, gamma), self.value(xp, kernel, s2, d2, gamma)
        return (
            self.slope(xp, kernel, s1, d1, gamma) * second,
            first * self.slope(xp, kernel, s2, d2, gamma),
        )


class _Gaussian(_Separable):
    FAR = 1e15
    """Differences beyond it have no part in the sum; larger ones would make infinity of their square."""

    def value(self, xp: Any, kernel: Gaussian, s: Array, d: float, gamma: Any) -> Array:
        difference = xp.clip(s - d, -self.FAR, self.FAR)
        return xp.exp(-gamma * (difference * difference))

    def slope(self, xp: Any, kernel: Gaussian, s: Array, d: float, gamma: Any) -> Array:
        difference = xp.clip(s - d, -self.FAR, self.FAR)
        return -2.0 * gamma * difference * xp.exp(-gamma * (difference * difference))

    def by_gamma(self, xp: Any, s: Array, d: float, gamma: Any) -> Array:
        square = xp.clip(s - d, -self.FAR, self.FAR) ** 2
        return -square * xp.exp(-gamma * square)

    def by_gamma2d(self, xp: Any, s1: Array, s2: Array, d1: float, d2: float, gamma: Any) -> Array:
        square = xp.clip(s1 - d1, -self.FAR, self.FAR) ** 2 + xp.clip(s2 - d2, -self.FAR, self.FAR) ** 2
        return -square * xp.exp(-gamma * square)


class _Polynomial:
    def value(self, xp: Any, kernel: Polynomial, s: Array, d: float, gamma: Any) -> Array:
        return (1.0 + s * d) ** kernel.degree

    def slope(self, xp: Any, kernel: Polynomial, s: Array, d: float, gamma: Any) -> Array:
        return kernel.degree * d * (1.0 + s * d) ** (kernel.degree - 1)

    def value2d(
        self, xp: Any, kernel: Polynomial, s1: Array, s2: Array, d1: float, d2: float, gamma: Any
    ) -> Array:
        return (1.0 + s1 * d1 + s2 * d2) ** kernel.degree

    def slopes2d(
        self, xp: Any, kernel: Polynomial, s1: Array, s2: Array, d1: float, d2: float, gamma: Any
    ) -> tuple[Array, Array]:
        outer = kernel.degree * (1.0 + s1 * d1 + s2 * d2) ** (kernel.degree - 1)
        return outer * d1, outer * d2


class _ReLU(_Separable):
    def value(self, xp: Any, kernel: ReLUKernel, s: Array, d: float, gamma: Any) -> Array:
        return xp.maximum(s - d, xp.zeros_like(s))

    def slope(self, xp: Any, kernel: ReLUKernel, s: Array, d: float, gamma: Any) -> Array:
        return xp.where(s > d, xp.ones_like(s), xp.zeros_like(s))


class _Softplus(_Separable):
    def value(self, xp: Any, kernel: Softplus, s: Array, d: float, gamma: Any) -> Array:
        return xp.logaddexp(s - d, xp.zeros_like(s))

    def slope(self, xp: Any, kernel: Softplus, s: Array, d: float, gamma: Any) -> Array:
        return xp.exp(-xp.logaddexp(d - s, xp.zeros_like(s)))


class _Periodic(_Separable):
    def value(self, xp: Any, kernel: Periodic, s: Array, d: float, gamma: Any) -> Array:
        sine = xp.sin((math.pi / kernel.period) * (s - d))
        return xp.exp((-2.0 / kernel.length_scale**2) * (sine * sine))

    def slope(self, xp: Any, kernel: Periodic, s: Array, d: float, gamma: Any) -> Array:
        double = xp.sin((2.0 * math.pi / kernel.period) * (s - d))
        factor = -2.0 * math.pi / (kernel.period * kernel.length_scale**2)
        return factor * double * self.value(xp, kernel, s, d, gamma)


GAUSSIAN = _Gaussian()
_TERMS: dict[type[Kernel], Terms] = {
    Gaussian: GAUSSIAN,
    Polynomial: _Polynomial(),
    ReLUKernel: _ReLU(),
    Softplus: _Softplus(),
    Periodic: _Periodic(),
}


def terms_of(kernel: Kernel) -> Terms:
    """The formulas of a kernel; one that is not the package's own has none outside torch."""
    if type(kernel) not in _TERMS:
        known = ", ".join(each.__name__ for each in _TERMS)
        raise ValueError(f"kernel must be one of {known} outside torch, got {kernel!r}")
    return _TERMS[type(kernel)]
