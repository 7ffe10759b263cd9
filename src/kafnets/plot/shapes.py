"""Every learned activation, small multiples."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import nn

from kafnets.plot import style
from kafnets.train.shapes import BINS, BOUNDARY, NEURONS, POINTS, as_fed, check_plottable, record

Stored = Mapping[str, NDArray[np.float16]]


def shapes(
    model: nn.Module,
    data: Any = None,
    *,
    start: nn.Module | None = None,
    layer: str | None = None,
    neurons: int = NEURONS,
    columns: int = 6,
    axes: Any = None,
) -> Figure:
    """Draw the learned activations of a model.

    Functions of one input are curves: what was learned in solid green, where it started in dashed red, the
    distribution of its inputs in light blue. Functions of two inputs, as those of 2D-KAFs, are heat maps, the
    darker the larger::

        start = copy.deepcopy(model)
        ...  # training
        kafnets.plot.shapes(model, x_test, start=start).savefig("learned.png")

    Args:
        model: any network with activations of this package.
        data: what the network is fed, a tensor or an array; without it, no distributions are drawn.
        start: the network before it was trained; without it, no starts are drawn.
        layer: the name of one activation in the model; all of them if None.
        neurons: the first so many of each layer.
        columns: of small multiples.
        axes: draw into these, in place of a new figure.
    """
    check_plottable("model", model)
    features = None if data is None else as_fed(model, data)
    stored = record(model, features, "end", neurons)
    if start is not None:
        check_plottable("start", start)
        began = record(start, features, "start", neurons)
        if _shapes(began) != _shapes(stored):
            raise ValueError("start must be a network of the same layers as model, before it was trained")
        stored |= began
    if not layers_of(stored):
        raise ValueError("functions of more than two inputs cannot be drawn: give groups of two")
    return stored_shapes(stored, layer=layer, neurons=neurons, columns=columns, axes=axes)


def stored_shapes(
    stored: Stored,
    *,
    layer: str | None = None,
    moment: str = "end",
    neurons: int = NEURONS,
    columns: int = 6,
    axes: Any = None,
) -> Figure:
    """The same from the shapes of a run folder, ``numpy.load(".../shapes.npz")``.

    Args:
        stored: arrays by name, see :func:`kafnets.train.shapes.record`.
        layer: the name of one activation; all of them if None.
        moment: which of the stored moments: "end", "epoch 4", ...
        neurons: the first so many of each layer.
        columns: of small multiples.
        axes: draw into these, in place of a new figure.
    """
    if not isinstance(stored, Mapping):
        raise TypeError(f"stored must be arrays by name, numpy.load('.../shapes.npz'), got {stored!r}")
    layers = layers_of(stored, moment)
    if not layers:
        moments = dict.fromkeys(name.rsplit("/", 2)[1] for name in stored if name.count("/") > 1)
        raise ValueError(f"moment must be one of {', '.join(moments)}, got {moment!r}")
    if layer is not None:
        if layer not in layers:
            raise ValueError(f"layer must be one of {', '.join(layers)}, got {layer!r}")
        layers = [layer]
    drawn = [
        (each, number) for each in layers for number in range(min(neurons, _count(stored, each, moment)))
    ]
    if axes is None:
        figure, places = style.grid(len(drawn), columns)
    else:
        places = style.taken(axes, len(drawn))
        figure = style.figure_of(places)
    for place, (each, number) in zip(places, drawn, strict=True):
        if f"{each}/{moment}/surfaces" in stored:
            _surface(place, stored, each, number, moment)
        else:
            _curve(place, stored, each, number, moment)
        place.set_title(f"layer {each}, {number}" if len(layers) > 1 else str(number), fontsize=7)
    return figure


def _shapes(stored: Stored) -> dict[str, tuple[int, ...]]:
    """By layer and kind, whenever it was."""
    return {"/".join(name.rsplit("/", 2)[::2]): values.shape for name, values in stored.items()}


def layers_of(stored: Stored, moment: str = "end") -> list[str]:
    """Names of the activations that were stored."""
    found = [
        name.removesuffix(f"/{moment}/{kind}")
        for name in stored
        for kind in ("curves", "surfaces")
        if name.endswith(f"/{moment}/{kind}")
    ]
    return list(dict.fromkeys(found))


def _count(stored: Stored, layer: str, moment: str) -> int:
    for kind in ("curves", "surfaces"):
        if (values := stored.get(f"{layer}/{moment}/{kind}")) is not None:
            return len(values)
    return 0


def _curve(axes: Axes, stored: Stored, layer: str, number: int, moment: str) -> None:
    places = np.linspace(-BOUNDARY, BOUNDARY, POINTS)
    histogram = stored.get(f"{layer}/{moment}/histogram")
    if histogram is not None:
        behind = axes.twinx()
        edges = np.linspace(-BOUNDARY, BOUNDARY, BINS + 1)
        behind.stairs(histogram[number].astype(float), edges, fill=True, **style.DATA)
        behind.set_ylim(bottom=0)
        behind.axis("off")
        axes.set_zorder(behind.get_zorder() + 1)
        axes.patch.set_visible(False)
    began = stored.get(f"{layer}/start/curves")
    if began is not None and moment != "start":
        for curve in np.atleast_2d(began[number]).astype(float):
            axes.plot(places, curve, **style.START)
    for curve in np.atleast_2d(stored[f"{layer}/{moment}/curves"][number]).astype(float):
        axes.plot(places, curve, **style.LEARNED)
    axes.set_xlim(-BOUNDARY, BOUNDARY)
    style.plain(axes)


def _surface(axes: Axes, stored: Stored, layer: str, number: int, moment: str) -> None:
    values = stored[f"{layer}/{moment}/surfaces"][number].astype(float)
    axes.imshow(
        values.T, origin="lower", extent=(-BOUNDARY, BOUNDARY, -BOUNDARY, BOUNDARY), cmap=style.SURFACE
    )
    axes.tick_params(labelsize=7)
