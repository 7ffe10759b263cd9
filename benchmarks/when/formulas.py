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

ONE_TO_THREE = (1.0, 3.0)
SPEEDS, OF_LIGHT = (1.0, 2.0), (3.0, 10.0)

MORE = {
    "I.6.2b": Formula(
        lambda s, t, t1: np.exp(-(((t - t1) / s) ** 2) / 2) / (np.sqrt(2 * np.pi) * s), (ONE_TO_THREE,) * 3
    ),
    "I.8.14": Formula(lambda a, b, c, d: np.sqrt((b - a) ** 2 + (d - c) ** 2), (ONE_TO_FIVE,) * 4),
    "I.10.7": Formula(lambda m, v, c: m / np.sqrt(1 - v**2 / c**2), (ONE_TO_FIVE, SPEEDS, OF_LIGHT)),
    "I.13.4": Formula(lambda m, v, u, w: m * (v**2 + u**2 + w**2) / 2, (ONE_TO_FIVE,) * 4),
    "I.15.3x": Formula(
        lambda x, u, c, t: (x - u * t) / np.sqrt(1 - u**2 / c**2), ((5, 10), SPEEDS, (3, 20), (1, 2))
    ),
    "I.15.3t": Formula(
        lambda x, c, u, t: (t - u * x / c**2) / np.sqrt(1 - u**2 / c**2),
        (ONE_TO_FIVE, OF_LIGHT, SPEEDS, ONE_TO_FIVE),
    ),
    "I.15.1": Formula(lambda m, v, c: m * v / np.sqrt(1 - v**2 / c**2), (ONE_TO_FIVE, SPEEDS, OF_LIGHT)),
    "I.18.12": Formula(lambda r, f, t: r * f * np.sin(t), (ONE_TO_FIVE, ONE_TO_FIVE, (0, 5))),
    "I.18.14": Formula(lambda m, r, v, t: m * r * v * np.sin(t), (ONE_TO_FIVE,) * 4),
    "I.24.6": Formula(lambda m, w, w0, x: m * (w**2 + w0**2) * x**2 / 4, (ONE_TO_THREE,) * 4),
    "I.30.5": Formula(lambda a, d, n: np.arcsin(a / (n * d)), ((1, 2), (2, 5), ONE_TO_FIVE)),
    "I.34.1": Formula(lambda c, v, w: w / (1 - v / c), (OF_LIGHT, SPEEDS, ONE_TO_FIVE)),
    "I.34.14": Formula(
        lambda c, v, w: (1 + v / c) / np.sqrt(1 - v**2 / c**2) * w, (OF_LIGHT, SPEEDS, ONE_TO_FIVE)
    ),
    "I.37.4": Formula(lambda i, j, d: i + j + 2 * np.sqrt(i * j) * np.cos(d), (ONE_TO_FIVE,) * 3),
    "I.39.11": Formula(lambda g, p, v: p * v / (g - 1), ((2, 5), ONE_TO_FIVE, ONE_TO_FIVE)),
    "I.41.16": Formula(
        lambda w, t, h, k, c: (
            h / (2 * np.pi) * w**3 / (np.pi**2 * c**2 * np.expm1(h / (2 * np.pi) * w / (k * t)))
        ),
        (ONE_TO_FIVE,) * 5,
    ),
    "I.43.43": Formula(lambda g, k, a, v: k * v / ((g - 1) * a), ((2, 5), *(ONE_TO_FIVE,) * 3)),
    "I.44.4": Formula(lambda n, k, t, v1, v2: n * k * t * np.log(v2 / v1), (ONE_TO_FIVE,) * 5),
    "I.48.2": Formula(lambda m, v, c: m * c**2 / np.sqrt(1 - v**2 / c**2), (ONE_TO_FIVE, SPEEDS, OF_LIGHT)),
    "II.6.11": Formula(lambda e, p, t, r: p * np.cos(t) / (4 * np.pi * e * r**2), (ONE_TO_THREE,) * 4),
    "II.6.15b": Formula(
        lambda e, p, t, r: 3 * p * np.cos(t) * np.sin(t) / (4 * np.pi * e * r**3), (ONE_TO_THREE,) * 4
    ),
    "II.10.9": Formula(lambda s, e, x: s / (e * (1 + x)), (ONE_TO_FIVE,) * 3),
    "II.11.3": Formula(
        lambda q, e, m, w0, w: q * e / (m * (w0**2 - w**2)), (*(ONE_TO_THREE,) * 3, (3, 5), (1, 2))
    ),
    "II.11.27": Formula(lambda n, a, e, f: n * a / (1 - n * a / 3) * e * f, ((0, 1), (0, 1), (1, 2), (1, 2))),
    "II.11.28": Formula(lambda n, a: 1 + n * a / (1 - n * a / 3), ((0, 1), (0, 1))),
    "II.15.4": Formula(lambda m, b, t: -m * b * np.cos(t), (ONE_TO_FIVE,) * 3),
    "II.21.32": Formula(
        lambda q, e, r, v, c: q / (4 * np.pi * e * r * (1 - v / c)), (*(ONE_TO_FIVE,) * 3, SPEEDS, OF_LIGHT)
    ),
    "II.24.17": Formula(lambda w, c, d: np.sqrt(w**2 / c**2 - np.pi**2 / d**2), ((4, 6), (1, 2), (2, 4))),
    "II.35.21": Formula(lambda n, m, b, k, t: n * m * np.tanh(m * b / (k * t)), (ONE_TO_FIVE,) * 5),
    "II.37.1": Formula(lambda m, b, x: m * (1 + x) * b, (ONE_TO_FIVE,) * 3),
    "II.38.14": Formula(lambda y, s: y / (2 * (1 + s)), (ONE_TO_FIVE,) * 2),
    "III.4.32": Formula(lambda h, w, k, t: 1 / np.expm1(h / (2 * np.pi) * w / (k * t)), (ONE_TO_FIVE,) * 4),
    "III.4.33": Formula(
        lambda h, w, k, t: h / (2 * np.pi) * w / np.expm1(h / (2 * np.pi) * w / (k * t)), (ONE_TO_FIVE,) * 4
    ),
    "III.8.54": Formula(lambda e, t, h: np.sin(2 * np.pi * e * t / h) ** 2, ((1, 2), (1, 2), (1, 4))),
    "III.14.14": Formula(lambda i, q, v, k, t: i * np.expm1(q * v / (k * t)), (ONE_TO_FIVE, *((1, 2),) * 4)),
    "III.15.12": Formula(lambda u, k, d: 2 * u * (1 - np.cos(k * d)), (ONE_TO_FIVE,) * 3),
}
"""All equations of 2 to 5 variables in the list of Udrescu and Tegmark, with its ranges, that are not above.

Left out are products of powers, and equations of the form of another one with other letters: II.13.23 as
I.10.7, II.13.34 as I.15.1 and II.15.5 as II.15.4.
"""
