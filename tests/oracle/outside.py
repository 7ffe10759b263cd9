"""KAFs with tails and a base function, and these functions, with closed-form gradients."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tests.oracle import activations
from tests.oracle.kernels import Kernel

Array = NDArray[np.float64]


def erf(s: Array) -> Array:
    """The error function."""
    return np.vectorize(math.erf, otypes=[np.float64])(s)


def base(name: str, s: Array) -> tuple[Array, Array]:
    """A fixed function and its slope."""
    sigma = activations.sigmoid(s)
    if name in ("silu", "swish"):
        return s * sigma, sigma * (1 + s * (1 - sigma))
    if name == "mish":
        gate = np.tanh(np.logaddexp(0, s))
        return s * gate, gate + s * sigma * (1 - gate**2)
    if name == "gelu":
        below = (1 + erf(s / np.sqrt(2))) / 2
        return s * below, below + s * np.exp(-(s**2) / 2) / np.sqrt(2 * np.pi)
    if name in ("elu", "selu"):
        scale, alpha = (1.0, 1.0) if name == "elu" else (1.0507009873554805, 1.6732632423543772)
        small = np.minimum(s, 0)
        return (
            scale * np.where(s > 0, s, alpha * np.expm1(small)),
            scale * np.where(s > 0, 1.0, alpha * np.exp(small)),
        )
    simple = {
        "identity": (s, np.ones_like(s)),
        "relu": (np.maximum(s, 0), (s > 0) * 1.0),
        "leaky_relu": (np.where(s > 0, s, 0.01 * s), np.where(s > 0, 1.0, 0.01)),
        "sigmoid": (sigma, sigma * (1 - sigma)),
        "softplus": (np.logaddexp(0, s), sigma),
        "tanh": (np.tanh(s), 1 - np.tanh(s) ** 2),
    }
    return simple[name]


class Outside(NamedTuple):
    """Value, and the derivatives of ``sum(upstream * value)``; ``weight`` is None where there is none."""

    value: Array
    s: Array
    alpha: Array
    weight: Array | None


def kaf_outside(
    s: ArrayLike,
    alpha: ArrayLike,
    dictionary: ArrayLike,
    kernel: Kernel,
    upstream: ArrayLike,
    *,
    tails: str = "zero",
    function: str | None = None,
    form: str = "fixed",
    weight: Array | None = None,
) -> Outside:
    r"""With c = s moved to the nearest edge, and :math:`e(s) = \sum_i \alpha_i \kappa(s, d_i)`:

    constant tails are e(c), linear ones :math:`e(c) + e'(c) (s - c)`. To that comes b(s), w b(s), or
    :math:`s + w (b(s) - s)`, which keeps more digits as :math:`(1 - w) s + w b(s)`.
    """
    s, alpha, d, u = (np.asarray(each, dtype=np.float64) for each in (s, alpha, dictionary, upstream))
    rows = tuple(range(s.ndim - 1))
    c = s if tails == "zero" else np.clip(s, d[0], d[-1])
    kappa, slope = kernel.value(c[..., None], d), kernel.derivative(c[..., None], d)
    terms = kappa + slope * (s - c)[..., None] if tails == "linear" else kappa
    value, by_s = (alpha * terms).sum(-1), (alpha * slope).sum(-1)
    if tails == "constant":
        by_s = np.where(s != c, 0.0, by_s)
    by_alpha, by_weight = (u[..., None] * terms).sum(rows), None
    if function is not None:
        b, b_slope = base(function, s)
        if form == "fixed":
            value, by_s = value + b, by_s + b_slope
        elif form == "weighted":
            assert weight is not None
            value, by_s, by_weight = value + weight * b, by_s + weight * b_slope, (u * b).sum(rows)
        else:
            assert weight is not None
            value, by_s = value + ((1 - weight) * s + weight * b), by_s + ((1 - weight) + weight * b_slope)
            by_weight = (u * (b - s)).sum(rows)
    return Outside(value, u * by_s, by_alpha, by_weight)
