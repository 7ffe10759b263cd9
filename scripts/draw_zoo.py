"""Draw the pictures of docs/zoo, one per family: ``python scripts/draw_zoo.py [family ...]``.

Black is an activation at its start; colors are the same with all its parameters moved at random, three times.
Where there is nothing to learn, the derivative is drawn instead; dots are values in training mode.
"""

import sys
from pathlib import Path
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import nn

import kafnets
from kafnets.inspection import style
from kafnets.registry import facts_of, own_names

IMAGES = Path(__file__).parents[1] / "docs/zoo/images"
REACH, POINTS, SIDE = 4.0, 401, 81
SPREAD = 0.8
"""Standard deviation by which parameters are moved."""

START: dict[str, Any] = {"color": "black", "linewidth": 1.8}
WITHOUT_A_CURVE = ("network_in_network", "poly_norm")


def create(name: str, moved: int = 0) -> nn.Module:
    """One neuron, or one pair; its parameters are moved if ``moved`` is not 0."""
    options = {} if facts_of(name).plottable else {"in_features": 1}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = kafnets.create(name, facts_of(name).arity, **options)
    generator = torch.Generator().manual_seed(moved)
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.numel() and not moved and not facts_of(name).plottable:
                parameter.copy_(torch.linspace(-1, 1, parameter.numel()).view_as(parameter))  # a start to see
            if moved:
                sign = 1 - 2 * (moved % 2)  # seeds alone might move a single parameter one way only
                parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=sign * SPREAD)
    return module.eval()


def draw_curves(panel: Axes, name: str) -> None:
    """All outputs of one neuron."""
    places = torch.linspace(-REACH, REACH, POINTS)[:, None].requires_grad_()
    start = create(name)
    values = start(places)
    times = 0 if not list(start.parameters()) else 3 if values.shape[1] == 1 else 1
    for number, look in enumerate(style.SERIES[:times], 1):
        panel.plot(places.detach()[:, 0], create(name, number)(places).detach(), **look)
    if not times and values.shape[1] == 1:
        (slope,) = torch.autograd.grad(values.sum(), places)
        panel.plot(places.detach()[:, 0], slope, **style.SERIES[1])
    if facts_of(name).family == "stochastic":
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            panel.plot(places.detach()[:, 0], start.train()(places).detach(), ".", color="#ee7733", ms=2)
    panel.plot(places.detach()[:, 0], values.detach(), **START)
    low, high = panel.get_ylim()
    panel.set_ylim(max(low, -REACH), min(high, REACH))
    panel.set_title(name, fontsize=9)
    style.plain(panel)


def draw_surface(panel: Axes, name: str, moved: int) -> None:
    """The first output over both inputs of a pair."""
    places = torch.linspace(-REACH, REACH, SIDE)
    with torch.no_grad():
        values = create(name, moved)(torch.cartesian_prod(places, places))[:, 0].view(SIDE, SIDE)
    panel.pcolormesh(places, places, values.T, cmap=style.SURFACE, shading="gouraud")
    panel.set_aspect("equal")
    panel.tick_params(labelsize=7)
    panel.set_title(f"{name}, {'moved' if moved else 'start'}", fontsize=9)


def draw(family: str) -> Figure:
    """A panel per activation; two for functions of a pair that have parameters."""
    names = [name for name in own_names() if facts_of(name).family == family and name not in WITHOUT_A_CURVE]
    panels: list[tuple[str, int]] = []
    for name in names:
        pair = facts_of(name).arity == 2 and bool(list(create(name).parameters()))
        panels += [(name, 0), (name, 1)] if pair else [(name, 0)]
    figure, axes = style.grid(len(panels), 4 if len(panels) > 6 else 3, width=3.1, height=2.5)
    for panel, (name, moved) in zip(axes, panels, strict=True):
        if facts_of(name).arity == 2:
            draw_surface(panel, name, moved)
        else:
            draw_curves(panel, name)
    return figure


if __name__ == "__main__":
    families = dict.fromkeys(facts_of(name).family for name in own_names())
    for chosen in sys.argv[1:] or families:
        draw(chosen).savefig(IMAGES / f"{chosen}.png", dpi=110)
