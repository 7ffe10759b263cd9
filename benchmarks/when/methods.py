"""Networks of the studies, by the names that they have in the tables."""

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

import kafnets

Maker = Callable[[int, int, int, torch.Generator], nn.Module]
"""Of a network, from inputs, width, outputs and a generator."""


class Sine(nn.Module):
    """sin(x), for any number of neurons."""

    def __init__(self, num_features: int) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        return torch.sin(x)


def _mlp(activation: Any, layers: int, **options: Any) -> Maker:
    def make(inputs: int, width: int, outputs: int, generator: torch.Generator) -> nn.Module:
        return kafnets.mlp(inputs, (width,) * layers, outputs, activation, generator=generator, **options)

    return make


def _edgewise(layers: int = 1, **options: Any) -> Maker:
    def make(inputs: int, width: int, outputs: int, generator: torch.Generator) -> nn.Module:
        return kafnets.edgewise_mlp(inputs, (width,) * layers, outputs, generator=generator, **options)

    return make


METHODS: dict[str, Maker] = {
    "relu": _mlp("relu", 2),
    "tanh": _mlp("tanh", 2),
    "silu": _mlp(nn.SiLU, 2),
    "sine": _mlp(Sine, 2),
    "relu, 3 layers": _mlp("relu", 3),
    "tanh, 3 layers": _mlp("tanh", 3),
    "silu, 3 layers": _mlp(nn.SiLU, 3),
    "sine, 3 layers": _mlp(Sine, 3),
    "relu, 4 layers": _mlp("relu", 4),
    "tanh, 4 layers": _mlp("tanh", 4),
    "silu, 4 layers": _mlp(nn.SiLU, 4),
    "sine, 4 layers": _mlp(Sine, 4),
    "kaf": _mlp("kaf", 2),
    "kaf on silu": _mlp("kaf", 2, base="silu"),
    "kaf on silu, 3 layers": _mlp("kaf", 3, base="silu"),
    "kaf on silu, 4 layers": _mlp("kaf", 4, base="silu"),
    "kaf on tanh": _mlp("kaf", 2, base="tanh"),
    "kaf2d": _mlp("kaf2d", 2),
    "edgewise": _edgewise(),
    "edgewise, 2 layers": _edgewise(2),
    "edgewise, 2 layers, 6 terms": _edgewise(2, dictionary_size=6),
    "edgewise, linear parts": _edgewise(base=None, input_boundary=1.0, normalize_from=1),
}


def network(method: str, inputs: int, outputs: int, budget: int, seed: int) -> nn.Module:
    """The widest one within the budget."""

    def make(width: int, generator: torch.Generator) -> nn.Module:
        return METHODS[method](inputs, width, outputs, generator)

    return widest(method, make, budget, seed)


def widest(
    method: str, make: Callable[[int, torch.Generator], nn.Module], budget: int, seed: int
) -> nn.Module:
    """Of the networks from a width and a generator, the widest within the budget.

    Widths are even, as pairs need.
    """
    found = None
    for width in itertools.count(2, 2):
        made = make(width, torch.Generator().manual_seed(seed))
        if size(made) > budget:
            break
        found = made
    if found is None:
        raise ValueError(f"{method} has no network of at most {budget} parameters")
    return found


def size(net: nn.Module) -> int:
    """Number of parameters."""
    return sum(each.numel() for each in net.parameters())
