"""How a KAF starts as another function."""

from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

from kafnets.arrays.library import NUMPY
from kafnets.fixed_functions import FUNCTIONS
from kafnets.nn import KAF
from kafnets.plot import style
from kafnets.train.shapes import BOUNDARY, POINTS, curves


def initialization(init: str = "tanh", *, axes: Any = None, **options: Any) -> Figure:
    """Draw a KAF that was started as a known function, that function, and the coefficients that do it.

    Args:
        init: a name that :class:`kafnets.KAF` takes as ``init``: "tanh", "elu", ...
        axes: draw into these, in place of a new figure.
        options: for the KAF.
    """
    module = KAF(1, init=init, dim=-1, **options)
    places = torch.linspace(-BOUNDARY, BOUNDARY, POINTS)
    if axes is None:
        figure, (place,) = style.grid(1, 1, width=3.6, height=2.8)
    else:
        (place,) = style.taken(axes, 1)
        figure = style.figure_of([place])
    place.plot(places, FUNCTIONS[init](NUMPY, places.double().numpy()), **style.REFERENCE, label=init)
    place.plot(places, curves(module, 1)[0], **style.LEARNED, label="KAF")
    # Far larger than the function that they add up to, so with an axis of their own.
    beside = place.twinx()
    beside.plot(
        module.dictionary.detach().numpy(),
        np.asarray(module.alpha.detach()).ravel(),
        linestyle="none",
        marker="o",
        markersize=3.5,
        color=style.START["color"],
    )
    beside.tick_params(labelsize=7, colors=style.START["color"])
    beside.set_ylabel("coefficients (dots)", fontsize=7, color=style.START["color"])
    beside.spines["top"].set_visible(False)
    place.set_zorder(beside.get_zorder() + 1)
    place.patch.set_visible(False)
    place.legend(fontsize=7, frameon=False)
    style.plain(place)
    return figure
