"""Kernel expansions, one-dimensional and two-dimensional, with their closed-form gradients.

The functions are for finite (or NaN) activations; at infinities individual terms may be infinite
with opposite signs, and only the Gaussian's sum, 0, can be formed term by term.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tests.oracle.kernels import Gaussian, GaussianDerivative, Kernel, Kernel2D

Array = NDArray[np.float64]


class Gradients(NamedTuple):
    """Derivatives of ``sum(upstream * output)``. ``gamma`` is None where the kernel has none."""

    s: Array
    alpha: Array
    gamma: Array | None


def kaf(s: ArrayLike, alpha: ArrayLike, dictionary: ArrayLike, kernel: Kernel) -> Array:
    r""":math:`g_n(s) = \sum_i \alpha_{n,i} \, \kappa(s, d_i)`.

    ``s`` is ``(..., N)``, ``alpha`` is ``(N, D)``, ``dictionary`` is ``(D,)``; the result is ``(..., N)``.
    """
    s = np.asarray(s, dtype=np.float64)
    return (np.asarray(alpha) * kernel.value(s[..., None], dictionary)).sum(-1)


def kaf_gradients(
    s: ArrayLike, alpha: ArrayLike, dictionary: ArrayLike, kernel: Kernel, upstream: ArrayLike
) -> Gradients:
    r"""The paper's derivatives, weighted by the upstream gradient :math:`u` and summed over the batch.

    .. math::
        \partial s = u \sum_i \alpha_i \, \kappa'(s, d_i), \qquad
        \partial \alpha_i = \sum_{\text{batch}} u \, \kappa(s, d_i), \qquad
        \partial \gamma = \sum_{\text{batch}} u \sum_i \alpha_i \, \partial_\gamma \kappa(s, d_i)

    The gamma gradient comes one per neuron, ``(N,)``; for a shared bandwidth add them up.
    """
    s = np.asarray(s, dtype=np.float64)
    upstream = np.asarray(upstream, dtype=np.float64)
    alpha = np.asarray(alpha, dtype=np.float64)
    batch = tuple(range(s.ndim - 1))
    terms = s[..., None]
    d_s = upstream * (alpha * kernel.derivative(terms, dictionary)).sum(-1)
    d_alpha = (upstream[..., None] * kernel.value(terms, dictionary)).sum(batch)
    d_gamma = None
    if isinstance(kernel, Gaussian | GaussianDerivative):
        d_kernel = (alpha * kernel.gamma_derivative(terms, dictionary)).sum(-1)
        d_gamma = (upstream * d_kernel).sum(batch)
    return Gradients(d_s, d_alpha, d_gamma)


def edgewise_kaf(s: ArrayLike, alpha: ArrayLike, dictionary: ArrayLike, kernel: Kernel) -> Array:
    r""":math:`y_o = \sum_n \sum_i \alpha_{o,n,i} \, \kappa(s_n, d_i)`: every connection its own expansion.

    ``s`` is ``(..., N)``, ``alpha`` is ``(O, N, D)``; the result is ``(..., O)``.
    """
    return np.stack([kaf(s, own, dictionary, kernel).sum(-1) for own in np.asarray(alpha)], axis=-1)


def edgewise_kaf_gradients(
    s: ArrayLike, alpha: ArrayLike, dictionary: ArrayLike, kernel: Kernel, upstream: ArrayLike
) -> Gradients:
    """As :func:`kaf_gradients`, for connections; there is no gradient of gamma."""
    s, upstream = np.asarray(s, dtype=np.float64), np.asarray(upstream, dtype=np.float64)
    own = [
        kaf_gradients(s, each, dictionary, kernel, np.broadcast_to(upstream[..., output, None], s.shape))
        for output, each in enumerate(np.asarray(alpha))
    ]
    return Gradients(np.sum([one.s for one in own], axis=0), np.stack([one.alpha for one in own]), None)


def kaf2d(s: ArrayLike, alpha: ArrayLike, dictionary: ArrayLike, kernel: Kernel2D) -> Array:
    r""":math:`g_p(s) = \sum_{i,j} \alpha_{p,i,j} \, \kappa((s_{2p}, s_{2p+1}), (d_i, d_j))`.

    ``s`` is ``(..., 2 P)``, ``alpha`` is ``(P, D, D)``; neighbors are paired and the result is ``(..., P)``.
    """
    s1, s2, d1, d2 = _pairs(s, dictionary)
    return (np.asarray(alpha) * kernel.value2d(s1, s2, d1, d2)).sum((-1, -2))


def kaf2d_gradients(
    s: ArrayLike, alpha: ArrayLike, dictionary: ArrayLike, kernel: Kernel2D, upstream: ArrayLike
) -> Gradients:
    """As :func:`kaf_gradients`, for pairs."""
    s1, s2, d1, d2 = _pairs(s, dictionary)
    upstream = np.asarray(upstream, dtype=np.float64)
    alpha = np.asarray(alpha, dtype=np.float64)
    batch = tuple(range(upstream.ndim - 1))
    first, second = kernel.derivatives2d(s1, s2, d1, d2)
    d_s = np.stack([upstream * (alpha * part).sum((-1, -2)) for part in (first, second)], axis=-1)
    d_alpha = (upstream[..., None, None] * kernel.value2d(s1, s2, d1, d2)).sum(batch)
    d_gamma = None
    if isinstance(kernel, Gaussian):
        d_kernel = (alpha * kernel.gamma_derivative2d(s1, s2, d1, d2)).sum((-1, -2))
        d_gamma = (upstream * d_kernel).sum(batch)
    return Gradients(d_s.reshape(np.shape(s)), d_alpha, d_gamma)


def _pairs(s: ArrayLike, dictionary: ArrayLike) -> tuple[Array, Array, Array, Array]:
    """First and second values ``(..., P, 1, 1)``, first and second coordinates ``(D, 1)`` and ``(D,)``."""
    s = np.asarray(s, dtype=np.float64)
    d = np.asarray(dictionary, dtype=np.float64)
    return s[..., 0::2, None, None], s[..., 1::2, None, None], d[:, None], d
