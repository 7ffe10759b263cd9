"""Learned knots."""

import numpy as np
import torch
from matplotlib.figure import Figure

import kafnets
from zoo.canvas import BLUE, MOVED, START, VERMILION, finish, panels
from zoo.sampling import changed, line, values


def draw() -> Figure:
    figure, axes = panels(2, 2, 6.4)
    s = line(3)
    bases = (("catmull_rom", "Catmull-Rom"), ("b_spline", "B-spline"))

    for (basis, label), style in zip(bases, (START, MOVED[1]), strict=True):
        saf = kafnets.create("saf", 1, basis=basis, dtype=torch.float64)
        axes[0].plot(s, values(saf, s), **style, label=label)
    knots = np.linspace(-2, 2, 21)
    axes[0].plot(knots, np.tanh(knots), "o", color=BLUE, markersize=3.5, label="tanh at the 21 places")
    finish(axes[0], "saf, start: both bases pass through tanh", legend="upper left")

    knots = np.linspace(-2, 2, 11)
    rng = np.random.default_rng(2)
    q = np.tanh(knots) + rng.normal(0, 0.6, 11)
    for panel, (basis, label) in zip(axes[2:], bases, strict=True):
        saf = changed(kafnets.create("saf", 1, knots=11, basis=basis, dtype=torch.float64), q=q)
        panel.plot(s, values(saf, s), **START, label="curve")
        panel.plot(knots, q, "o", color=VERMILION, markersize=5, label="knots")
        finish(panel, f"saf, 11 knots moved, {label}", legend="upper left")

    peak = np.zeros(11)
    peak[5] = 1.0
    for (basis, label), style in zip(bases, (START, MOVED[1]), strict=True):
        saf = changed(kafnets.create("saf", 1, knots=11, basis=basis, dtype=torch.float64), q=peak)
        axes[1].plot(s, values(saf, s), **style, label=label)
    axes[1].plot(knots, peak, "o", color=BLUE, markersize=5, label="knots")
    finish(axes[1], "saf, how far one knot reaches", legend="upper left")
    return figure
