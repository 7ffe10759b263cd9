"""Draw the pictures of docs/zoo, one a family: ``python scripts/draw_zoo.py [family ...]``."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

import kafnets
from kafnets import reference
from kafnets.nn.initializers import TARGETS

Array = NDArray[np.float64]
Place = Literal["upper left", "upper center", "upper right", "lower right", "lower left"]

IMAGES = Path(__file__).parents[1] / "docs/zoo/images"
# Okabe and Ito's colours, each with a line style of its own, so that neither the eye's nor the printer's
# colours are needed to tell the lines apart.
BLUE, VERMILION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
MOVED: list[dict[str, Any]] = [
    {"color": BLUE, "linestyle": "--"},
    {"color": VERMILION, "linestyle": "-."},
    {"color": GREEN, "linestyle": ":", "linewidth": 2},
]
START: dict[str, Any] = {"color": "black", "linewidth": 1.8}
BEHIND: dict[str, Any] = {"color": "0.75", "linewidth": 1.2}
COLOURS = "cividis"


def line(reach: float, points: int = 801) -> Array:
    return np.linspace(-reach, reach, points)


def values(module: nn.Module, s: Array) -> Array:
    """The outputs (places, channels out) of a module whose channels all see the same places."""
    channels = getattr(module, "in_features", getattr(module, "num_features", 1))
    with torch.no_grad():
        output: Tensor = module.double()(torch.from_numpy(s)[:, None].expand(-1, channels))
    return output.numpy()


def of(name: str, s: Array, **options: Any) -> Array:
    """The values of the one neuron of an activation as it starts."""
    return values(kafnets.create(name, 1, dtype=torch.float64, **options), s)[:, 0]


def changed(module: nn.Module, **parameters: ArrayLike) -> nn.Module:
    """The module, some of its parameters set."""
    with torch.no_grad():
        for name, value in parameters.items():
            parameter = module.get_parameter(name)
            parameter.copy_(torch.as_tensor(np.asarray(value, dtype=np.float64)).expand_as(parameter))
    return module


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def panels(rows: int, columns: int, height: float) -> tuple[Figure, list[Axes]]:
    figure, axes = plt.subplots(rows, columns, figsize=(10, height), layout="constrained", squeeze=False)
    return figure, list(axes.flat)


def finish(
    axes: Axes, title: str, *, ylim: tuple[float, float] | None = None, legend: Place | None = None
) -> None:
    """Grey lines through the origin, the title, and a legend at ``legend``."""
    axes.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    axes.axvline(0, color="0.8", linewidth=0.8, zorder=0)
    axes.set_title(title, fontsize="medium")
    axes.tick_params(labelsize="small")
    axes.margins(x=0)
    if ylim is not None:
        axes.set_ylim(ylim)
    if legend is not None:
        axes.legend(fontsize="x-small", loc=legend, framealpha=0.9, handlelength=2.8)


def heat_map(
    axes: Axes, module: nn.Module, title: str, *, output: int = 0, reach: float = 1.0, steps: int = 10
) -> None:
    """One output over the two inputs of a pair, in colours from ``-reach`` to ``reach``."""
    side = line(4, 161)
    first, second = np.meshgrid(side, side)
    pairs = torch.from_numpy(np.stack([first.ravel(), second.ravel()], 1))
    with torch.no_grad():
        image = module.double()(pairs)[:, output].reshape(first.shape).numpy()
    levels = np.linspace(-reach, reach, steps + 1)
    drawn = axes.contourf(side, side, image, levels, cmap=COLOURS, extend="both")
    axes.figure.colorbar(drawn, ax=axes, shrink=0.85).ax.tick_params(labelsize="x-small")
    axes.set(xlabel="first of the pair", ylabel="second", aspect="equal")
    finish(axes, title)


def fixed() -> Figure:
    figure, axes = panels(2, 4, 4.8)
    places = torch.from_numpy(line(4)).requires_grad_()
    for panel, name in zip(axes, kafnets.names("fixed"), strict=True):
        output = kafnets.create(name, 1)(places)
        (slope,) = torch.autograd.grad(output.sum(), places)
        panel.plot(line(4), output.detach().numpy(), **START, label="function")
        panel.plot(line(4), slope.numpy(), **MOVED[1], label="derivative")
        finish(panel, name, ylim=(-2, 4), legend="upper left" if name == "sigmoid" else None)
    return figure


def parametric() -> Figure:
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


def piecewise() -> Figure:
    figure, axes = panels(1, 3, 3.6)
    s = line(3)
    starts = values(kafnets.create("apl", 4, generator=seeded(3)), s)
    for i, style in enumerate((START, *MOVED[:3])):
        axes[0].plot(s, starts[:, i], **style, label=f"neuron {i + 1}")
    finish(axes[0], "apl, four neurons at the start", legend="upper left")

    slopes, places = np.array([-0.8, 1.5, -1.3]), np.array([1.5, 0.2, -1.0])
    axes[1].plot(s, reference.activations.relu(s), **BEHIND)
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


def polynomials() -> Figure:
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
                psi = reference.activations.hermite_functions(s, 4)[:, k]
                terms.plot(s, psi, **style, label=f"ψ{'₀₁₂₃'[k]}")
        finish(
            terms,
            "powers" if name == "paf" else "Hermite functions",
            ylim=(-8, 8) if name == "paf" else None,
            legend="lower right",
        )
    return figure


def splines() -> Figure:
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


def maxout() -> Figure:
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
    axes[3].plot(h, values(unit, h), **START, label="start: p = 2, centres 0")
    for norm, style in ((1.05, MOVED[0]), (20.0, MOVED[1])):
        moved = changed(layer("lp_unit"), rho=np.log(np.expm1(norm - 1)))
        axes[3].plot(h, values(moved, h), **style, label=f"p = {norm:g}, centres 0")
    moved = changed(layer("lp_unit"), centres=[[1.0, -0.5, -1.5]])
    axes[3].plot(h, values(moved, h), **MOVED[2], label="p = 2, centres 1, -0.5, -1.5")

    for panel, name in zip(axes, ("maxout", "soft_maxout", "lp_maxout", "lp_unit"), strict=True):
        finish(panel, f"{name}, K = 3, one input", legend="upper center", ylim=(-3, 5))
        panel.set_xlabel("input h", fontsize="small")
    for panel in axes[2:]:
        panel.set_ylim(-0.3, 6)
    return figure


def stochastic() -> Figure:
    figure, axes = panels(2, 3, 5.8)
    s = line(6)
    names = ("rrelu", "noisy_hard_tanh", "noisy_hard_sigmoid")
    hard: list[Callable[[Array], Array] | None] = [
        None,
        reference.activations.hard_tanh,
        reference.activations.hard_sigmoid,
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


def vector_valued() -> Figure:
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


def expansions() -> Figure:
    figure, axes = panels(2, 3, 6.2)
    s = line(5)
    kaf = kafnets.create("kaf", 3, generator=seeded(0), dtype=torch.float64)
    for i, style in enumerate((START, *MOVED[:2])):
        axes[0].plot(s, values(kaf, s)[:, i], **style, label=f"neuron {i + 1}")
    finish(axes[0], "kaf, random start", legend="upper left", ylim=(-2.2, 3))

    elu = kafnets.create("kaf", 1, init="elu", dtype=torch.float64)
    places = elu.get_buffer("dictionary").numpy()
    axes[1].plot(s, TARGETS["elu"](torch.from_numpy(s)), color="0.8", linewidth=5, label="ELU")
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


FAMILIES: dict[str, Callable[[], Figure]] = {
    drawn.__name__: drawn
    for drawn in (
        fixed,
        parametric,
        piecewise,
        polynomials,
        splines,
        maxout,
        stochastic,
        vector_valued,
        expansions,
    )
}


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    for family in sys.argv[1:] or FAMILIES:
        figure = FAMILIES[family]()
        figure.savefig(IMAGES / f"{family}.png", dpi=110)
        plt.close(figure)


if __name__ == "__main__":
    main()
