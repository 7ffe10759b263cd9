"""Descriptions of learned functions."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from torch import nn

from kafnets.inspection.curves import BINS, LIMIT, POINTS, SIDE, LearnedFunctions, Moment
from kafnets.inspection.formulas import KNOWN, Formula, formula_of
from kafnets.inspection.recorder import learned_functions

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

AT_ONCE = 200
"""Functions that are compared with all known ones at a time: memory is limited."""

_SCALES = np.geomspace(0.25, 4, 25)
_SHIFTS = np.linspace(-4, 4, 49)
_FREQUENCIES, _PHASES = np.arange(0.3, 5.0, 0.1), np.linspace(0, np.pi, 12, endpoint=False)


@dataclass(frozen=True)
class Shape:
    """The description of one learned function.

    Attributes:
        layer: the activation's name in the model.
        neuron: its number, or its pair's; in an edge-wise layer, the output that its connection leads to; in
            an embedding, its number among the functions of its feature.
        kind: "dead" (practically zero where its data lies), "constant", "saturating", "bump", "monotone" or
            "complex"; for functions of two inputs "dead", "plane" or "surface".
        nearest: the known function that is nearest to it, up to shift and scale of both axes.
        r2: the share of its variance, over its data, that this explains.
        outside: the share of inputs outside the dictionary; None for functions without one.
        largest: its largest absolute value where its data lies.
        source: in an edge-wise layer, the number of the input that its connection comes from.
        formula: a short formula, if requested; None for functions of two inputs.
        feature: in an embedding, the name of its feature, whose values are spread evenly by rank.
    """

    layer: str
    neuron: int
    kind: Kind
    nearest: str
    r2: float
    outside: float | None
    largest: float
    source: int | None = None
    formula: Formula | None = None
    feature: str | None = None

    @property
    def name(self) -> str:
        """Its number in the layer, or what it leads from and to."""
        origin = self.feature if self.source is None else self.source
        return str(self.neuron) if origin is None else f"{origin}→{self.neuron}"

    def __str__(self) -> str:
        named = self.r2 >= LIKE and self.kind not in ("dead", self.nearest)
        like = f", like {self.nearest} (R² {self.r2:.2f})" if named else ""
        beyond = f", {self.outside:.0%} of inputs outside" if self.outside and self.outside >= 0.01 else ""
        short = "" if self.formula is None else f", {self.formula}"
        return f"{self.kind}{like}{beyond}{short}"


class Shapes(list[Shape]):
    """All functions of a model. Prints as a table."""

    def to_frame(self) -> Any:
        """As a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame([asdict(shape) for shape in self])

    def counts(self) -> dict[str, int]:
        """The number of functions of each kind, most frequent first."""
        kinds = [shape.kind for shape in self]
        return {kind: kinds.count(kind) for kind in sorted(set(kinds), key=lambda kind: -kinds.count(kind))}

    def __str__(self) -> str:
        width = max(len(name) for name in ("neuron", *(each.name for each in self)))
        names = f"{'layer':<10} {'neuron':>{width}}  {'kind':<11} {'nearest':<9} {'R²':>5}"
        lines = [f"{names} {'outside':>8} {'largest':>8}"]
        for each in self:
            outside = "-" if each.outside is None else f"{each.outside:.1%}"
            lines.append(
                f"{each.layer:<10} {each.name:>{width}}  {each.kind:<11} {each.nearest:<9} {each.r2:>5.2f} "
                f"{outside:>8} {each.largest:>8.3g}{'' if each.formula is None else f'  {each.formula}'}"
            )
        return "\n".join(lines)


def describe(model: nn.Module, data: Any, *, neurons: int | None = None, as_formula: bool = False) -> Shapes:
    """Describe every learned function of a model in words.

    >>> shapes = kafnets.describe(kafnets.mlp(4, (8,), 1, "kaf"), torch.randn(100, 4))
    >>> len(shapes), shapes[0].layer
    (8, '1')

    As formulas, each with its error over the data:

    >>> line = nn.Sequential(kafnets.PReLU(1, init=1.0))
    >>> print(kafnets.describe(line, torch.randn(100, 1), as_formula=True)[0].formula)
    s (error 0.0%)

    Args:
        model: any network with activations of this package that can be plotted, or edge-wise layers.
        data: inputs of the network, a tensor or an array.
        neurons: only the first ``neurons`` functions of each layer, of an embedding those of the first
            features; None: all.
        as_formula: search for a short formula for each function of one input, which takes about a sixth of a
            second each: a known function shifted and scaled, a polynomial of degree up to 4, or a sum of up
            to 4 Gaussians.
    """
    return describe_functions(learned_functions(model, data, functions=neurons), as_formula=as_formula)


def describe_functions(
    layers: Iterable[LearnedFunctions], moment: str = "end", *, as_formula: bool = False
) -> Shapes:
    """The same from a record. Functions whose inputs were not recorded are left out.

    Args:
        layers: what :func:`kafnets.inspection.learned_functions` or ``from_arrays`` gave.
        moment: which of the recorded ones.
        as_formula: as for :func:`describe`.
    """
    found = Shapes()
    for layer in layers:
        if (recorded := layer.moments.get(moment)) is None:
            continue
        values = layer.values(moment)
        told = [layer.rows_of(number, recorded.histogram) for number in range(len(values))]
        known = [number for number, rows in enumerate(told) if rows is not None]
        histograms = np.array([rows for rows in told if rows is not None])
        if not known:
            continue
        each = values.shape[1] if layer.features else 1
        short: list[Formula | None] = [None] * (len(known) * each)
        if layer.inputs == 1:
            # Of several outputs per neuron, the first speaks for it. Functions of a feature have their own.
            curves = (values[:, None] if values.ndim == 2 else values)[known, :each].reshape(-1, POINTS)
            weights = histograms[:, 0].repeat(each, 0)
            described = _of_curves(curves, weights)
            if as_formula:
                short = [_formula(*pair, layer.limit) for pair in zip(curves, weights, strict=True)]
        else:
            described = [_of_surface(values[number], *histograms[at]) for at, number in enumerate(known)]
        for at, (kind, nearest, r2, largest) in enumerate(described):
            number = known[at // each]
            source, neuron, feature = None, number, None
            if layer.connections:
                neuron, source = divmod(number, layer.connections)
            if layer.features:
                neuron, feature = at % each, layer.features[number]
            outside = _outside(layer, recorded, number, histograms[at // each])
            own = layer.layer, neuron, kind, nearest, r2, outside, largest, source, short[at], feature
            found.append(Shape(*own))
    return found


def _of_curves(curves: Array, histograms: Array) -> list[tuple[Kind, str, float, float]]:
    places = np.linspace(-LIMIT, LIMIT, POINTS)
    centers = _centers()
    values = np.stack([np.interp(centers, places, curve) for curve in curves])
    found: list[tuple[Kind, str, float, float]] = []
    for first in range(0, len(values), AT_ONCE):
        some, weights = values[first : first + AT_ONCE], histograms[first : first + AT_ONCE]
        for value, weight, name, r2 in zip(some, weights, *_nearest(some, weights), strict=True):
            inside = weight > RARE
            largest = float(np.abs(value[inside]).max()) if inside.any() else 0.0
            found.append((_kind(value, inside, largest), name, r2, largest))
    return found


def _formula(curve: Array, weights: Array, limit: float) -> Formula:
    centers, places = _centers() * limit / LIMIT, np.linspace(-limit, limit, POINTS)
    return formula_of(centers, np.interp(centers, places, curve), weights)


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


@cache
def _known() -> tuple[list[str], Array]:
    """Known functions at all shifts and scales that are tried: their names, and their values by bin."""
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
    return names, np.stack(columns)


def _nearest(values: Array, weights: Array) -> tuple[list[str], list[float]]:
    """For each row of values, the known function with the largest weighted squared correlation."""
    names, known = _known()
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


def _of_surface(surface: Array, first: Array, second: Array) -> tuple[Kind, str, float, float]:
    """How flat a function of two inputs is where its data lies, its inputs taken as independent."""
    places = np.linspace(-LIMIT, LIMIT, SIDE)
    along = [np.interp(places, _centers(), weight) for weight in (first, second)]
    weight = np.outer(*along)
    inside = np.outer(along[0] > RARE, along[1] > RARE)
    largest = float(np.abs(surface[inside]).max()) if inside.any() else 0.0
    if largest < DEAD:
        return "dead", "plane", 0.0, largest
    down, across = np.meshgrid(places, places, indexing="ij")
    root = np.sqrt(weight / weight.sum()).ravel()
    design = np.stack([np.ones(SIDE**2), down.ravel(), across.ravel()], 1) * root[:, None]
    target = surface.ravel() * root
    residual = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
    spread = ((surface.ravel() - (weight * surface).sum() / weight.sum()) * root) ** 2
    r2 = float(np.clip(1 - (residual**2).sum() / max(spread.sum(), 1e-12), 0, 1))
    return ("plane" if r2 >= LIKE else "surface"), "plane", r2, largest


def _outside(layer: LearnedFunctions, moment: Moment, number: int, histograms: Array) -> float | None:
    """Of two inputs, the larger share."""
    if layer.dictionary is None:
        return None
    shares = layer.rows_of(number, moment.outside)
    if shares is None:  # older records tell only histograms
        places = _centers() * layer.limit / LIMIT
        beyond = (places < layer.dictionary[0]) | (places > layer.dictionary[1])
        shares = histograms[:, beyond].sum(1)
    return float(shares.max())


def _centers() -> Array:
    """Of the bins of a histogram from -LIMIT to LIMIT: others are scaled to that, which changes no shape."""
    edges = np.linspace(-LIMIT, LIMIT, BINS + 1)
    return (edges[:-1] + edges[1:]) / 2
