"""Records of learned functions and the distributions of their inputs."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

LIMIT, POINTS, SIDE, BINS = 5.0, 101, 31, 50
"""Functions are recorded from -LIMIT to LIMIT (farther where a dictionary is wider), curves at POINTS places,
surfaces at SIDE x SIDE places, histograms in BINS bins."""

FACTS = "layers"
"""The name of the array that tells what the functions are: JSON, as bytes."""

PARTS = ("histogram", "outside", "influence")
"""Of a moment, besides its values."""

Half = NDArray[np.float16]
Arrays = Mapping[str, NDArray[Any]]


class Columns(NamedTuple):
    """The meaning of a network's features in the user's table.

    Attributes:
        names: of all features.
        original: takes the number of a feature and scaled values of it, and gives them in its own unit.
    """

    names: tuple[str, ...]
    original: Callable[[int, NDArray[np.float64]], NDArray[np.float64]]

    @classmethod
    def of(cls, prepared: Any) -> "Columns | None":
        """Of splits, or of a predictor: whatever has a scaling and an encoding. None for images."""
        if prepared.scaling is None:
            return None
        numbered = tuple(f"x{number}" for number in range(len(prepared.scaling.median)))
        return cls(prepared.encoding.features if prepared.encoding else numbered, prepared.scaling.original)


@dataclass(frozen=True)
class Moment:
    """Functions as they were at some moment, in half precision.

    Attributes:
        values: ``(functions, POINTS)``; ``(functions, outputs, POINTS)`` where one has several outputs;
            ``(functions, SIDE, SIDE)`` for functions of two inputs, the first down the rows. Only the first
            functions may be there. One row alone stands for all functions.
        histogram: ``(inputs, BINS)``, the distribution of each input; the outermost bins take what lies
            beyond. None if the network was not fed.
        outside: ``(inputs,)``, the shares of inputs outside the dictionary.
        influence: ``(features,)``, of an embedding, the share of the variance of the network's outputs that
            depends on each feature, estimated by shuffling its values.
    """

    values: Half
    histogram: Half | None = None
    outside: Half | None = None
    influence: Half | None = None


@dataclass(frozen=True)
class LearnedFunctions:
    """The functions of one layer.

    Attributes:
        layer: its name in the model.
        activation: the kind of function: the name of its class.
        inputs: 1, or 2 for functions of two inputs.
        count: the number of functions, of an embedding that of features; None in older records, which do not
            have it.
        sharing: the number of channels, or of pairs, that share a function.
        dictionary: the ends of its dictionary; None for functions without one.
        tails: the functions outside the dictionary.
        base: the function that expansions are added to.
        connections: of an edge-wise layer, its number of inputs: function n leads from input
            ``n % connections`` to output ``n // connections``.
        features: of an embedding, the names of the features, of which each has several functions.
        quantiles: of an embedding, values of each feature: the smallest, the quartiles, and the largest,
            which stand at equal distances from ``-limit`` to ``limit``.
        limit: values are those from ``-limit`` to ``limit``.
        moments: the functions, by the name of the moment.
    """

    layer: str
    activation: str = ""
    inputs: int = 1
    count: int | None = None
    sharing: int = 1
    dictionary: tuple[float, float] | None = None
    tails: str | None = None
    base: str | None = None
    connections: int | None = None
    limit: float = LIMIT
    features: tuple[str, ...] = ()
    quantiles: tuple[tuple[float, ...], ...] = ()
    moments: dict[str, Moment] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        """All but the moments."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name != "moments"}

    def name_of(self, number: int) -> str:
        """The name of one panel: its feature, its neuron, its pair, or its connection."""
        if self.features:
            return self.features[number]
        if self.connections:
            return f"input {number % self.connections} → output {number // self.connections}"
        return f"{'neuron' if self.inputs == 1 else 'pair'} {number}"

    def values(self, moment: str) -> NDArray[np.float64]:
        """A row for each function that is there."""
        values = self.moments[moment].values.astype(np.float64)
        return np.broadcast_to(values, (self.count or 1, *values.shape[1:])) if len(values) == 1 else values

    def function(self, moment: str, number: int) -> NDArray[np.float64] | None:
        """One of them; None if it is not there."""
        values = self.values(moment) if moment in self.moments else ()
        return values[number] if number < len(values) else None

    def by_influence(self, moment: str) -> list[int]:
        """Numbers of an embedding's features, the most influential first; as they come if that is unknown."""
        shares = self.moments[moment].influence
        if shares is None:
            return list(range(len(self.values(moment))))
        order: list[int] = np.argsort(-shares, kind="stable").tolist()
        return order

    def rows_of(self, number: int, told: Half | None) -> NDArray[np.float64] | None:
        """Of what is told by input, the rows of one function: ``(inputs, ...)``; None if not there."""
        if told is None:
            return None
        first = number % self.connections if self.connections else number * self.inputs
        rows = told[first : first + self.inputs].astype(np.float64)
        return rows if len(rows) == self.inputs else None


def as_arrays(layers: Iterable[LearnedFunctions]) -> dict[str, NDArray[Any]]:
    """For a file, arrays named ``{layer}/{moment}/{curves, surfaces, histogram, outside, influence}``.

    Another has the facts.
    """
    layers = list(layers)
    arrays: dict[str, NDArray[Any]] = {}
    for each in layers:
        for name, moment in each.moments.items():
            values = "curves" if each.inputs == 1 else "surfaces"
            parts = {values: moment.values} | {part: getattr(moment, part) for part in PARTS}
            arrays |= {f"{each.layer}/{name}/{part}": own for part, own in parts.items() if own is not None}
    facts = json.dumps([each.facts() for each in layers], ensure_ascii=False)
    return arrays | {FACTS: np.frombuffer(facts.encode(), np.uint8).copy()}


def from_arrays(arrays: Arrays, unnamed: LearnedFunctions | None = None) -> list[LearnedFunctions]:
    """Read the result of :func:`as_arrays`, such as ``numpy.load(".../shapes.npz")``.

    Args:
        arrays: by name.
        unnamed: the kind of the functions if the arrays, from an older version, do not have it.
    """
    told = json.loads(bytes(arrays[FACTS].tolist())) if FACTS in arrays else []
    facts = {each["layer"]: each for each in told}
    found: dict[str, LearnedFunctions] = {}
    for name in arrays:
        parts = name.rsplit("/", 2)
        if len(parts) < 3 or parts[2] not in ("curves", "surfaces"):
            continue
        layer, moment, kind = parts
        own = {part: arrays.get(f"{layer}/{moment}/{part}") for part in PARTS}
        others = {part: None if each is None else np.asarray(each, np.float16) for part, each in own.items()}
        if layer not in found:
            plain = {"layer": layer, "inputs": 1 if kind == "curves" else 2}
            known = facts.get(layer, (unnamed.facts() if unnamed else {}) | plain)
            tuples = {
                "dictionary": _pair(known.get("dictionary")),
                "features": tuple(known.get("features", ())),
                "quantiles": tuple(map(tuple, known.get("quantiles", ()))),
            }
            found[layer] = LearnedFunctions(**known | tuples)
        found[layer].moments[moment] = Moment(np.asarray(arrays[name], np.float16), **others)
    return list(found.values())


def titles(layers: Iterable[LearnedFunctions]) -> dict[str, str]:
    """What readers are shown in place of the names of layers in the model.

    "features" for an embedding, "1", "2", ... for other layers; of networks that are averaged, after the
    number of the network.
    """
    counts: dict[str, int] = {}
    found = {}
    for each in layers:
        network = network_of(each.layer)
        if not each.features:
            counts[network] = counts.get(network, 0) + 1
        own = "features" if each.features else f"layer {counts[network]}"
        found[each.layer] = f"{network}, {own}" if network else own.removeprefix("layer ")
    return found


def network_of(layer: str) -> str:
    """Of a layer's name in :class:`kafnets.nn.Averaged`, the network that it belongs to; "" of others."""
    member = re.search(r"(?:^|\.)members\.(\d+)\.", layer)
    return f"network {int(member[1]) + 1}" if member else ""


def _pair(ends: Any) -> tuple[float, float] | None:
    return None if ends is None else (float(ends[0]), float(ends[1]))
