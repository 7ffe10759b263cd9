"""Draw the picture of docs/depth.md: sizes of activations and gradients in 50 layers, by start."""

from pathlib import Path
from typing import Any

import torch
from matplotlib.ticker import LogLocator

import kafnets
from kafnets import Normal, Ridge
from kafnets.plot import style

TARGET = Path(__file__).parents[1] / "docs/images/depth.png"
DEPTH, WIDTH, ROWS, SEEDS = 50, 64, 256, 5
STARTS: dict[str, dict[str, Any]] = {
    "Normal()": {"init": Normal()},
    'Normal(gain="forward")': {"init": Normal(gain="forward")},
    'Normal(gain="backward")': {"init": Normal(gain="backward")},
    'Ridge("elu")': {"init": Ridge("elu")},
    'Ridge("elu", gain="forward")': {"init": Ridge("elu", gain="forward")},
    'Ridge("elu", gain="backward")': {"init": Ridge("elu", gain="backward")},
    "ReLU with He's weights": {"activation": "relu", "weights": "he"},
}


def norms(seed: int, *, activation: str = "kaf", weights: Any = "lecun", **options: Any) -> torch.Tensor:
    """Root mean squares behind each activation: of its outputs, and of gradients, ``(2, DEPTH)``."""
    generator = torch.Generator().manual_seed(seed)
    options |= {"weights": weights, "generator": generator}
    network = kafnets.mlp(WIDTH, (WIDTH,) * DEPTH, WIDTH, activation, **options)
    x = torch.randn(ROWS, WIDTH, generator=generator)
    outputs = []
    for number, layer in enumerate(network):
        x = layer(x)
        if number % 2:  # linear map, activation, linear map, ...
            outputs.append(x)
    gradients = torch.autograd.grad(x, outputs, torch.randn(x.shape, generator=generator))
    rows = [[each.detach().square().mean().sqrt() for each in some] for some in (outputs, gradients)]
    return torch.tensor(rows)


def main() -> None:
    """Geometric means over a few networks; gradients relative to those at the last layer."""
    figure, places = style.grid(2, 2, width=4.6, height=3.6)
    for (label, options), look in zip(STARTS.items(), style.SERIES, strict=False):
        found = torch.stack([norms(seed, **options) for seed in range(SEEDS)]).log().mean(dim=0).exp()
        found[1] /= found[1, -1].clone()
        print(
            f"{label:32} activations, last over first: {found[0, -1] / found[0, 0]:10.3g}, "
            f"gradients, first over last: {found[1, 0]:10.3g}"
        )
        for place, values in zip(places, found, strict=True):
            place.plot(range(1, DEPTH + 1), values, label=label, **look)
    for place, what in zip(places, ("activations", "gradients, last layer = 1"), strict=True):
        place.set(yscale="log", xlabel="layer", title=f"Root mean square of {what}")
        place.title.set_fontsize(9)
        place.yaxis.set_major_locator(LogLocator(numticks=9))
        style.plain(place)
    places[0].set_ylim(0.01, 10)
    figure.legend(*places[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
    figure.savefig(TARGET, dpi=110)


if __name__ == "__main__":
    main()
