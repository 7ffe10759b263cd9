"""Smooth formulas to learn: Feynman equations and special functions, each with the ranges of its variables.

The equations and their numbers are those of Udrescu and Tegmark (2020), "AI Feynman", with similar ranges;
special functions are of the kinds in Liu et al. (2024), "KAN", whose tutorials have the first three.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Formula:
    """A function of as many variables as it has ranges."""

    value: Callable[..., Array]
    ranges: tuple[tuple[float, float], ...]

    def rows(self, count: int, generator: np.random.Generator) -> tuple[Array, Array]:
        """Variables, scaled to [-1, 1], and values."""
        unit = generator.uniform(-1, 1, (count, len(self.ranges)))
        low, high = np.array(self.ranges).T
        return unit, np.asarray(self.value(*(low + (high - low) * (unit + 1) / 2).T))


ONE_TO_FIVE = (1.0, 5.0)
FORMULAS = {
    "tutorial 1": Formula(lambda x, y: np.exp(np.sin(np.pi * x) + y**2), ((-1, 1),) * 2),
    "tutorial 2": Formula(lambda x, y: special.j0(20 * x) + y**2, ((-1, 1),) * 2),
    "tutorial 3": Formula(
        lambda a, b, c, d: np.exp((np.sin(np.pi * (a**2 + b**2)) + np.sin(np.pi * (c**2 + d**2))) / 2),
        ((-1, 1),) * 4,
    ),
    "I.6.2": Formula(lambda s, t: np.exp(-((t / s) ** 2) / 2) / np.sqrt(2 * np.pi * s**2), ((1, 3), (1, 3))),
    "elliptic integral F": Formula(special.ellipkinc, ((0, np.pi / 2), (0, 0.95))),
    "I.12.11": Formula(
        lambda q, e, b, v, t: q * (e + b * v * np.sin(t)),
        (ONE_TO_FIVE,) * 4 + (ONE_TO_FIVE,),
    ),
    "I.13.12": Formula(lambda g, m, n, r, q: g * m * n * (1 / q - 1 / r), (ONE_TO_FIVE,) * 5),
    "I.16.6": Formula(lambda c, v, u: (u + v) / (1 + u * v / c**2), (ONE_TO_FIVE,) * 3),
    "Bessel function J": Formula(special.jv, ((0, 3), (0, 15))),
    "I.18.4": Formula(lambda m, n, r, q: (m * r + n * q) / (m + n), (ONE_TO_FIVE,) * 4),
    "I.26.2": Formula(lambda n, t: np.arcsin(n * np.sin(t)), ((0, 1), ONE_TO_FIVE)),
    "I.27.6": Formula(lambda d, e, n: 1 / (1 / d + n / e), (ONE_TO_FIVE,) * 3),
    "I.29.16": Formula(
        lambda x, y, s, t: np.sqrt(x**2 + y**2 - 2 * x * y * np.cos(s - t)), (ONE_TO_FIVE,) * 4
    ),
    "I.30.3": Formula(lambda i, t, n: i * np.sin(n * t / 2) ** 2 / np.sin(t / 2) ** 2, (ONE_TO_FIVE,) * 3),
    "spherical harmonic Y(4, 2)": Formula(
        lambda x, a: special.lpmv(2, 4, x) * np.cos(2 * a), ((-0.999, 0.999), (0, 2 * np.pi))
    ),
    "I.40.1": Formula(lambda n, m, x, t: n * np.exp(-m * x / t), (ONE_TO_FIVE, (1, 3), (1, 3), ONE_TO_FIVE)),
    "I.50.26": Formula(lambda x, w, t, a: x * (np.cos(w * t) + a * np.cos(w * t) ** 2), ((1, 3),) * 4),
    "II.2.42": Formula(lambda k, t, s, a, d: k * (s - t) * a / d, (ONE_TO_FIVE,) * 5),
    "II.35.18": Formula(lambda n, m, b, t: n / (np.exp(m * b / t) + np.exp(-m * b / t)), ((1, 3),) * 4),
    "III.10.19": Formula(lambda m, x, y, z: m * np.sqrt(x**2 + y**2 + z**2), (ONE_TO_FIVE,) * 4),
    "III.17.37": Formula(lambda b, a, t: b * (1 + a * np.cos(t)), (ONE_TO_FIVE,) * 3),
}
"""By the equation's number, or by name."""
