"""Learning curves, with bands over seeds."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from kafnets.plot import style
from kafnets.train.bands import band

Epochs = Sequence[Mapping[str, Any]]


def training_curves(
    runs: Mapping[str, Sequence[Epochs]], metric: str | None = None, *, by: str = "epoch", axes: Any = None
) -> Figure:
    """Draw a metric by epoch: the mean over runs as a line, one deviation as a band.

    Runs that stopped early go on with their last value, so that the mean does not jump where one ends.

    Args:
        runs: by label, the epochs of each run: ``Training.epochs``, an estimator's ``history_``, or
            ``report["epochs"]`` of a run folder.
        metric: a column of the epochs; the last one if None.
        by: the column along the axis: "epoch", or "steps" of a policy.
        axes: draw into these, in place of a new figure.
    """
    if not runs or not all(runs.values()):
        raise ValueError("runs must hold one label at least, and one run for each")
    for label, members in runs.items():
        if isinstance(members[0], Mapping):
            raise ValueError(
                f"runs must hold a list of runs for each label, got one run for {label!r}: give [run]"
            )
    if axes is None:
        figure, (place,) = style.grid(1, 1, width=5.2, height=3.4)
    else:
        (place,) = style.taken(axes, 1)
        figure = style.figure_of([place])
    one = next(iter(runs.values()))[0][0]
    chosen = list(one)[-1] if metric is None else metric
    for name, column in (("metric", chosen), ("by", by)):
        if column not in one:
            raise ValueError(f"{name} must be one of {', '.join(one)}, got {column!r}")
    for number, (label, members) in enumerate(runs.items()):
        look = style.SERIES[number % len(style.SERIES)]
        mean, deviation = band([[float(row[chosen]) for row in epochs] for epochs in members])
        places = np.array([row[by] for row in max(members, key=len)])
        place.plot(places, mean, **look, linewidth=1.5, label=label)
        place.fill_between(places, mean - deviation, mean + deviation, color=look["color"], alpha=0.15, lw=0)
    place.set_xlabel(by, fontsize=8)
    place.set_ylabel(chosen.replace("_", " "), fontsize=8)
    place.legend(fontsize=7, frameon=False)
    style.plain(place)
    return figure
