"""Plots of learned functions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from numpy.typing import NDArray
from torch import nn

from kafnets.inspection import style
from kafnets.inspection.curves import Arrays, Columns, LearnedFunctions, from_arrays, network_of
from kafnets.inspection.recorder import learned_functions
from kafnets.inspection.snapshots import FIRST


def shapes(
    model: nn.Module,
    data: Any = None,
    *,
    start: nn.Module | None = None,
    layer: str | None = None,
    neurons: int = FIRST,
    columns: int = 6,
    axes: Any = None,
) -> Figure:
    """Draw the learned functions of a model.

    Functions of one input are curves: the learned function in solid green, the initial one in dashed red, and
    the distribution of its inputs in light blue. Functions of two inputs, such as 2D-KAFs, are heat maps with
    a common color scale and contour lines of the initial function. Dotted lines mark the ends of the
    dictionary::

        start = copy.deepcopy(model)
        ...  # training
        kafnets.plot.shapes(model, x_test, start=start).savefig("learned.png")

    Args:
        model: any network with activations of this package, or edge-wise layers.
        data: inputs of the network, a tensor or an array; None: no distributions are drawn.
        start: the network before training; None: no initial functions are drawn.
        layer: the name of one layer in the model; None: all layers.
        neurons: maximum number of functions per layer.
        columns: number of panels per row.
        axes: draw into these axes instead of a new figure, without legend and color bar.
    """
    found = learned_functions(model, data, functions=neurons)
    if start is not None:
        began = learned_functions(start, data, moment="start", functions=neurons, argument="start")
        if [_form(each) for each in began] != [_form(each) for each in found]:
            raise ValueError("start must be a network of the same layers as model, before it was trained")
        found = [
            replace(each, moments=first.moments | each.moments)
            for first, each in zip(began, found, strict=True)
        ]
    return _drawn(found, layer, "end", neurons, columns, axes)


def stored_shapes(
    stored: Arrays | Iterable[LearnedFunctions],
    *,
    layer: str | None = None,
    moment: str = "end",
    neurons: int = FIRST,
    columns: int = 6,
    axes: Any = None,
) -> Figure:
    """The same from the arrays of a run folder, ``numpy.load(".../shapes.npz")``.

    Args:
        stored: arrays by name, or the result of :func:`kafnets.inspection.from_arrays`.
        layer: the name of one layer; None: all layers.
        moment: the stored moment: "end", "epoch 4", ...
        neurons: maximum number of functions per layer.
        columns: number of panels per row.
        axes: draw into these axes instead of a new figure, without legend and color bar.
    """
    if isinstance(stored, str) or not isinstance(stored, Iterable):
        raise TypeError(f"stored must be arrays by name, numpy.load('.../shapes.npz'), got {stored!r}")
    found = from_arrays(stored) if isinstance(stored, Mapping) else list(stored)
    return _drawn(found, layer, moment, neurons, columns, axes)


def embeddings(model: Any, data: Any = None, *, columns: int = 4, axes: Any = None) -> Figure:
    """Draw the learned functions of each feature, one panel per feature::

        from kafnets.sklearn import KafnetClassifier

        kafnets.plot.embeddings(KafnetClassifier().fit(X, y))

    The horizontal axis has the feature's values by rank; its labels are the minimum, the quartiles and the
    maximum. If several networks are averaged, the functions of all are drawn, with a color and a dash per
    network. Networks that treat a feature alike can have different functions of it, since each combines them
    with weights of its own.

    Args:
        model: an estimator that was fitted, a :class:`kafnets.Predictor`, or a network with
            :class:`kafnets.nn.KAFEmbedding`, whose features are numbered and scaled.
        data: inputs of the network, see :meth:`kafnets.Predictor.transform`. With them, distributions are
            drawn, and the most influential features come first, each with the share of the variance of the
            network's outputs that depends on it, estimated by shuffling its values.
        columns: panels per row.
        axes: draw into these axes, one per feature, instead of a new figure.
    """
    prepared = getattr(model, "predictor_", model)
    network = getattr(prepared, "model", prepared)
    known = Columns.of(prepared) if hasattr(prepared, "scaling") else None
    found = learned_functions(network, data, columns=known, with_influence=True)
    layers = [each for each in found if each.features]
    if not layers:
        raise ValueError(
            "model has no KAFEmbedding: estimators have it with embedding='kaf', and with 'auto' in every "
            "second network, if a feature has more than two values"
        )
    looks, handles = [style.LEARNED], [Line2D([], [], **style.LEARNED, label="learned")]
    if len(layers) > 1:
        looks = [style.SERIES[at % len(style.SERIES)] for at in range(len(layers))]
        networks = [network_of(each.layer) or each.layer for each in layers]
        handles = [Line2D([], [], **look, label=name) for look, name in zip(looks, networks, strict=True)]
    first, shares = layers[0], layers[0].moments["end"].influence
    figure, places = style.places(axes, len(first.features), columns, width=2.8, height=2.1)
    for place, number in zip(places, first.by_influence("end"), strict=True):
        at = _ground(place, first, number, "end")
        for look, each in zip(looks, layers, strict=True):
            place.plot(at, each.values("end")[number].T, **look | {"linewidth": 1.1})
        share = "" if shares is None else f" ({shares[number]:.0%})"
        place.set_title(first.name_of(number) + share, fontsize=8)
    if axes is None:
        _explain(figure, places, layers[:1], "end", handles)
    return figure


def _drawn(
    layers: Sequence[LearnedFunctions], layer: str | None, moment: str, neurons: int, columns: int, axes: Any
) -> Figure:
    present = [each for each in layers if moment in each.moments]
    if not present:
        moments = dict.fromkeys(name for each in layers for name in each.moments)
        raise ValueError(f"moment must be one of {', '.join(moments)}, got {moment!r}")
    chosen = [each for each in present if layer in (None, each.layer)]
    if not chosen:
        raise ValueError(f"layer must be one of {', '.join(each.layer for each in present)}, got {layer!r}")
    panels = [(each, number) for each in chosen for number in range(min(neurons, len(each.values(moment))))]
    flat = [each.values(moment)[number] for each, number in panels if each.inputs == 2]
    scale = Normalize(min(map(np.min, flat)), max(map(np.max, flat))) if flat else Normalize()
    size = {"width": 1.9, "height": 1.9} if len(flat) == len(panels) else {}  # those are squares
    figure, places = style.places(axes, len(panels), columns, **size)
    for place, (each, number) in zip(places, panels, strict=True):
        if each.inputs == 2:
            _surface(place, each, number, moment, scale)
        else:
            _curve(place, each, number, moment)
        name = each.name_of(number)
        place.set_title(f"layer {each.layer}, {name}" if len(chosen) > 1 else name, fontsize=7)
    if axes is None:
        _explain(figure, places, chosen, moment)
    return figure


def _form(each: LearnedFunctions) -> tuple[Any, ...]:
    return each.layer, each.inputs, each.count, each.values(next(iter(each.moments))).shape[1:]


def _explain(
    figure: Figure,
    places: list[Axes],
    chosen: list[LearnedFunctions],
    moment: str,
    learned: Sequence[Line2D] = (),
) -> None:
    """One legend, one color bar, and names of the axes."""
    signs: list[Any] = [*learned]
    curved = any(each.inputs == 1 for each in chosen)
    if curved and not learned:
        signs.append(Line2D([], [], **style.LEARNED, label="learned" if moment == "end" else moment))
    if moment != "start" and any("start" in each.moments for each in chosen):
        signs.append(Line2D([], [], **style.START, label="initial"))
    if curved and any(each.moments[moment].histogram is not None for each in chosen):
        signs.append(Patch(**style.DATA, label="distribution of inputs"))
    if any(each.dictionary for each in chosen):
        signs.append(Line2D([], [], **style.ENDS, label="ends of the dictionary"))
    if signs:
        figure.legend(handles=signs, loc="outside upper center", ncols=4, fontsize=7, frameon=False)
    images = [place for place in places if place.images]
    if images:
        bar = figure.colorbar(images[0].images[0], ax=images)
        bar.set_label("output", fontsize=8)
        bar.ax.tick_params(labelsize=7)
    if all(each.features for each in chosen):
        style.label(figure, "values of the feature, by rank: minimum, quartiles, maximum")
    else:
        style.label(figure, *(("input", "output") if curved else ("first input", "second input")))


def _ground(axes: Axes, layer: LearnedFunctions, number: int, moment: str) -> NDArray[np.float64]:
    """All of a panel but its curves; the places of their values."""
    at = np.linspace(-layer.limit, layer.limit, layer.values(moment).shape[-1])
    histogram = layer.rows_of(number, layer.moments[moment].histogram)
    if histogram is not None:
        behind = axes.twinx()
        edges = np.linspace(-layer.limit, layer.limit, histogram.shape[1] + 1)
        behind.stairs(histogram[0], edges, fill=True, **style.DATA)
        behind.set_ylim(bottom=0)
        behind.axis("off")
        axes.set_zorder(behind.get_zorder() + 1)
        axes.patch.set_visible(False)
    for end in layer.dictionary or ():
        axes.axvline(end, **style.ENDS)
    axes.set_xlim(-layer.limit, layer.limit)
    if layer.quantiles:
        labels = [f"{value:.15g}" for value in layer.quantiles[number]]
        axes.set_xticks(np.linspace(-layer.limit, layer.limit, len(labels)), labels, rotation=45)
    style.plain(axes)
    return at


def _curve(axes: Axes, layer: LearnedFunctions, number: int, moment: str) -> None:
    at = _ground(axes, layer, number, moment)
    looks = {"start": style.START, moment: style.LEARNED}
    for name, look in looks.items():
        if (function := layer.function(name, number)) is not None:
            lines = np.atleast_2d(function).T
            axes.plot(at, lines, **look | ({"linewidth": 0.9} if lines.shape[1] > 2 else {}))


def _surface(axes: Axes, layer: LearnedFunctions, number: int, moment: str, scale: Normalize) -> None:
    values, limit = layer.values(moment)[number], layer.limit
    axes.imshow(
        values.T, origin="lower", extent=(-limit, limit, -limit, limit), cmap=style.SURFACE, norm=scale
    )
    began = None if moment == "start" else layer.function("start", number)
    if began is not None:
        at = np.linspace(-limit, limit, len(values))
        span = np.linspace(scale.vmin or 0.0, scale.vmax or 0.0, 6)
        levels = [level for level in span[1:-1] if began.min() < level < began.max()]
        if levels:
            axes.contour(
                at, at, began.T, levels, colors=style.START["color"], linewidths=0.8, linestyles="--"
            )
    if layer.dictionary:
        low, high = layer.dictionary
        axes.add_patch(
            Rectangle((low, low), high - low, high - low, fill=False, **style.ENDS | {"color": "white"})
        )
    axes.tick_params(labelsize=7)
