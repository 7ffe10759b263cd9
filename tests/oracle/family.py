"""Younger activations and further KAFs: closed-form gradients, and the expansions that KAFs alone are not.

Gradients are those of ``sum(upstream * output)``, by the name of what they belong to: "s", or a parameter as
the module stores it, per neuron with the channels first. ``s`` is ``(B, N)``.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.oracle import activations as ref
from tests.oracle.kernels import Gaussian, Kernel

Array = NDArray[np.float64]
Gradients = dict[str, Array]


class Expanded(NamedTuple):
    """Values, and derivatives by s ``(B, N)``, by coefficients ``(B, N, D)``, and by what else is learned."""

    value: Array
    by_s: Array
    by_alpha: Array
    by_more: Array


def multi_kaf(
    s: Array, alpha: Array, weights: Array, dictionary: Array, kernels: Sequence[Kernel]
) -> Expanded:
    """sum_m w_m sum_i alpha_i kappa_m(s, d_i), weights (N, M); the last derivative is by them."""
    terms = np.stack([kernel.value(s[..., None], dictionary) for kernel in kernels], -2)  # (B, N, M, D)
    slopes = np.stack([kernel.derivative(s[..., None], dictionary) for kernel in kernels], -2)
    mixed, by_weights = (weights[..., None] * terms).sum(-2), (alpha[:, None] * terms).sum(-1)
    by_s = (alpha * (weights[..., None] * slopes).sum(-2)).sum(-1)
    return Expanded((alpha * mixed).sum(-1), by_s, mixed, by_weights)


def bells(s: Array, alpha: Array, dictionary: Array, gamma: float) -> Expanded:
    """sum_i alpha_i exp(-gamma (s - d_i)^2), with a dictionary (N, D); the last derivative is by it."""
    kernel = Gaussian(gamma)
    terms, slopes = kernel.value(s[..., None], dictionary), kernel.derivative(s[..., None], dictionary)
    return Expanded((alpha * terms).sum(-1), (alpha * slopes).sum(-1), terms, -alpha * slopes)


def by_softmax(upstream: Array, weights: Array) -> Array:
    """Through weights (N, M) that are a softmax, to what it is taken of."""
    return weights * (upstream - (upstream * weights).sum(-1, keepdims=True))


def by_steps(upstream: Array, steps: Array) -> tuple[Array, Array]:
    """Through d_i = lowest + sum_{j<i} softplus(r_j), to lowest (N, 1) and r (N, D - 1)."""
    onward = np.cumsum(upstream[:, ::-1], 1)[:, ::-1]  # what moves with each element
    return onward[:, :1], onward[:, 1:] * ref.sigmoid(steps)


def _gelu_slope(s: Array) -> Array:
    density = np.exp(-(s**2) / 2) / np.sqrt(2 * np.pi)
    return 0.5 * np.vectorize(math.erfc)(-s / np.sqrt(2)) + s * density


def _mish_slope(s: Array) -> Array:
    gate = np.tanh(ref.softplus(s))
    return gate + s * (1 - gate**2) * ref.sigmoid(s)


def _swish_slope(s: Array) -> Array:
    gate = ref.sigmoid(s)
    return gate + s * gate * (1 - gate)


def gelu(s: Array, u: Array) -> Gradients:
    """Phi(s) + s phi(s)."""
    return {"s": u * _gelu_slope(s)}


def mish(s: Array, u: Array) -> Gradients:
    """T + s (1 - t^2) sigmoid(s) with t = tanh(softplus(s))."""
    return {"s": u * _mish_slope(s)}


def squared_relu(s: Array, u: Array) -> Gradients:
    """2 max(0, s)."""
    return {"s": u * 2 * ref.relu(s)}


def pact(s: Array, u: Array, weight: Array) -> Gradients:
    """Of a Mish."""
    return {"s": u * (1 + weight * (_mish_slope(s) - 1)), "weight": (u * (ref.mish(s) - s)).sum(0)}


def learned_sine(s: Array, u: Array, height: Array, frequency: Array) -> Gradients:
    """A omega cos(omega s); sin(omega s); a s cos(omega s)."""
    cosine = height * np.cos(frequency * s)
    return {
        "s": u * frequency * cosine,
        "height": (u * np.sin(frequency * s)).sum(0),
        "frequency": (u * s * cosine).sum(0),
    }


def xielu(s: Array, u: Array, raw_positive: Array, raw_negative: Array) -> Gradients:
    """Of what is stored: softplus gives alpha_p, and alpha_n but for beta = 1/2."""
    below, beta = np.minimum(s, 0.0), 0.5
    positive, negative = ref.softplus(raw_positive), beta + ref.softplus(raw_negative)
    return {
        "s": u * np.where(s > 0, 2 * positive * s + beta, negative * np.expm1(below) + beta),
        "raw_positive": (u * np.where(s > 0, s**2, 0.0)).sum(0) * ref.sigmoid(raw_positive),
        "raw_negative": (u * (np.expm1(below) - below)).sum(0) * ref.sigmoid(raw_negative),
    }


def rational(s: Array, u: Array, numerator: Array, denominator: Array) -> Gradients:
    """P / Q with Q = 1 + |A|, coefficients (groups, 6) and (groups, 4)."""
    times = s.shape[1] // len(numerator)
    a, b = (each.repeat(times, 0) for each in (numerator, denominator))
    powers = s[..., None] ** np.arange(6)
    above, inner = (a * powers).sum(-1), (b * powers[..., 1:5]).sum(-1)
    below, sign = 1 + np.abs(inner), np.sign(inner)
    above_slope = (a[:, 1:] * np.arange(1, 6) * powers[..., :5]).sum(-1)
    inner_slope = (b * np.arange(1, 5) * powers[..., :4]).sum(-1)
    by_a = (u / below)[..., None] * powers
    by_b = -(u * above * sign / below**2)[..., None] * powers[..., 1:5]
    return {
        "s": u * (above_slope / below - above * sign * inner_slope / below**2),
        "numerator": by_a.sum(0).reshape(-1, times, 6).sum(1),
        "denominator": by_b.sum(0).reshape(-1, times, 4).sum(1),
    }


def poly_norm(s: Array, u: Array, weight: Array, bias: Array) -> Gradients:
    """Through each norm: w (u / r - p mean(u p) / r^3), times i s^(i - 1)."""
    by_s, by_weight = np.zeros_like(s), []
    for i, w in enumerate(weight, 1):
        power = s**i
        root = np.sqrt((power**2).mean(-1, keepdims=True) + 1e-6)
        by_power = w * (u / root - power * (u * power).mean(-1, keepdims=True) / root**3)
        by_s += by_power * i * s ** (i - 1)
        by_weight.append((u * power / root).sum())
    return {"s": by_s, "weight": np.array(by_weight), "bias": u.sum()[None] + 0 * bias}


def _pairs(passing: Array, gating: Array) -> Array:
    return np.stack([passing, gating], -1).reshape(len(passing), -1)


def glu(s: Array, u: Array) -> Gradients:
    """The gate; s_1 gate (1 - gate)."""
    gate = ref.sigmoid(s[:, 1::2])
    return {"s": _pairs(u * gate, u * s[:, ::2] * gate * (1 - gate))}


def swiglu(s: Array, u: Array) -> Gradients:
    """The gate; s_1 times its slope."""
    gating = s[:, 1::2]
    return {"s": _pairs(u * ref.swish(gating), u * s[:, ::2] * _swish_slope(gating))}
