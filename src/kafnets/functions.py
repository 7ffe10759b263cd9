"""Fixed functions by name, in NumPy: what activations can start as, and what a KAF can be added to."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def _elu(s: Array, alpha: float = 1.0) -> Array:
    return np.where(s > 0, s, alpha * np.expm1(np.minimum(s, 0.0)))


def _sigmoid(s: Array) -> Array:
    small = np.exp(-np.abs(s))
    return np.where(s >= 0, 1.0, small) / (1.0 + small)


def _gelu(s: Array) -> Array:
    erf = np.array([math.erf(each / math.sqrt(2.0)) for each in s.ravel()]).reshape(s.shape)
    return 0.5 * s * (1.0 + erf)


FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "elu": _elu,
    "gelu": _gelu,
    "identity": lambda s: s,
    "leaky_relu": lambda s: np.where(s > 0, s, 0.01 * s),
    "mish": lambda s: s * np.tanh(np.logaddexp(s, 0.0)),
    "relu": lambda s: np.maximum(s, 0.0),
    "selu": lambda s: 1.0507009873554805 * _elu(s, 1.6732632423543772),
    "sigmoid": _sigmoid,
    "silu": lambda s: s * _sigmoid(s),
    "softplus": lambda s: np.logaddexp(s, 0.0),
    "swish": lambda s: s * _sigmoid(s),
    "tanh": np.tanh,
}
"""By name. "silu" and "swish" are the same."""
