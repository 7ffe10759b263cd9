"""Functions with one to four parameters."""

import numpy as np
from matplotlib.figure import Figure

import kafnets
from zoo.canvas import MOVED, START, finish, panels
from zoo.sampling import changed, line, of, seeded, values


def draw() -> Figure:
    figure, axes = panels(2, 3, 5.8)
    s = line(4)

    name = "generalized_tanh"
    starts = values(kafnets.create(name, 4, generator=seeded(1)), s)
    axes[0].plot(s, starts, color="black", linewidth=1.2, label=["four neurons at the start", *[None] * 3])
    for style, (a, b) in zip(MOVED, ((2.5, 1.0), (2.0, 6.0), (0.25, 2.0)), strict=False):
        moved = changed(kafnets.create(name, 1), log_a=np.log(a), log_b=np.log(b))
        axes[0].plot(s, values(moved, s), **style, label=f"a = {a:g}, b = {b:g}")
    finish(axes[0], name, legend="upper left", ylim=(-2.7, 4.6))

    axes[1].plot(s, of("prelu", s), **START, label="start, α = 0.25")
    for style, alpha in zip(MOVED, (0.0, 0.7, -0.5), strict=False):
        moved = changed(kafnets.create("prelu", 1), weight=alpha)
        axes[1].plot(s, values(moved, s), **style, label=f"α = {alpha:g}")
    finish(axes[1], "prelu", legend="upper center")

    axes[2].plot(s, of("pelu", s), **START, label="start, α = β = 1")
    for style, (alpha, beta) in zip(MOVED, ((2.0, 1.0), (1.0, 3.0), (0.5, 0.3)), strict=False):
        moved = changed(kafnets.create("pelu", 1), log_alpha=np.log(alpha), log_beta=np.log(beta))
        axes[2].plot(s, values(moved, s), **style, label=f"α = {alpha:g}, β = {beta:g}")
    finish(axes[2], "pelu", legend="upper left", ylim=(-2.5, 6))

    axes[3].plot(s, of("srelu", s), **START, label="start")
    for style, (t_left, a_left, t_right, a_right) in zip(
        MOVED, ((-1.0, 0.1, 1.0, 0.1), (-1.0, -0.6, 1.5, 2.0), (-2.0, 1.5, 0.5, -0.5)), strict=False
    ):
        moved = changed(
            kafnets.create("srelu", 1), t_left=t_left, a_left=a_left, t_right=t_right, a_right=a_right
        )
        label = f"left {t_left:g}, {a_left:g}; right {t_right:g}, {a_right:g}"
        axes[3].plot(s, values(moved, s), **style, label=label)
    finish(axes[3], "srelu (place, slope)", legend="upper left", ylim=(-5, 10))

    past = {"t_left": 1.0, "a_left": 0.2, "t_right": -1.0, "a_right": 0.5}
    axes[4].plot(s, values(changed(kafnets.create("srelu", 1), **past), s), **START, label="the sum")
    by_cases = np.where(s >= -1.0, -1.0 + 0.5 * (s + 1.0), 1.0 + 0.2 * (s - 1.0))
    by_cases[np.abs(s + 1.0).argmin()] = np.nan  # a gap at the jump
    axes[4].plot(s, by_cases, **MOVED[1], label="the cases, right one first")
    finish(axes[4], "srelu, left place past the right", legend="upper left", ylim=(-3, 4))

    axes[5].plot(s, of("beta_swish", s), **START, label="start, β = 1")
    for style, beta in zip(MOVED, (0.0, 5.0, -1.0), strict=False):
        moved = changed(kafnets.create("beta_swish", 1), beta=beta)
        axes[5].plot(s, values(moved, s), **style, label=f"β = {beta:g}")
    finish(axes[5], "beta_swish", legend="upper left")
    return figure
