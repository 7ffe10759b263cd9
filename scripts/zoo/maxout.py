"""Several linear maps a neuron."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from torch import nn

import kafnets
from zoo.canvas import BEHIND, MOVED, START, finish, panels
from zoo.sampling import changed, line, values


def draw() -> Figure:
    figure, axes = panels(2, 2, 6.4)
    h = line(3)
    weight, bias = np.array([-1.2, 0.2, 1.0]), np.array([-1.0, 0.3, -0.7])
    pieces = h[:, None] * weight + bias
    linear = {"linear.weight": weight[:, None], "linear.bias": bias}

    def layer(name: str, **options: Any) -> nn.Module:
        return changed(kafnets.create(name, 1, in_features=1, **options).double(), **linear)

    for panel in axes[:2]:
        panel.plot(h, pieces, **BEHIND, label=["the linear maps", None, None])
    for panel in axes[2:]:
        panel.plot(h, np.abs(pieces), **BEHIND, label=["absolute linear maps", None, None])

    axes[0].plot(h, values(layer("maxout"), h), **START, label="maxout")
    axes[1].plot(h, values(layer("soft_maxout"), h), **START, label="soft_maxout")
    axes[1].plot(h, values(layer("maxout"), h), **MOVED[1], label="maxout")
    for p, style in ((2, START), (1, MOVED[0]), (8, MOVED[1])):
        label = f"p = {p}" + (", the default" if p == 2 else "")
        axes[2].plot(h, values(layer("lp_maxout", p=p), h), **style, label=label)
    unit = layer("lp_unit")
    axes[3].plot(h, values(unit, h), **START, label="start: p = 2, centers 0")
    for norm, style in ((1.05, MOVED[0]), (20.0, MOVED[1])):
        moved = changed(layer("lp_unit"), rho=np.log(np.expm1(norm - 1)))
        axes[3].plot(h, values(moved, h), **style, label=f"p = {norm:g}, centers 0")
    moved = changed(layer("lp_unit"), centers=[[1.0, -0.5, -1.5]])
    axes[3].plot(h, values(moved, h), **MOVED[2], label="p = 2, centers 1, -0.5, -1.5")

    for panel, name in zip(axes, ("maxout", "soft_maxout", "lp_maxout", "lp_unit"), strict=True):
        finish(panel, f"{name}, K = 3, one input", legend="upper center", ylim=(-3, 5))
        panel.set_xlabel("input h", fontsize="small")
    for panel in axes[2:]:
        panel.set_ylim(-0.3, 6)
    return figure
