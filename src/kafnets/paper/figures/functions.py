"""Figures 1 to 5: activation functions as they are, before anything is learned."""

import math

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from kafnets.kernels import Gaussian
from kafnets.nn import KAF
from kafnets.plot import initialization, style
from kafnets.zoo.splines import SAF
from kafnets.zoo.stochastic import NoisyHardSigmoid

RED, GREEN, BLUE = "#cc3311", "#117733", "#0077bb"


def splines() -> Figure:
    """Knots of a spline activation with both bases, and the four that are active at one input."""
    figure, panels = style.grid(2, 2, width=3.6, height=2.7)
    places = torch.linspace(-2.2, 2.2, 500)
    generator = torch.Generator().manual_seed(3)
    heights = torch.tanh(torch.linspace(-2, 2, 11)) + 0.25 * torch.randn(11, generator=generator)
    at = 0.55
    for panel, basis, title in zip(
        panels, ("catmull_rom", "b_spline"), ("Catmull-Rom", "B-spline"), strict=True
    ):
        module = SAF(1, knots=11, boundary=2.0, basis=basis, dim=-1)  # type: ignore[arg-type]
        with torch.no_grad():
            module.q.copy_(heights[None])
            curve = module(places[:, None])[:, 0]
            value = module(torch.tensor([[at]]))[0, 0]
        knots = np.linspace(-2, 2, 11)
        first = int(np.searchsorted(knots, at)) - 2
        panel.axvspan(knots[first], knots[first + 3], color=GREEN, alpha=0.15, lw=0, label="active knots")
        panel.plot(places, curve, color="#33a0dd", lw=2, label="activation")
        panel.plot(knots, heights, "o", color=RED, ms=4, label="knots")
        panel.plot([at, at], [panel.get_ylim()[0], value], color="black", lw=1, ls=":")
        panel.plot([at], [value], "s", color="black", ms=4, label="one input")
        panel.set_title(title, fontsize=9)
        style.plain(panel)
    panels[0].legend(fontsize=7, frameon=False, loc="upper left")
    return style.label(figure)


def maxout() -> Figure:
    """Three linear maps of one input, and the largest of them."""
    figure, (panel,) = style.grid(1, 1, width=4.2, height=2.9)
    places = np.linspace(-3, 3, 200)
    lines = np.stack([-0.8 * places - 0.6, 0.15 * places + 0.3, 1.1 * places - 0.9])
    for number, line in enumerate(lines):
        panel.plot(places, line, color="#999999", lw=1, label="linear maps" if number == 0 else None)
    panel.plot(places, lines.max(0), color=RED, lw=2.4, alpha=0.85, label="maxout")
    panel.legend(fontsize=7, frameon=False)
    style.plain(panel)
    return style.label(figure)


def bandwidths() -> Figure:
    """The same random coefficients with three bandwidths, on 20 elements."""
    figure, panels = style.grid(3, 3, width=2.9, height=2.3)
    places = torch.linspace(-4, 4, 400)
    for panel, gamma in zip(panels, (2.0, 0.5, 0.1), strict=True):
        module = KAF(
            1,
            kernel=Gaussian(gamma),
            dictionary_size=20,
            boundary=3.0,
            dim=-1,
            generator=torch.Generator().manual_seed(1),
        )
        with torch.no_grad():
            panel.plot(places, module(places[:, None])[:, 0], **style.LEARNED, label="KAF")
        panel.plot(
            module.dictionary, module.alpha.detach().ravel(), "o", color=RED, ms=3, label="coefficients"
        )
        panel.set_title(f"γ = {gamma}", fontsize=9)
        style.plain(panel)
    panels[0].legend(fontsize=7, frameon=False, loc="upper left")
    return style.label(figure)


def starts() -> Figure:
    """Ridge regression to tanh and ELU, and the coefficients that it gives."""
    figure, panels = style.grid(2, 2, width=3.6, height=2.8)
    for panel, init in zip(panels, ("tanh", "elu"), strict=True):
        initialization(init, axes=panel)
        panel.set_title({"tanh": "tanh", "elu": "ELU"}[init], fontsize=9)
    return style.label(figure)


def noise() -> Figure:
    """A hard sigmoid, the noise where it saturates, and both together."""
    figure, panels = style.grid(3, 3, width=2.9, height=2.4)
    places = torch.linspace(-6, 6, 400)
    module = NoisyHardSigmoid(1, scale=1.0, dim=-1)
    with torch.no_grad():
        hard, linear = module.functions(places)
        deviation = module.scale * (torch.sigmoid(hard - linear) - 0.5).square()
        expected = module.eval()(places[:, None])[:, 0]
    direction = torch.sign(places) * math.copysign(1.0, module.alpha - 1)
    panels[0].plot(places, torch.sigmoid(places), color=BLUE, lw=1.8, label="sigmoid")
    panels[0].plot(places, hard, color=RED, lw=1.8, ls="--", label="hard sigmoid")
    panels[1].fill_between(
        places, 0, direction * deviation, color="#a8d4f0", lw=0, label="one standard deviation"
    )
    panels[1].axhline(0, color="#666666", lw=0.8)
    without = module.alpha * hard + (1 - module.alpha) * linear
    panels[2].fill_between(
        places,
        without,
        without + direction * deviation,
        color="#a8d4f0",
        lw=0,
        label="one standard deviation",
    )
    panels[2].plot(places, _sample(module, places), ".", color=RED, ms=1.5, label="in training")
    panels[2].plot(places, expected, color=GREEN, lw=1.8, label="expected")
    for panel, title in zip(panels, ("original function", "noise", "noisy activation"), strict=True):
        panel.set_title(title, fontsize=9)
        panel.legend(fontsize=7, frameon=False)
        style.plain(panel)
    return style.label(figure)


def _sample(module: NoisyHardSigmoid, places: Tensor) -> Tensor:
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        return module.train()(places[:, None])[:, 0]
