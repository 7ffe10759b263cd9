"""Sums of kernels."""

from typing import Any

import torch
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import kafnets
from kafnets.arrays.library import NUMPY
from kafnets.fixed_functions import FUNCTIONS
from zoo.canvas import MOVED, START, finish, heat_map, panels
from zoo.sampling import changed, line, seeded, values


def draw() -> Figure:
    figure, axes = panels(2, 3, 6.2)
    s = line(5)
    kaf = kafnets.create("kaf", 3, generator=seeded(0), dtype=torch.float64)
    for i, style in enumerate((START, *MOVED[:2])):
        axes[0].plot(s, values(kaf, s)[:, i], **style, label=f"neuron {i + 1}")
    finish(axes[0], "kaf, random start", legend="upper left", ylim=(-2.2, 3))

    elu = kafnets.create("kaf", 1, init="elu", dtype=torch.float64)
    places = elu.get_buffer("dictionary").numpy()
    axes[1].plot(s, FUNCTIONS["elu"](NUMPY, s), color="0.8", linewidth=5, label="ELU")
    axes[1].plot(s, values(elu, s), **START, label='init="elu"')
    for element, style in ((6, MOVED[0]), (16, MOVED[1])):
        moved = kafnets.create("kaf", 1, init="elu", dtype=torch.float64)
        coefficients = moved.get_parameter("alpha").detach().numpy().copy()
        coefficients[0, element] += 1.0
        curve = values(changed(moved, alpha=coefficients), s)
        axes[1].plot(s, curve, **style, label=f"+1 at {places[element]:.2f}")
    finish(axes[1], "kaf, one coefficient moved", legend="upper left", ylim=(-1.4, 5.5))

    for gamma, style in ((None, START), (0.5, MOVED[0]), (0.1, MOVED[1])):
        kernel = kafnets.Gaussian(gamma)
        one = kafnets.create("kaf", 1, kernel=kernel, generator=seeded(1), dtype=torch.float64)
        label = "gamma = 1.67, by rule of thumb" if gamma is None else f"gamma = {gamma:g}"
        axes[2].plot(s, values(one, s)[:, 0], **style, label=label)
    finish(axes[2], "kaf, other bandwidths", legend="upper left", ylim=(-4, 4))

    starts: dict[str, tuple[dict[str, Any], float]] = {
        "kaf2d, random start": ({"generator": seeded(0)}, 4.0),
        "kaf2d, start as the maximum": ({"init": kafnets.Ridge(torch.maximum)}, 4.0),
        'kaf2d, init="tanh"': ({"init": "tanh"}, 1.0),
    }
    for panel, (title, (options, reach)) in zip(axes[3:], starts.items(), strict=True):
        pair = kafnets.create("kaf2d", 2, dtype=torch.float64, **options)
        heat_map(panel, pair, title, reach=reach, steps=8)
        panel.add_patch(Rectangle((-3, -3), 6, 6, fill=False, edgecolor="white", linestyle="--"))
    return figure
