"""Plots of coefficients, initializations and training curves."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from kafnets.arrays.library import NUMPY
from kafnets.fixed_functions import FUNCTIONS
from kafnets.inspection import style
from kafnets.inspection.bands import band
from kafnets.inspection.curves import LIMIT, POINTS
from kafnets.inspection.recorder import curves
from kafnets.nn import KAF

Epochs = Sequence[Mapping[str, Any]]


def coefficients(model: nn.Module, *, neurons: int = 30, axes: Any = None) -> Figure:
    """Draw the mixing coefficients of every KAF in a model: one row per neuron, one column per element.

    Red is negative, blue positive, white zero. The elements of a 2D-KAF are in row-major order.

    Args:
        model: any network that contains KAFs or 2D-KAFs.
        neurons: maximum number of functions per layer.
        axes: draw into these axes, one per layer, instead of a new figure.
    """
    found = {
        name or "model": (alpha.detach().float().flatten(1)[:neurons].cpu().numpy(), module)
        for name, module in model.named_modules()
        if isinstance(alpha := getattr(module, "alpha", None), Tensor)
        and isinstance(getattr(module, "dictionary", None), Tensor)
    }
    if not found:
        raise ValueError("model has no KAF or 2D-KAF whose coefficients could be plotted")
    figure, places = style.places(axes, len(found), 3, width=3.6, height=3.0)
    for place, (name, (values, module)) in zip(places, found.items(), strict=True):
        most = float(np.abs(values).max()) or 1.0
        dictionary = module.dictionary.detach().cpu().numpy()
        flat = values.shape[1] == len(dictionary)
        extent = (float(dictionary[0]), float(dictionary[-1])) if flat else (0.0, float(values.shape[1]))
        drawn = place.imshow(
            values, cmap="RdBu", vmin=-most, vmax=most, aspect="auto", extent=(*extent, len(values), 0)
        )
        place.set_xlabel("dictionary element", fontsize=8)
        place.set_ylabel("neuron", fontsize=8)
        place.set_title(f"layer {name}", fontsize=9)
        place.tick_params(labelsize=7)
        figure.colorbar(drawn, ax=place).ax.tick_params(labelsize=7)
    return figure


def initialization(init: str = "tanh", *, axes: Any = None, **options: Any) -> Figure:
    """Draw a KAF that was initialized like a known function, that function, and the coefficients.

    Args:
        init: a name that :class:`kafnets.KAF` takes as ``init``: "tanh", "elu", ...
        axes: draw into these axes instead of a new figure.
        options: for the KAF.
    """
    module = KAF(1, init=init, dim=-1, **options)
    at = torch.linspace(-LIMIT, LIMIT, POINTS)
    figure, (place,) = style.places(axes, 1, width=3.6, height=2.8)
    place.plot(at, FUNCTIONS[init](NUMPY, at.double().numpy()), **style.REFERENCE, label=init)
    place.plot(at, curves(module, 1)[0], **style.LEARNED, label="KAF")
    # Far larger than the function that they add up to, so with an axis of their own.
    beside = place.twinx()
    red = style.START["color"]
    elements, alpha = module.dictionary.detach().numpy(), np.asarray(module.alpha.detach()).ravel()
    beside.plot(elements, alpha, linestyle="none", marker="o", markersize=3.5, color=red)
    beside.tick_params(labelsize=7, colors=red)
    beside.set_ylabel("coefficients (dots)", fontsize=7, color=red)
    beside.spines["top"].set_visible(False)
    place.set_zorder(beside.get_zorder() + 1)
    place.patch.set_visible(False)
    place.legend(fontsize=7, frameon=False)
    style.plain(place)
    return figure


def training_curves(
    runs: Mapping[str, Sequence[Epochs]], metric: str | None = None, *, by: str = "epoch", axes: Any = None
) -> Figure:
    """Draw a metric by epoch: the mean over runs as a line, one standard deviation as a band.

    Runs that stopped early are extended with their last value, so that the mean does not jump when one ends.

    Args:
        runs: by label, the epochs of each run: ``Training.epochs``, an estimator's ``history_``, or
            ``report["epochs"]`` of a run folder.
        metric: a column of the epochs; None: the last one.
        by: the column of the horizontal axis: "epoch", or "steps" for a policy.
        axes: draw into these axes instead of a new figure.
    """
    if not runs or not all(runs.values()):
        raise ValueError("runs must hold at least one label, and at least one run for each")
    for label, members in runs.items():
        if isinstance(members[0], Mapping):
            raise ValueError(
                f"runs must hold a list of runs for each label, got one run for {label!r}: give [run]"
            )
    figure, (place,) = style.places(axes, 1, width=5.2, height=3.4)
    one = next(iter(runs.values()))[0][0]
    chosen = list(one)[-1] if metric is None else metric
    for name, column in (("metric", chosen), ("by", by)):
        if column not in one:
            raise ValueError(f"{name} must be one of {', '.join(one)}, got {column!r}")
    for number, (label, members) in enumerate(runs.items()):
        look = style.SERIES[number % len(style.SERIES)]
        mean, deviation = band([[float(row[chosen]) for row in epochs] for epochs in members])
        at = np.array([row[by] for row in max(members, key=len)])
        place.plot(at, mean, **look, linewidth=1.5, label=label)
        place.fill_between(at, mean - deviation, mean + deviation, color=look["color"], alpha=0.15, lw=0)
    place.set_xlabel(by, fontsize=8)
    place.set_ylabel(chosen.replace("_", " "), fontsize=8)
    place.legend(fontsize=7, frameon=False)
    style.plain(place)
    return figure
