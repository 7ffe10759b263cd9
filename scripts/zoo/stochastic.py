"""Functions that are random while training."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import nn

import kafnets
from zoo.canvas import MOVED, ORANGE, START, finish, panels
from zoo.sampling import Array, changed, line, seeded, values


def draw() -> Figure:
    figure, axes = panels(2, 3, 5.8)
    s = line(6)
    names = ("rrelu", "noisy_hard_tanh", "noisy_hard_sigmoid")
    hard: list[Callable[[Array], Array] | None] = [
        None,
        lambda s: np.clip(s, -1, 1),
        lambda s: np.clip(s / 4 + 0.5, 0, 1),
    ]
    for panel, name, function in zip(axes[:3], names, hard, strict=True):
        if function is not None:
            panel.plot(s, function(s), **MOVED[0], label="hard function")
        samples(panel, kafnets.create(name, 1), s)
        panel.plot(s, values(kafnets.create(name, 1).eval(), s), **START, label="expectation")
        finish(panel, f"{name}, start", legend="upper left")

    for (lower, upper), style in (((1 / 8, 1 / 3), START), ((0.0, 1.0), MOVED[0]), ((-0.5, 0.0), MOVED[1])):
        label = f"from {lower:.3g} to {upper:.3g}"
        module = kafnets.create("rrelu", 1, lower=lower, upper=upper).eval()
        axes[3].plot(s, values(module, s), **style, label=label)
        negative = s[s <= 0]
        axes[3].fill_between(negative, lower * negative, upper * negative, color=style["color"], alpha=0.12)
    finish(axes[3], "rrelu, expectation and range", legend="upper left")

    for panel, name in zip(axes[4:], names[1:], strict=True):
        samples(panel, changed(kafnets.create(name, 1), p=4.0), s, label="training, p = 4")
        for p, style in ((4.0, START), (0.0, MOVED[0])):
            module = changed(kafnets.create(name, 1).eval(), p=p)
            panel.plot(s, values(module, s), **style, label=f"expectation, p = {p:g}")
        module = kafnets.create(name, 1, alpha=0.8).eval()
        panel.plot(s, values(module, s), **MOVED[2], label="expectation, alpha = 0.8")
        finish(panel, f"{name}, moved", legend="upper left")
    for panel in (axes[1], axes[4]):
        panel.set_ylim(-2.2, 3.2)
    for panel in (axes[2], axes[5]):
        panel.set_ylim(-0.4, 1.9)
    return figure


def samples(axes: Axes, module: nn.Module, s: Array, label: str = "training") -> None:
    """What a module gives in training mode, several times a place."""
    places = np.repeat(s[::8], 8)
    with lent(seeded(0)):
        drawn = values(module.train(), places)
    axes.plot(places, drawn, ".", color=ORANGE, markersize=2.5, alpha=0.6)
    axes.plot([], [], ".", color=ORANGE, label=label)


@contextmanager
def lent(generator: torch.Generator) -> Iterator[None]:
    """A generator's state in place of torch's own, for modules that draw from it; given back after."""
    saved = torch.get_rng_state()
    torch.set_rng_state(generator.get_state())
    try:
        yield
    finally:
        torch.set_rng_state(saved)
