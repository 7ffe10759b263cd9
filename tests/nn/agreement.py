"""How far a computation in finite precision may be from the oracle."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tests import oracle

Array = NDArray[np.float64]

ROUNDINGS = 8.0
"""How many roundings an operation chain may add up, in units of the last place."""


VANISHED = {torch.float32: 2e-12, torch.float64: 1e-75}
"""Below this a Gaussian term may count as 0, as the fused kernels say of themselves."""


def vanished(kernel: object, dtype: torch.dtype, times: int) -> Array:
    """The largest derivative, taken so many times, of a Gaussian term that has vanished."""
    if not isinstance(kernel, oracle.Gaussian | oracle.GaussianDerivative):
        return np.full((), 0.0 if times else VANISHED[dtype])
    t, order = math.sqrt(-math.log(VANISHED[dtype])), times + getattr(kernel, "order", 0)
    root: Array = np.sqrt(np.asarray(kernel.gamma, dtype=np.float64))
    return VANISHED[dtype] * (2 * t * root.reshape(-1)) ** order  # at least Hermite's polynomial there


def amplification(kernel: object) -> float:
    """How many times its own roundings a kernel may show; most are rounded as their values.

    A periodic one shows those of its exponent. A derivative of a Gaussian is a Hermite polynomial times the
    Gaussian, and each of the two rounds the argument x = sqrt(gamma) (s - d) by itself, the polynomial twice.
    Where their product has an extremum, at a zero of the next polynomial, moving x changes nothing, and no
    error of the argument is allowed for below; but a relative error in the polynomial's x alone shows
    x H_n' / H_n = 2 x^2 times, which is less than 4 n at the zeros of H_{n+1}. Two roundings of half a unit
    make 4 n units on top of ``ROUNDINGS``; n is one more for the derivative by ``s``.
    """
    if isinstance(kernel, oracle.GaussianDerivative):
        return 1.0 + 4.0 * (kernel.order + 1) / ROUNDINGS
    return 1.0 + 2.0 / kernel.length_scale**2 if isinstance(kernel, oracle.Periodic) else 1.0


def apart(kernel: object, size: Array, value: Array, eps: float) -> Array | float:
    """What a Gaussian's derivative -2 gamma (s - d) k may lose since its two factors round s - d apart.

    Where the product has an extremum, moving both by the same amount changes nothing, but one rounding of the
    first factor alone, relative to the ``size`` of s and d, does.
    """
    if not isinstance(kernel, oracle.Gaussian):
        return 0.0
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(eps / ROUNDINGS * size * 2.0 * kernel.gamma * value)


@dataclass
class Expected:
    """The oracle's values, each with the error that rounding may cause in ``dtype``."""

    values: Array
    tolerance: Array

    def check(self, actual: Tensor, what: str) -> None:
        # Storing the result costs a unit in its last place on top of the computation; values that
        # float32 cannot hold with full precision may be lost in it.
        stored = torch.finfo(actual.dtype)
        storing = stored.eps * (np.abs(self.values) + stored.tiny) + torch.finfo(torch.float32).tiny
        error = np.abs(actual.detach().double().cpu().numpy() - self.values)
        worst = np.max(error / (self.tolerance + storing), initial=0.0)
        assert worst <= 1.0, f"{what}: error {worst:.3g} times the tolerance"


def _terms(s: Array, d: Array, kernel: oracle.Kernel, eps: float) -> tuple[Array, Array, Array]:
    """Kernel values ``(..., N, D)``, their rounding error, and that of the derivatives.

    An exact computation on an activation that is wrong in its last place, or the dictionary's, plus a
    rounding of the result: the usual mixed forward-backward error of a stable algorithm.
    """
    with np.errstate(over="ignore"):
        results = []
        for function in (kernel.value, kernel.derivative):
            exact = function(s, d)
            error = eps * amplification(kernel) * np.abs(exact)
            for sign in (-1.0, 1.0):
                moved = function(s + sign * eps * (np.abs(s) + np.abs(d).max()), d)
                error = error + np.abs(moved - exact)
            results += [exact, error]
    slope_error = results[3] + apart(kernel, np.abs(s) + np.abs(d).max(), results[0], eps)
    return results[0], results[1], slope_error


def expect_kaf(
    s: Array, alpha: Array, dictionary: Array, kernel: oracle.Kernel, upstream: Array, dtype: torch.dtype
) -> tuple[Expected, Expected, Expected]:
    """Output, input gradient and coefficient gradient of a KAF, channels last."""
    eps = torch.finfo(dtype).eps * ROUNDINGS
    value, value_error, slope_error = _terms(s[..., None], dictionary, kernel, eps)
    gradients = oracle.kaf_gradients(s, alpha, dictionary, kernel, upstream)
    batch = tuple(range(s.ndim - 1))
    samples = max(1, math.prod(s.shape[:-1]))
    value_error = value_error + vanished(kernel, dtype, 0)[..., None]
    slope_error = slope_error + vanished(kernel, dtype, 1)[..., None]
    output = Expected(oracle.kaf(s, alpha, dictionary, kernel), (np.abs(alpha) * value_error).sum(-1))
    by_s = Expected(gradients.s, np.abs(upstream) * (np.abs(alpha) * slope_error).sum(-1))
    summed = eps * math.log2(1 + samples) * (np.abs(upstream)[..., None] * np.abs(value)).sum(batch)
    by_alpha = Expected(gradients.alpha, (np.abs(upstream)[..., None] * value_error).sum(batch) + summed)
    return output, by_s, by_alpha


def expect_kaf2d(
    s: Array, alpha: Array, dictionary: Array, kernel: oracle.Kernel2D, upstream: Array, dtype: torch.dtype
) -> tuple[Expected, Expected, Expected]:
    """The same for a 2D-KAF."""
    eps = torch.finfo(dtype).eps * ROUNDINGS
    d1, d2 = dictionary[:, None], dictionary
    first, second = s[..., 0::2, None, None], s[..., 1::2, None, None]

    def functions(move_1: float, move_2: float) -> tuple[Array, Array, Array]:
        at_1 = first + move_1 * (np.abs(first) + np.abs(dictionary).max())
        at_2 = second + move_2 * (np.abs(second) + np.abs(dictionary).max())
        return (kernel.value2d(at_1, at_2, d1, d2), *kernel.derivatives2d(at_1, at_2, d1, d2))

    exact = functions(0.0, 0.0)
    errors = [eps * amplification(kernel) * np.abs(part) for part in exact]
    for moves in ((-eps, 0.0), (eps, 0.0), (0.0, -eps), (0.0, eps)):
        moved = functions(*moves)
        errors = [error + np.abs(m - e) for error, m, e in zip(errors, moved, exact, strict=True)]
    slope_floor = vanished(kernel, dtype, 1)[..., None, None]
    sizes = [np.abs(each) + np.abs(dictionary).max() for each in (first, second)]
    slopes = [
        error + slope_floor + apart(kernel, size, exact[0], eps)
        for error, size in zip(errors[1:], sizes, strict=True)
    ]
    errors = [errors[0] + VANISHED[dtype], *slopes]
    gradients = oracle.kaf2d_gradients(s, alpha, dictionary, kernel, upstream)
    batch = tuple(range(s.ndim - 1))
    samples = max(1, math.prod(s.shape[:-1]))
    size = np.abs(alpha)
    output = Expected(oracle.kaf2d(s, alpha, dictionary, kernel), (size * errors[0]).sum((-1, -2)))
    by_pair = [np.abs(upstream) * (size * error).sum((-1, -2)) for error in errors[1:]]
    by_s = Expected(gradients.s, np.stack(by_pair, axis=-1).reshape(s.shape))
    weight = np.abs(upstream)[..., None, None]
    summed = eps * math.log2(1 + samples) * (weight * np.abs(exact[0])).sum(batch)
    by_alpha = Expected(gradients.alpha, (weight * errors[0]).sum(batch) + summed)
    return output, by_s, by_alpha
