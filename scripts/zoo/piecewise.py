"""Learned hinges."""

import numpy as np
from matplotlib.figure import Figure

import kafnets
from zoo.canvas import BEHIND, MOVED, START, VERMILION, finish, panels
from zoo.sampling import changed, line, seeded, values


def draw() -> Figure:
    figure, axes = panels(1, 3, 3.6)
    s = line(3)
    starts = values(kafnets.create("apl", 4, generator=seeded(3)), s)
    for i, style in enumerate((START, *MOVED[:3])):
        axes[0].plot(s, starts[:, i], **style, label=f"neuron {i + 1}")
    finish(axes[0], "apl, four neurons at the start", legend="upper left")

    slopes, places = np.array([-0.8, 1.5, -1.3]), np.array([1.5, 0.2, -1.0])
    axes[1].plot(s, np.maximum(0, s), **BEHIND)
    for a, b in zip(slopes, places, strict=True):
        axes[1].plot(
            s, a * np.maximum(0, b - s), **BEHIND, label="rectifier and hinges" if b == 1.5 else None
        )
    moved = changed(kafnets.create("apl", 1), slopes=slopes, places=places)
    axes[1].plot(s, values(moved, s), **START, label="their sum")
    axes[1].plot(
        places, values(moved, places), "o", color=VERMILION, markersize=5, label="the learned places"
    )
    finish(axes[1], "apl, what it is made of", legend="upper center", ylim=(-4, 6.5))

    shapes: dict[str, tuple[list[float], list[float]]] = {
        "a leaky rectifier": ([-0.1], [0.0]),
        "a plateau": ([-1.0, 1.0, -0.5], [0.0, 1.0, -1.0]),
        "a bump": ([1.0, -2.0], [0.0, -1.0]),
    }
    for style, (label, (a_i, b_i)) in zip(MOVED, shapes.items(), strict=False):
        moved = changed(kafnets.create("apl", 1, segments=len(a_i)), slopes=a_i, places=b_i)
        axes[2].plot(s, values(moved, s), **style, label=label)
    finish(axes[2], "apl, shapes it can take", legend="upper left")
    return figure
