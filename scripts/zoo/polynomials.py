"""Powers and Hermite functions."""

import numpy as np
import torch
from matplotlib.figure import Figure

import kafnets
from zoo.canvas import MOVED, START, finish, panels
from zoo.sampling import changed, line, of, seeded, values


def draw() -> Figure:
    figure, axes = panels(2, 3, 5.8)
    s = line(5)
    for row, (name, degrees) in enumerate((("paf", (3, 5, 9)), ("hermite", (3, 7, 15)))):
        start, moved, terms = axes[3 * row : 3 * row + 3]
        start.plot(s, np.tanh(s), color="0.8", linewidth=5, label="tanh, the target")
        default = kafnets.create(name, 1).degree
        others = iter(MOVED)
        for degree in degrees:
            style = START if degree == default else next(others)
            label = f"degree {degree}" + (", the default" if degree == default else "")
            start.plot(s, of(name, s, degree=degree), **style, label=label)
        start.axvspan(-3, 3, color="0.95", zorder=-1)
        finish(start, f"{name}, start (fitted where shaded)", ylim=(-1.8, 4), legend="upper center")

        first = kafnets.create(name, 1, dtype=torch.float64)
        moved.plot(s, values(first, s), **START, label="start")
        spread = 0.1 if name == "paf" else 0.4
        for i, style in enumerate(MOVED[:3]):
            shift = (
                spread * torch.randn(first.get_parameter("coefficients").shape, generator=seeded(i)).numpy()
            )
            other = kafnets.create(name, 1, dtype=torch.float64)
            coefficients = other.get_parameter("coefficients").detach().numpy() + shift
            moved.plot(s, values(changed(other, coefficients=coefficients), s), **style)
        finish(moved, f"{name}, start and moved", ylim=(-8, 8) if name == "paf" else None)

        for k, style in enumerate((START, *MOVED[:3])):
            if name == "paf":
                terms.plot(s, s**k, **style, label=("1", "s", "s²", "s³")[k])
            else:
                alone = changed(kafnets.create(name, 1, degree=3), coefficients=np.eye(4)[k : k + 1])
                psi = values(alone, s)
                terms.plot(s, psi, **style, label=f"ψ{'₀₁₂₃'[k]}")
        finish(
            terms,
            "powers" if name == "paf" else "Hermite functions",
            ylim=(-8, 8) if name == "paf" else None,
            legend="lower right",
        )
    return figure
