"""What front ends for frameworks share: functions for users, from formulas that want channels last."""

import functools
from collections.abc import Callable
from typing import Any

from kafnets.arguments import checked_call
from kafnets.arrays import kaf
from kafnets.arrays.library import Array, Library
from kafnets.expansion import Expansion


class Framework(Library):
    """An array library with automatic differentiation, which a subclass tells what derivatives are.

    ``arrays`` are activations ``(..., N)``, coefficients with one function per channel, and perhaps a learned
    bandwidth, in one precision.
    """

    def astype(self, array: Array, dtype: Any) -> Array:
        """With numbers of another type."""
        return array if array.dtype == dtype else array.astype(dtype)

    def expand(self, expansion: Expansion, *arrays: Array) -> Array:
        """As :meth:`value`, and the framework knows the derivatives."""
        raise NotImplementedError

    def recomputed(self, function: Callable[..., Array]) -> Callable[..., Array]:
        """The same function, of which nothing but its arguments is kept for derivatives, if that is known."""
        return function

    def value(self, expansion: Expansion, s: Array, alpha: Array, *gamma: Array) -> Array:
        """The expansion by its formula."""
        return kaf.value(self, expansion.with_gamma(*gamma) if gamma else expansion, s, alpha)

    def pulled_back(
        self, number: int, expansion: Expansion, upstream: Array, s: Array, alpha: Array, *gamma: Array
    ) -> Array:
        """The derivative of ``sum(upstream * value)`` by the array of that number."""
        fixed = expansion.with_gamma(*gamma) if gamma else expansion
        if number == 0:
            return kaf.by_input(self, upstream, kaf.slope(self, fixed, s, alpha))
        if number == 1:
            return kaf.by_coefficients(self, fixed, upstream, s)
        by_function = kaf.over_rows(self, upstream * kaf.by_gamma(self, fixed, s, alpha))
        return by_function if len(gamma[0].shape) else self.sum(by_function)

    def pushed_forward(
        self, number: int, expansion: Expansion, moved: Array, s: Array, alpha: Array, *gamma: Array
    ) -> Array:
        """How the value changes where the array of that number changes by ``moved``."""
        if number == 1:
            return self.expand(expansion, s, moved, *gamma)
        fixed = expansion.with_gamma(*gamma) if gamma else expansion
        if number == 2:
            return kaf.by_gamma(self, fixed, s, alpha) * moved
        moved = kaf.slope(self, fixed, s, alpha) * moved
        return moved if expansion.dimensions == 1 else moved[..., 0::2] + moved[..., 1::2]

    def kaf(
        self,
        x: Any,
        alpha: Any,
        expansion: Expansion | None = None,
        dim: int = -1,
        *,
        weight: Any = None,
        gamma: Any = None,
    ) -> Any:
        r"""A kernel expansion for each channel: :math:`\sum_i \alpha_{n,i} \, \kappa(x, d_i)`.

        Arguments as for :func:`kafnets.functional.kaf`, with the channels last by default. Can be
        differentiated in both modes and more than once. Half precision is computed in float32.
        """
        return self._call(1, x, alpha, expansion, dim, gamma, weight)

    def kaf2d(
        self, x: Any, alpha: Any, expansion: Expansion | None = None, dim: int = -1, *, gamma: Any = None
    ) -> Any:
        """As :func:`kaf` for pairs of neighbors: ``alpha`` is ``(P, D, D)``, 2 P channels become P."""
        return self._call(2, x, alpha, expansion, dim, gamma)

    def _call(
        self,
        dimensions: int,
        x: Any,
        alpha: Any,
        expansion: Expansion | None,
        dim: int,
        gamma: Any,
        weight: Any = None,
    ) -> Array:
        given = {"x": x, "alpha": alpha, "gamma": gamma, "weight": weight}
        arrays = {name: self.asarray(each) for name, each in given.items() if each is not None}
        x = arrays["x"]
        if "float" not in str(x.dtype):
            raise TypeError(f"x must be of a floating-point type, got {x.dtype}: convert it first")
        shapes = (arrays[name].shape if name in arrays else None for name in ("gamma", "weight"))
        expansion, sharing = checked_call(dimensions, x.shape, arrays["alpha"].shape, expansion, dim, *shapes)
        dtype = functools.reduce(self.promote_types, (arrays["alpha"].dtype, "float32"), x.dtype)
        axis = dim % len(x.shape)
        for name, each in arrays.items():
            if name == "x":
                each = self.moveaxis(x, axis, -1)
            elif sharing > 1 and len(each.shape):
                # Derivatives of channels that share a function add up by themselves.
                each = self.repeat(each, sharing, axis=0)
            arrays[name] = self.astype(each, dtype)
        weight = arrays.pop("weight", None)
        result = self.expand(expansion, *arrays.values())
        if expansion.base is not None:
            base = self.recomputed(functools.partial(expansion.base.value, self))
            result = result + base(arrays["x"], weight)
        return self.astype(self.moveaxis(result, -1, axis), x.dtype)
