"""How the pictures look: colors, line styles, panels, heat maps."""

from typing import Any, Literal

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import nn

from zoo.sampling import line

Place = Literal["upper left", "upper center", "upper right", "lower right", "lower left"]

# Okabe and Ito's colors, each with a line style of its own, so that neither the eye's nor the printer's
# colors are needed to tell the lines apart.
BLUE, VERMILION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
MOVED: list[dict[str, Any]] = [
    {"color": BLUE, "linestyle": "--"},
    {"color": VERMILION, "linestyle": "-."},
    {"color": GREEN, "linestyle": ":", "linewidth": 2},
]
START: dict[str, Any] = {"color": "black", "linewidth": 1.8}
BEHIND: dict[str, Any] = {"color": "0.75", "linewidth": 1.2}
COLORS = "cividis"


def panels(rows: int, columns: int, height: float) -> tuple[Figure, list[Axes]]:
    figure, axes = plt.subplots(rows, columns, figsize=(10, height), layout="constrained", squeeze=False)
    return figure, list(axes.flat)


def finish(
    axes: Axes, title: str, *, ylim: tuple[float, float] | None = None, legend: Place | None = None
) -> None:
    """Gray lines through the origin, the title, and a legend at ``legend``."""
    axes.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    axes.axvline(0, color="0.8", linewidth=0.8, zorder=0)
    axes.set_title(title, fontsize="medium")
    axes.tick_params(labelsize="small")
    axes.margins(x=0)
    if ylim is not None:
        axes.set_ylim(ylim)
    if legend is not None:
        axes.legend(fontsize="x-small", loc=legend, framealpha=0.9, handlelength=2.8)


def heat_map(
    axes: Axes, module: nn.Module, title: str, *, output: int = 0, reach: float = 1.0, steps: int = 10
) -> None:
    """One output over the two inputs of a pair, in colors from ``-reach`` to ``reach``."""
    side = line(4, 161)
    first, second = np.meshgrid(side, side)
    pairs = torch.from_numpy(np.stack([first.ravel(), second.ravel()], 1))
    with torch.no_grad():
        image = module.double()(pairs)[:, output].reshape(first.shape).numpy()
    levels = np.linspace(-reach, reach, steps + 1)
    drawn = axes.contourf(side, side, image, levels, cmap=COLORS, extend="both")
    axes.figure.colorbar(drawn, ax=axes, shrink=0.85).ax.tick_params(labelsize="x-small")
    axes.set(xlabel="first of the pair", ylabel="second", aspect="equal")
    finish(axes, title)
