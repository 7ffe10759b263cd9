"""An image as a network: from a pixel's place to its colors.

Networks see all pixels; what counts is how well so few parameters store the picture.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import kafnets
from benchmarks.when.methods import size, widest
from benchmarks.when.study import Case, Study
from kafnets import Ridge

SIDE, BATCH = 128, 2048
LAYERS = 3
"""Hidden ones of every network; the deeper control has twice as many."""
FREQUENCY = 30.0
"""Of the first layer of sine networks, as in Sitzmann et al. (2020), who also give their first weights."""
FEATURES, SPREAD = 32, 5.0
"""Fourier features: how many frequencies, and their standard deviation in periods per unit."""

FINE = 100
"""Terms of KAFs that are in the first layer only."""


@functools.cache
def pixels(name: str) -> tuple[Tensor, Tensor]:
    """Places (rows, 2) and colors (rows, 3), both in [-1, 1]: a square of the photograph, averaged."""
    from sklearn.datasets import load_sample_image

    photograph = load_sample_image(f"{name}.jpg").astype(np.float32)
    step = min(photograph.shape[:2]) // SIDE
    square = photograph[: SIDE * step, : SIDE * step]
    colors = square.reshape(SIDE, step, SIDE, step, 3).mean((1, 3)) / 127.5 - 1
    axis = torch.linspace(-1, 1, SIDE)
    return torch.cartesian_prod(axis, axis), torch.from_numpy(colors.reshape(-1, 3))


class Wave(nn.Module):
    """sin(frequency x)."""

    def __init__(self, frequency: float) -> None:
        super().__init__()
        self.frequency = frequency

    def forward(self, x: Tensor) -> Tensor:
        return torch.sin(self.frequency * x)


class FourierFeatures(nn.Module):
    """Sines and cosines of fixed random directions, as in Tancik et al. (2020). They count as parameters."""

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        directions = SPREAD * torch.randn(2, FEATURES, generator=generator)
        self.directions = nn.Parameter(directions, requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        angles = torch.pi * x @ self.directions
        return torch.cat([torch.sin(angles), torch.cos(angles)], dim=1)


def _waves(width: int, generator: torch.Generator) -> nn.Module:
    net = kafnets.mlp(2, (width,) * LAYERS, 3, lambda n: Wave(FREQUENCY), generator=generator)
    linear = [each for each in net if isinstance(each, nn.Linear)]
    with torch.no_grad():
        for number, layer in enumerate(linear):
            fan_in = layer.in_features
            reach = 1 / fan_in if number == 0 else np.sqrt(6 / fan_in) / FREQUENCY
            layer.weight.uniform_(-reach, reach, generator=generator)
            layer.bias.uniform_(-1 / np.sqrt(fan_in), 1 / np.sqrt(fan_in), generator=generator)
    return net


def _fourier(width: int, generator: torch.Generator) -> nn.Module:
    rest = kafnets.mlp(2 * FEATURES, (width,) * (LAYERS - 1), 3, "relu", generator=generator)
    return nn.Sequential(FourierFeatures(generator), rest)


def _fine_first(width: int, generator: torch.Generator) -> nn.Module:
    """KAFs with many terms after the first linear map; ReLU after the others."""
    first = kafnets.mlp(2, (width,), width, "kaf", generator=generator, dictionary_size=FINE)
    rest = kafnets.mlp(width, (width,) * (LAYERS - 2), 3, "relu", generator=generator)
    return nn.Sequential(first, nn.ReLU(), rest)


def _from_sines(width: int, generator: torch.Generator) -> nn.Module:
    """KAFs everywhere that start as sines, the first ones as fast ones with 60 terms."""
    fast = Ridge(lambda s: torch.sin(10 * s))
    first = kafnets.mlp(2, (width,), width, "kaf", generator=generator, dictionary_size=60, init=fast)
    slow = Ridge(torch.sin)
    rest = kafnets.mlp(width, (width,) * (LAYERS - 2), 3, "kaf", generator=generator, init=slow)
    return nn.Sequential(first, kafnets.KAF(width, init=slow), rest)


def _everywhere(
    activation: str, width: int, generator: torch.Generator, layers: int = LAYERS, **options: Any
) -> nn.Module:
    return kafnets.mlp(2, (width,) * layers, 3, activation, generator=generator, **options)


METHODS: dict[str, Callable[[int, torch.Generator], nn.Module]] = {
    "relu": functools.partial(_everywhere, "relu"),
    "relu, 6 layers": functools.partial(_everywhere, "relu", layers=2 * LAYERS),
    "sine": _waves,
    "fourier features": _fourier,
    "kaf, 20 terms": functools.partial(_everywhere, "kaf"),
    "kaf, 60 terms": functools.partial(_everywhere, "kaf", dictionary_size=60),
    "kaf from sines": _from_sines,
    "kaf first, 100 terms": _fine_first,
}


def trial(case: Case, rate: float, steps: int) -> dict[str, float]:
    """Adam with a cosine schedule on random pixels. All errors are those of the whole picture."""
    places, colors = pixels(case.name)
    net = widest(case.method, METHODS[case.method], case.budget, case.seed)
    optimizer = torch.optim.Adam(net.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    generator = torch.Generator().manual_seed(case.seed)
    for _ in range(steps):
        rows = torch.randint(len(places), (BATCH,), generator=generator)
        loss = nn.functional.mse_loss(net(places[rows]), colors[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        error = float(nn.functional.mse_loss(net(places), colors).sqrt()) / 2
    return {"validation": error, "test": error, "parameters": size(net)}


STUDY = Study(
    names=("china",),
    methods=tuple(METHODS),
    budgets=(10000,),
    rates=(0.003, 0.02),
    steps=500,
    trial=trial,
)
