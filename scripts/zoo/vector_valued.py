"""Several outputs, or neighbors."""

import numpy as np
import torch
from matplotlib.figure import Figure

import kafnets
from zoo.canvas import MOVED, START, finish, heat_map, panels
from zoo.sampling import changed, line, values


def draw() -> Figure:
    figure, axes = panels(2, 3, 6.2)
    s = line(3)
    both = values(kafnets.create("crelu", 1), s)
    axes[0].plot(s, both[:, 0], **START, label="first output")
    axes[0].plot(s, both[:, 1], **MOVED[1], label="second output")
    finish(axes[0], "crelu", legend="upper center", ylim=(-0.3, 4))

    styles = (START, *MOVED[:3])
    starts = values(kafnets.create("multi_bias", 1), s)
    for k, style in enumerate(styles):
        axes[1].plot(s, starts[:, k], **style, label=f"output {k + 1}")
    finish(axes[1], "multi_bias, start", legend="upper left", ylim=(-0.3, 4.5))

    tanh = kafnets.create("multi_bias", 1, function="tanh")
    moved = values(changed(tanh, bias=[[-2.0], [-0.7], [0.3], [2.2]]), s)
    for k, style in enumerate(styles):
        axes[2].plot(s, moved[:, k], **style, label=f"bias {(-2.0, -0.7, 0.3, 2.2)[k]:g}")
    finish(axes[2], "multi_bias of tanh, moved", legend="upper left", ylim=(-1.15, 2.3))

    heat_map(axes[3], kafnets.create("order_statistic", 2), "order_statistic, first output", reach=4, steps=8)
    heat_map(
        axes[4],
        kafnets.create("order_statistic", 2),
        "order_statistic, second output",
        output=1,
        reach=4,
        steps=8,
    )

    inputs = np.stack([0.8 * s, -0.5 * s + 0.5, 0.1 * s - 0.8], 1)
    axes[5].plot(s, inputs, color="0.8", linewidth=5, label=["inputs", None, None])
    ordered = kafnets.create("order_statistic", 3, group_size=3)(torch.from_numpy(inputs)).numpy()
    for k, style in enumerate((START, *MOVED[:2])):
        axes[5].plot(s, ordered[:, k], **style, label=("largest", "middle", "smallest")[k])
    finish(axes[5], "order_statistic, three inputs", legend="upper center", ylim=(-2.7, 5))
    return figure
