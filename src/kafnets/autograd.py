"""KAF and 2D-KAF for HIPS autograd: functions of NumPy arrays with their gradients registered."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, SupportsIndex, Unpack

import numpy

from kafnets.packages import needed_by

with needed_by("kafnets.autograd"):
    import autograd.numpy as anp
    from autograd import elementwise_grad
    from autograd.extend import defjvp, defvjp, primitive

from kafnets.arrays.library import NUMPY
from kafnets.expansion import Expansion, ExpansionOptions
from kafnets.frontends.exchange import Arrays, arrays_of, torch_module
from kafnets.frontends.framework import Framework
from kafnets.starts import Init, NumpySource, first_values

Array = Any


@primitive  # type: ignore[untyped-decorator]
def _expand(expansion: Expansion, *arrays: Array) -> Array:
    return _AUTOGRAD.value(expansion, *arrays)


def _smooth(function: Callable[[Array], Array], slope: Callable[[Array, Array], Array]) -> Any:
    """A function of NumPy arrays whose slope is told, from its value and its argument."""
    smooth = primitive(function)
    defvjp(smooth, lambda value, s: lambda upstream: upstream * slope(value, s))
    defjvp(smooth, lambda moved, value, s: moved * slope(value, s))
    return staticmethod(smooth)


class _Autograd(Framework):
    expand = staticmethod(_expand)
    erf = _smooth(
        NUMPY.erf, lambda value, s: 2.0 / math.sqrt(math.pi) * anp.exp(-(anp.clip(s, -30, 30) ** 2))
    )
    sigmoid = _smooth(NUMPY.sigmoid, lambda value, s: value * (1.0 - value))
    tanh = _smooth(numpy.tanh, lambda value, s: 1.0 - value * value)  # autograd's own overflows
    promote_types = staticmethod(numpy.promote_types)

    def asarray(self, given: Any) -> Array:
        # What is differentiated by does not tell whether it is an array or a number.
        return given if isinstance(given, numpy.ndarray) else anp.array(given)

    def slope(self, function: Callable[[Array], Array], s: Array) -> Array:
        return elementwise_grad(function)(s)


_AUTOGRAD = _Autograd(anp)
kaf, kaf2d = _AUTOGRAD.kaf, _AUTOGRAD.kaf2d


def _back(number: int, answer: Array, *given: Any) -> Callable[[Array], Array]:
    return lambda upstream: _AUTOGRAD.pulled_back(number, given[0], upstream, *given[1:])


def _on(number: int, moved: Array, answer: Array, *given: Any) -> Array:
    return _AUTOGRAD.pushed_forward(number, given[0], moved, *given[1:])


defvjp(_expand, *(partial(_back, number) for number in range(3)), argnums=(1, 2, 3))
defjvp(_expand, *(partial(_on, number) for number in range(3)), argnums=(1, 2, 3))


def coefficients(
    functions: int,
    *,
    seed: SupportsIndex = 0,
    init: Init = None,
    dimensions: int = 1,
    dtype: Any = numpy.float64,
    **options: Unpack[ExpansionOptions],
) -> Array:
    """Initial mixing coefficients, as :func:`kafnets.jax.coefficients`, with a seed for random ones.

    >>> import numpy
    >>> alpha = kafnets.autograd.coefficients(3, init="elu")
    >>> kafnets.autograd.kaf(numpy.zeros((5, 3)), alpha).shape
    (5, 3)
    """
    source = NumpySource(seed)
    return first_values(numpy, init, functions, Expansion.of(dimensions, **options), source, dtype)


def from_torch(module: Any) -> tuple[Arrays, Expansion]:
    """The parameters of a torch module and its expansion, for ``kaf`` and ``kaf2d``.

    >>> parameters, expansion = kafnets.autograd.from_torch(kafnets.KAF(30))
    >>> parameters["alpha"].shape
    (30, 20)

    The logarithm of a learned bandwidth is among the parameters: give ``gamma=np.exp(log_gamma)``.
    """
    return arrays_of(module), module.expansion


def to_torch(
    parameters: Arrays, expansion: Expansion, *, num_features: int | None = None, dim: int = -1
) -> Any:
    """A torch module with these parameters, as :func:`from_torch` gives them, and channels along ``dim``.

    ``num_features`` is the number of channels, if some share a function; a single function is for all.
    """
    return torch_module(parameters, expansion, num_features, dim)
