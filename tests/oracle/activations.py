"""The paper's rivals, formula by formula.

``s`` holds activations with the N channels last; parameters have the channels last too, behind an axis over
hinges, powers or knots where there are several per channel. Functions of a group take ``z`` with the K
members of each group last.
"""

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Basis = Literal["catmull_rom", "b_spline"]


# Fixed


def sigmoid(s: Array) -> Array:
    """1 / (1 + exp(-s)), without overflow."""
    small = np.exp(-np.abs(s))
    return np.where(s >= 0, 1 / (1 + small), small / (1 + small))


def tanh(s: Array) -> Array:
    """The hyperbolic tangent."""
    return np.tanh(s)


def relu(s: Array) -> Array:
    """max(0, s)."""
    return np.maximum(0.0, s)


def softplus(s: Array) -> Array:
    """log(1 + exp(s))."""
    return np.logaddexp(0.0, s)


def leaky_relu(s: Array, negative_slope: float = 0.01) -> Array:
    """S from 0 on, negative_slope * s below."""
    return np.where(s >= 0, s, negative_slope * s)


def elu(s: Array, alpha: float = 1.0) -> Array:
    """S from 0 on, alpha * (exp(s) - 1) below."""
    return np.where(s >= 0, s, alpha * np.expm1(np.minimum(s, 0.0)))


def selu(s: Array) -> Array:
    """Lambda * ELU(s). The paper has the values of lambda and alpha the wrong way round."""
    scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
    return scale * elu(s, alpha)


def swish(s: Array) -> Array:
    """S * sigmoid(s)."""
    return s * sigmoid(s)


def gelu(s: Array) -> Array:
    """S times the distribution function of the standard normal distribution."""
    return s * 0.5 * np.vectorize(math.erfc)(-s / np.sqrt(2))


def mish(s: Array) -> Array:
    """S * tanh(log(1 + exp(s)))."""
    return s * np.tanh(softplus(s))


def squared_relu(s: Array) -> Array:
    """max(0, s)^2."""
    return relu(s) ** 2


# Parametric


def generalized_tanh(s: Array, a: Array, b: Array) -> Array:
    """A (1 - exp(-b s)) / (1 + exp(-b s)), which is a tanh(b s / 2)."""
    return a * np.tanh(b * s / 2)


def prelu(s: Array, alpha: Array) -> Array:
    """S from 0 on, alpha * s below."""
    return np.where(s >= 0, s, alpha * s)


def pelu(s: Array, alpha: Array, beta: Array) -> Array:
    """(alpha / beta) s from 0 on, alpha (exp(s / beta) - 1) below."""
    return np.where(s >= 0, alpha / beta * s, alpha * np.expm1(np.minimum(s, 0.0) / beta))


def srelu(s: Array, t_right: Array, a_right: Array, t_left: Array, a_left: Array) -> Array:
    """The identity between t_left and t_right, slopes a_left and a_right beyond.

    The paper's cases, written as a sum that is continuous even where t_left has passed t_right, for which the
    cases contradict each other.
    """
    return s + (a_right - 1) * np.maximum(0.0, s - t_right) - (a_left - 1) * np.maximum(0.0, t_left - s)


def beta_swish(s: Array, beta: Array) -> Array:
    """S * sigmoid(beta s)."""
    return s * sigmoid(beta * s)


def pact(s: Array, function: Callable[[Array], Array], weight: Array) -> Array:
    """S + w (f(s) - s)."""
    return s + weight * (function(s) - s)


def sine(s: Array, height: Array, frequency: Array) -> Array:
    """A sin(omega s)."""
    return height * np.sin(frequency * s)


def xielu(s: Array, positive: Array, negative: Array, beta: float = 0.5) -> Array:
    """Alpha_p s^2 + beta s right of 0, alpha_n (exp(s) - 1 - s) + beta s left of it."""
    below = np.minimum(s, 0.0)
    return np.where(s > 0, positive * s**2, negative * (np.expm1(below) - below)) + beta * s


def poly_norm(s: Array, weight: Array, bias: Array) -> Array:
    """B + sum_i w_i s^i / sqrt(mean(s^(2 i)) + 1e-6), the mean over channels."""
    powers = [s, s**2, s**3]
    return bias + sum(
        w * p / np.sqrt((p**2).mean(-1, keepdims=True) + 1e-6) for w, p in zip(weight, powers, strict=True)
    )


# Non-parametric


def rational(s: Array, numerator: Array, denominator: Array) -> Array:
    """(a_0 + a_1 s + ...) / (1 + |b_1 s + b_2 s^2 + ...|), coefficients (6, N) and (4, N)."""
    return polynomial(s, numerator) / (1 + np.abs(s * polynomial(s, denominator)))


def apl(s: Array, slopes: Array, places: Array) -> Array:
    """max(0, s) + sum_i a_i max(0, b_i - s)."""
    hinges = slopes * np.maximum(0.0, places - s[..., None, :])
    return relu(s) + hinges.sum(-2)


def polynomial(s: Array, coefficients: Array) -> Array:
    """sum_i a_i s^i."""
    exponents = np.arange(len(coefficients))[:, None]
    return (coefficients * s[..., None, :] ** exponents).sum(-2)


def hermite_functions(s: Array, count: int) -> Array:
    """(2^k k! sqrt(pi))^(-1/2) H_k(s) exp(-s^2 / 2), the orthonormal Hermite functions, on a last axis."""
    found = [np.pi**-0.25 * np.exp(-(s**2) / 2)]
    for k in range(count - 1):
        before = found[k - 1] if k else 0.0
        found.append(np.sqrt(2 / (k + 1)) * s * found[k] - np.sqrt(k / (k + 1)) * before)
    return np.stack(found, axis=-1)


def hermite(s: Array, coefficients: Array) -> Array:
    """sum_k a_k psi_k(s), psi_k being :func:`hermite_functions`."""
    return (hermite_functions(s, len(coefficients)) * coefficients.T).sum(-1)


_BASES: dict[str, Array] = {
    "catmull_rom": np.array([[-1, 3, -3, 1], [2, -5, 4, -1], [-1, 0, 1, 0], [0, 2, 0, 0]]) / 2,
    "b_spline": np.array([[-1, 3, -3, 1], [3, -6, 3, 0], [-3, 0, 3, 0], [1, 4, 1, 0]]) / 6,
}


def spline_basis(basis: Basis) -> Array:
    """The matrix B of a cubic spline: the value in a span of four knots q is (u^3, u^2, u, 1) B q."""
    return _BASES[basis]


def spline(s: Array, knots: Array, boundary: float, basis: Basis) -> Array:
    """A cubic spline over equispaced knots from -boundary to boundary, a straight line beyond.

    Knots (T, N). The span of an activation in interval k consists of the knots k - 1 to k + 2: the paper's
    "closest knot and its rightmost neighbors" would shift the curve by one knot. Next to the ends a knot of
    the span is missing; it continues the line through the last two, and so does the curve, with a continuous
    derivative.
    """
    count = len(knots)
    spacing = 2 * boundary / (count - 1)
    extended = np.concatenate([[2 * knots[0] - knots[1]], knots, [2 * knots[-1] - knots[-2]]])
    inside = np.clip(s, -boundary, boundary)
    distance = (inside + boundary) / spacing
    interval = np.clip(np.floor(distance).astype(int), 0, count - 2)
    u = distance - interval
    channels = np.arange(knots.shape[1])
    span = np.stack([extended[interval + j, channels] for j in range(4)], axis=-1)
    powers = np.stack([u**3, u**2, u, np.ones_like(u)], axis=-1)
    value = np.einsum("...p,pk,...k->...", powers, spline_basis(basis), span)
    end_slope = np.where(s < 0, knots[1] - knots[0], knots[-1] - knots[-2]) / spacing
    return value + (s - inside) * end_slope


def interpolating_knots(values: Array, basis: Basis) -> Array:
    """The knots (T,) of a spline that passes through these values at its places.

    A Catmull-Rom spline passes through its knots. A B-spline does not: (q_{i-1} + 4 q_i + q_{i+1}) / 6 has
    to be the value, and the last knots are themselves, by the way the spline is continued.
    """
    if basis == "catmull_rom":
        return values.copy()
    count = len(values)
    matrix = (np.eye(count, k=-1) + 4 * np.eye(count) + np.eye(count, k=1)) / 6
    matrix[0] = np.eye(count)[0]
    matrix[-1] = np.eye(count)[-1]
    return np.linalg.solve(matrix, values).astype(np.float64)


# Functions of pairs, the gate second


def gated(s: Array, gate: Callable[[Array], Array]) -> Array:
    """The first of each pair of neighbors times the gate of the second."""
    return s[..., ::2] * gate(s[..., 1::2])


# Functions of a group


def maxout(z: Array) -> Array:
    """max_i z_i."""
    return z.max(-1)


def soft_maxout(z: Array) -> Array:
    """Log sum_i exp(z_i)."""
    return np.logaddexp.reduce(z, axis=-1)


def lp_maxout(z: Array, p: float) -> Array:
    """(sum_i |z_i|^p)^(1 / p), without overflow."""
    size = np.abs(z)
    largest = size.max(-1, keepdims=True)
    scale = np.where(largest > 0, largest, 1.0)
    return scale[..., 0] * ((size / scale) ** p).sum(-1) ** (1 / p)


def lp_unit(z: Array, centers: Array, p: Array) -> Array:
    """(1 / K sum_i |z_i - c_i|^p)^(1 / p), centers (N, K), p (N,)."""
    size = np.abs(z - centers)
    largest = size.max(-1)
    scale = np.where(largest > 0, largest, 1.0)
    return scale * ((size / scale[..., None]) ** p[..., None]).mean(-1) ** (1 / p)


def order_statistic(z: Array) -> Array:
    """The members of each group, the largest first."""
    return -np.sort(-z, axis=-1)


# Stochastic, for a given noise


def hard_tanh(s: Array) -> Array:
    """S cut off at -1 and 1."""
    return np.clip(s, -1.0, 1.0)


def hard_sigmoid(s: Array) -> Array:
    """S / 4 + 1 / 2, the sigmoid's tangent at 0, cut off at 0 and 1."""
    return np.clip(s / 4 + 0.5, 0.0, 1.0)


def noisy(s: Array, hard: Array, linear: Array, noise: Array, alpha: float, scale: float, p: Array) -> Array:
    """Alpha h + (1 - alpha) u + d sigma |noise|, with sigma = c (sigmoid(p (h - u)) - 1/2)^2.

    ``hard`` is h(s), the function that saturates, ``linear`` u(s), its continued middle, and d = -sgn(s)
    sgn(1 - alpha). Where h does not saturate, h = u and there is no noise.
    """
    deviation = scale * (sigmoid(p * (hard - linear)) - 0.5) ** 2
    direction = -np.sign(s) * np.sign(1 - alpha)
    return alpha * hard + (1 - alpha) * linear + direction * deviation * np.abs(noise)


# Vector-valued


def crelu(s: Array) -> Array:
    """max(0, s) and max(0, -s), one after the other."""
    return np.concatenate([relu(s), relu(-s)], axis=-1)


def multi_bias(s: Array, biases: Array, function: Callable[[Array], Array] = relu) -> Array:
    """g(s + b_k) for the K biases (K, N) of each channel, which follow each other in the output."""
    values = function(s[..., None] + biases.T)
    return values.reshape(*s.shape[:-1], -1)


def network_in_network(s: Array, weights: Sequence[Array], biases: Sequence[Array]) -> Array:
    """A ReLU, then fully connected layers across the channels, each with a ReLU."""
    h = relu(s)
    for weight, bias in zip(weights, biases, strict=True):
        h = relu(h @ weight.T + bias)
    return h
