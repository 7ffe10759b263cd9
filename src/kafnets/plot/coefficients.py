"""Mixing coefficients of expansions."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from torch import Tensor, nn

from kafnets.plot import style


def coefficients(model: nn.Module, *, neurons: int = 30, axes: Any = None) -> Figure:
    """Draw the mixing coefficients of every KAF in a model: a row a neuron, a column an element.

    Red is negative, blue positive, white zero. A 2D-KAF's elements follow one another row by row of their
    grid.

    Args:
        model: any network that contains KAFs or 2D-KAFs.
        neurons: the first so many of each layer.
        axes: draw into these, one a layer, in place of a new figure.
    """
    found = {
        name or "model": (alpha.detach().float().flatten(1)[:neurons].cpu().numpy(), module)
        for name, module in model.named_modules()
        if isinstance(alpha := getattr(module, "alpha", None), Tensor)
        and isinstance(getattr(module, "dictionary", None), Tensor)
    }
    if not found:
        raise ValueError("model has no KAF or 2D-KAF, whose coefficients could be drawn")
    if axes is None:
        figure, places = style.grid(len(found), 3, width=3.6, height=3.0)
    else:
        places = style.taken(axes, len(found))
        figure = style.figure_of(places)
    for place, (name, (values, module)) in zip(places, found.items(), strict=True):
        most = float(np.abs(values).max()) or 1.0
        dictionary = module.dictionary.detach().cpu().numpy()
        flat = values.shape[1] == len(dictionary)
        extent = (float(dictionary[0]), float(dictionary[-1])) if flat else (0.0, float(values.shape[1]))
        drawn = place.imshow(
            values, cmap="RdBu", vmin=-most, vmax=most, aspect="auto", extent=(*extent, len(values), 0)
        )
        place.set_xlabel("element of the dictionary", fontsize=8)
        place.set_ylabel("neuron", fontsize=8)
        place.set_title(f"layer {name}", fontsize=9)
        place.tick_params(labelsize=7)
        figure.colorbar(drawn, ax=place).ax.tick_params(labelsize=7)
    return figure
