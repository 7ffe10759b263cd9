"""What is this shape? Learned functions put into words."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from kafnets.train.shapes import BINS, BOUNDARY, POINTS, SIDE, as_fed, check_plottable, record

Kind = Literal["dead", "constant", "saturating", "bump", "monotone", "complex", "plane", "surface"]
Array = NDArray[np.float64]

DEAD = 0.02
"""A function whose values stay below this where its data lies does nothing."""

FLAT = 0.1
"""A slope below this share of the steepest one counts as none."""

LIKE = 0.95
"""From this share of explained variance on a known function is named in summaries."""

TIE = 0.005
"""Known functions whose shares differ by less are equally near."""

RARE = 0.005
"""Bins with less than this share of the data are not where its data lies."""

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

_SCALES = np.geomspace(0.25, 4, 25)
_SHIFTS = np.linspace(-4, 4, 49)
_FREQUENCIES, _PHASES = np.arange(0.3, 5.0, 0.1), np.linspace(0, np.pi, 12, endpoint=False)


@dataclass(frozen=True)
class Shape:
    """One learned function in words.

    Attributes:
        layer: the activation's name in the model.
        neuron: its number, or its pair's.
        kind: "dead" (practically zero where its data lies), "constant", "saturating", "bump", "monotone" or
            "complex"; for functions of two inputs "dead", "plane" or "surface".
        nearest: the known function that is nearest to it, up to shift and scale of both axes.
        r2: the share of its variance, over its data, that this explains.
        outside: the share of inputs outside the dictionary; None for activations that have none, or one that
            reaches beyond what is looked at, from -5 to 5.
        largest: its largest absolute value where its data lies.
    """

    layer: str
    neuron: int
    kind: Kind
    nearest: str
    r2: float
    outside: float | None
    largest: float

    def __str__(self) -> str:
        named = self.r2 >= LIKE and self.kind not in ("dead", self.nearest)
        like = f", like {self.nearest} (R² {self.r2:.2f})" if named else ""
        beyond = f", {self.outside:.0%} of inputs outside" if self.outside and self.outside >= 0.01 else ""
        return f"{self.kind}{like}{beyond}"


class Shapes(list[Shape]):
    """All functions of a model. Prints as a table."""

    def to_frame(self) -> Any:
        """As a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame([asdict(shape) for shape in self])

    def counts(self) -> dict[str, int]:
        """How many there are of each kind, the commonest first."""
        kinds = [shape.kind for shape in self]
        return {kind: kinds.count(kind) for kind in sorted(set(kinds), key=lambda kind: -kinds.count(kind))}

    def __str__(self) -> str:
        names = f"{'layer':<10} {'neuron':>6}  {'kind':<11} {'nearest':<9} {'R²':>5}"
        lines = [f"{names} {'outside':>8} {'largest':>8}"]
        for each in self:
            outside = "-" if each.outside is None else f"{each.outside:.1%}"
            lines.append(
                f"{each.layer:<10} {each.neuron:>6}  {each.kind:<11} {each.nearest:<9} {each.r2:>5.2f} "
                f"{outside:>8} {each.largest:>8.3g}"
            )
        return "\n".join(lines)


def describe(model: nn.Module, data: Any, *, neurons: int | None = None) -> Shapes:
    """Put every learned activation of a model into words.

    Args:
        model: any network with activations of this package that can be plotted.
        data: what the network is fed: a tensor or an array.
        neurons: the first so many of each layer; None for all.
    """
    check_plottable("model", model)
    stored = record(model, as_fed(model, data), "end", neurons or 10**6)
    boundaries = {
        name: float(dictionary.abs().max())
        for name, module in model.named_modules()
        if isinstance(dictionary := getattr(module, "dictionary", None), Tensor)
    }
    return describe_stored(stored, boundaries)


def describe_stored(
    stored: dict[str, NDArray[np.float16]], boundaries: dict[str, float], moment: str = "end"
) -> Shapes:
    """The same from what a run has stored of its shapes.

    Args:
        stored: what :func:`kafnets.train.shapes.record` gave.
        boundaries: by layer, where its dictionary ends.
        moment: which of the stored ones.
    """
    found = Shapes()
    layers = [
        name.removesuffix(f"/{moment}/histogram") for name in stored if name.endswith(f"/{moment}/histogram")
    ]
    for layer in layers:
        histograms = stored[f"{layer}/{moment}/histogram"].astype(np.float64)
        outside = _outside(histograms, boundaries.get(layer))
        if (curves := stored.get(f"{layer}/{moment}/curves")) is not None:
            if curves.ndim == 3:  # several outputs a neuron: the first speaks for it
                curves = curves[:, 0]
            for number, (kind, nearest, r2, largest) in enumerate(
                _of_curves(curves.astype(np.float64), histograms)
            ):
                found.append(Shape(layer, number, kind, nearest, r2, outside[number], largest))
        elif (surfaces := stored.get(f"{layer}/{moment}/surfaces")) is not None:
            for number, surface in enumerate(surfaces.astype(np.float64)):
                kind, r2, largest = _of_surface(surface, histograms[2 * number], histograms[2 * number + 1])
                both = [each for each in outside[2 * number : 2 * number + 2] if each is not None]
                found.append(Shape(layer, number, kind, "plane", r2, max(both, default=None), largest))
    return found


def _of_curves(curves: Array, histograms: Array) -> list[tuple[Kind, str, float, float]]:
    places = np.linspace(-BOUNDARY, BOUNDARY, POINTS)
    centers = _centers()
    values = np.stack([np.interp(centers, places, curve) for curve in curves])
    names, explained = _nearest(values, histograms)
    found: list[tuple[Kind, str, float, float]] = []
    for value, weight, name, r2 in zip(values, histograms, names, explained, strict=True):
        inside = weight > RARE
        largest = float(np.abs(value[inside]).max()) if inside.any() else 0.0
        found.append((_kind(value, inside, largest), name, r2, largest))
    return found


def _kind(value: Array, inside: NDArray[np.bool_], largest: float) -> Kind:
    if largest < DEAD:
        return "dead"
    if np.ptp(value[inside]) < DEAD:
        return "constant"
    begin, end = np.flatnonzero(inside)[[0, -1]]
    slopes = np.diff(value[begin : end + 1])
    if not slopes.size:
        return "monotone"
    steepest = np.abs(slopes).max()
    signs = np.sign(slopes[np.abs(slopes) > FLAT * steepest])
    turns = int((np.diff(signs) != 0).sum())
    if turns == 0:
        ends = np.abs(slopes[[0, -1]])
        return "saturating" if (ends < FLAT * steepest).all() else "monotone"
    return "bump" if turns == 1 else "complex"


def _nearest(values: Array, weights: Array) -> tuple[list[str], list[float]]:
    """For each row of values, the known function with the largest weighted squared correlation."""
    centers = _centers()
    names, columns = [], []
    for name, function in KNOWN.items():
        if name == "sine":  # whose phase is soon lost between coarse steps
            for scale in _FREQUENCIES:
                names += [name] * len(_PHASES)
                columns += [function(scale * centers + phase) for phase in _PHASES]
            continue
        scales = np.array([1.0]) if name in ("linear", "abs", "relu", "square") else _SCALES
        mirrored = (1.0,) if name in ("linear", "tanh", "abs", "square", "gaussian") else (1.0, -1.0)
        for scale in scales:
            for side in mirrored:
                for shift in _SHIFTS if name != "linear" else [0.0]:
                    names.append(name)
                    columns.append(function(side * scale * (centers - shift)))
    known = np.stack(columns)
    total = np.maximum(weights.sum(1, keepdims=True), 1e-12)
    share = weights / total
    mean = (share * values).sum(1, keepdims=True)
    variance = (share * (values - mean) ** 2).sum(1)
    known_mean = share @ known.T
    known_variance = np.maximum(share @ (known**2).T - known_mean**2, 0)
    covariance = (share * (values - mean)) @ known.T
    with np.errstate(divide="ignore", invalid="ignore"):
        explained = covariance**2 / (known_variance * variance[:, None])
    # A candidate that hardly moves over the data explains nothing, whatever rounding says.
    explained = np.where(known_variance > 1e-8, np.nan_to_num(explained), 0.0).clip(0, 1)
    # The simplest of those that do about equally well: the first.
    best = (explained >= explained.max(1, keepdims=True) - TIE).argmax(1)
    return [names[each] for each in best], explained[np.arange(len(best)), best].tolist()


def _of_surface(surface: Array, first: Array, second: Array) -> tuple[Kind, float, float]:
    """How flat a function of two inputs is where its data lies, its inputs taken as independent."""
    places = np.linspace(-BOUNDARY, BOUNDARY, SIDE)
    along = [np.interp(places, _centers(), weight) for weight in (first, second)]
    weight = np.outer(*along)
    inside = np.outer(along[0] > RARE, along[1] > RARE)
    largest = float(np.abs(surface[inside]).max()) if inside.any() else 0.0
    if largest < DEAD:
        return "dead", 0.0, largest
    down, across = np.meshgrid(places, places, indexing="ij")
    root = np.sqrt(weight / weight.sum()).ravel()
    design = np.stack([np.ones(SIDE**2), down.ravel(), across.ravel()], 1) * root[:, None]
    target = surface.ravel() * root
    residual = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
    spread = ((surface.ravel() - (weight * surface).sum() / weight.sum()) * root) ** 2
    r2 = float(np.clip(1 - (residual**2).sum() / max(spread.sum(), 1e-12), 0, 1))
    return ("plane" if r2 >= LIKE else "surface"), r2, largest


def _outside(histograms: Array, boundary: float | None) -> list[float | None]:
    if boundary is None or boundary >= BOUNDARY:
        return [None] * len(histograms)
    beyond = np.abs(_centers()) > boundary
    return [float(share) for share in histograms[:, beyond].sum(1)]


def _centers() -> Array:
    edges = np.linspace(-BOUNDARY, BOUNDARY, BINS + 1)
    return (edges[:-1] + edges[1:]) / 2
