"""Learned functions as short formulas, where there are any."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ENOUGH = 0.03
"""A formula may be wrong by this share of the function's standard deviation over its data."""

KNOWN: dict[str, Callable[[Array], Array]] = {
    "linear": lambda s: s,
    "relu": lambda s: np.maximum(s, 0),
    "elu": lambda s: np.where(s > 0, s, np.expm1(np.minimum(s, 0))),
    "softplus": lambda s: np.logaddexp(0, s),
    "tanh": np.tanh,
    "swish": lambda s: s / (1 + np.exp(-s)),
    "abs": np.abs,
    "square": np.square,
    "gaussian": lambda s: np.exp(-(s**2)),
    "sine": np.sin,
}
"""The logistic function is not among them: it is a tanh, up to shift and scale."""

HIGHEST = 4
"""The largest degree of polynomials, and the largest number of Gaussians."""

SYMBOLIC: dict[str, Callable[[Any, Any], Any]] = {
    "linear": lambda sympy, u: u,
    "relu": lambda sympy, u: sympy.Max(0, u),
    "elu": lambda sympy, u: sympy.Piecewise((u, u > 0), (sympy.exp(u) - 1, True)),
    "softplus": lambda sympy, u: sympy.log(1 + sympy.exp(u)),
    "tanh": lambda sympy, u: sympy.tanh(u),
    "swish": lambda sympy, u: u / (1 + sympy.exp(-u)),
    "abs": lambda sympy, u: sympy.Abs(u),
    "square": lambda sympy, u: u**2,
    "gaussian": lambda sympy, u: sympy.exp(-(u**2)),
    "sine": lambda sympy, u: sympy.sin(u),
}
"""The same in sympy's terms."""


@dataclass(frozen=True)
class Formula:
    """A function of s in short.

    Attributes:
        text: what sympy prints; "no short formula" if there is none.
        error: its root-mean-square error over the data, as a share of the deviation of the function there; if
            there is no short formula, that of the best that was tried.
        kind: "constant", "named", "polynomial", "gaussians" or "none".
    """

    text: str
    error: float
    kind: str

    def __str__(self) -> str:
        return f"{self.text} (error {self.error:.1%})"

    @property
    def expression(self) -> Any:
        """As a sympy expression; None if there is none."""
        import sympy

        return None if self.kind == "none" else sympy.sympify(self.text)


def formula_of(places: Array, values: Array, weights: Array) -> Formula:
    """The first of some kinds that is right to 3% of the function's standard deviation over its data.

    In this order: a constant; a straight line; the best known function, shifted and scaled; a polynomial of
    degree up to 4; a sum of up to 4 Gaussians. Numbers are rounded to three digits, and errors are those of
    the rounded formula.

    Args:
        places: where the function is known.
        values: its values there.
        weights: how much of its data lies there.
    """
    import sympy

    s, share = sympy.Symbol("s", real=True), weights / max(weights.sum(), 1e-12)
    mean = float((share * values).sum())
    deviation = float(np.sqrt((share * (values - mean) ** 2).sum()))
    if deviation < 1e-6 * max(abs(mean), 1):
        return Formula(str(_number(sympy, mean)), 0.0, "constant")
    best = np.inf
    for kind, expression in _candidates(sympy, s, places, values, share):
        found = np.broadcast_to(sympy.lambdify(s, expression, "numpy")(places), places.shape)
        error = float(np.sqrt((share * (found - values) ** 2).sum())) / deviation
        if error <= ENOUGH:
            return Formula(str(expression), error, kind)
        best = min(best, error)
    return Formula("no short formula", best, "none")


def _candidates(sympy: Any, s: Any, places: Array, values: Array, share: Array) -> Iterator[tuple[str, Any]]:
    """Kinds and expressions, the shortest first."""
    root = np.sqrt(share)
    known = {name: _known(sympy, s, name, places, values, root) for name in KNOWN}
    yield "named", known.pop("linear")[1]
    yield "named", min(known.values(), key=lambda each: each[0])[1]
    for degree in range(2, HIGHEST + 1):
        powers = _solved(np.vander(places, degree + 1, increasing=True), values, root)
        yield "polynomial", sum(_number(sympy, each) * s**power for power, each in enumerate(powers))
    for count in range(1, HIGHEST + 1):
        yield "gaussians", _gaussians(sympy, s, count, places, values, root)


def _known(sympy: Any, s: Any, name: str, places: Array, values: Array, root: Array) -> tuple[float, Any]:
    """The best a f(b s + c) + d, and its squared error: b and c by search, a and d by least squares."""
    function = KNOWN[name]
    scales = [1.0] if name in ("linear", "relu", "abs", "square") else np.geomspace(0.25, 4, 13)
    sides = (1.0,) if name in ("linear", "tanh", "abs", "square", "gaussian", "sine") else (1.0, -1.0)
    shifts: Any = [0.0] if name == "linear" else np.linspace(-4, 4, 33)
    choices = [
        (side * scale, -side * scale * shift) for scale in scales for side in sides for shift in shifts
    ]
    step = 0.25
    best = min(choices, key=lambda each: _residual(function, each[0], each[1], places, values, root))
    for _ in range(6 if name != "linear" else 0):
        steps = [(i * step * (len(scales) > 1), j * step) for i in (-1, 0, 1) for j in (-1, 0, 1)]
        near = [(best[0] * (1 + i), best[1] + j) for i, j in steps]
        best = min(near, key=lambda each: _residual(function, each[0], each[1], places, values, root))
        step /= 2
    b, c = (_rounded(each) for each in best)
    factor, offset = _solved(np.stack([function(b * places + c), np.ones_like(places)], 1), values, root)
    if abs(offset) < 1e-3 * np.abs(values).max():  # beyond the three digits of all numbers
        offset = 0.0
    inside = SYMBOLIC[name](sympy, _number(sympy, b) * s + _number(sympy, c))
    error = _residual(function, b, c, places, values, root)
    return error, _number(sympy, factor) * inside + _number(sympy, offset)


def _residual(
    function: Callable[[Array], Array], b: float, c: float, places: Array, values: Array, root: Array
) -> float:
    design = np.stack([function(b * places + c), np.ones_like(places)], 1)
    left = (values - design @ _solved(design, values, root)) * root
    return float((left**2).sum())


def _gaussians(sympy: Any, s: Any, count: int, places: Array, values: Array, root: Array) -> Any:
    """Greedily: each one where it explains most of what is left, all heights anew each time."""
    options = [(center, width) for width in (0.5, 1.0, 2.0) for center in np.arange(-4, 4.01, 0.5)]
    columns = {each: np.exp(-(((places - each[0]) / each[1]) ** 2)) for each in options}
    chosen: list[tuple[float, float]] = []
    for _ in range(count):

        def left(each: tuple[float, float]) -> float:
            design = np.stack([columns[one] for one in (*chosen, each)], 1)
            return float((((values - design @ _solved(design, values, root)) * root) ** 2).sum())

        chosen.append(min((each for each in options if each not in chosen), key=left))
    heights = _solved(np.stack([columns[each] for each in chosen], 1), values, root)
    return sum(
        _number(sympy, height) * sympy.exp(-(((s - _number(sympy, center)) / _number(sympy, width)) ** 2))
        for height, (center, width) in zip(heights, chosen, strict=True)
    )


def _solved(design: Array, values: Array, root: Array) -> Array:
    """Weighted least squares."""
    return np.asarray(np.linalg.lstsq(design * root[:, None], values * root, rcond=None)[0])


def _number(sympy: Any, value: float) -> Any:
    """Three digits; whole numbers as such."""
    rounded = _rounded(value)
    whole = rounded == int(rounded) and abs(rounded) < 1e6
    return sympy.Integer(int(rounded)) if whole else sympy.Float(rounded, 3)


def _rounded(value: float) -> float:
    return float(f"{value:.3g}") if abs(value) > 1e-6 else 0.0
