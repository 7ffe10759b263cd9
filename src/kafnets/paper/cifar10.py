"""CIFAR-10: two to five convolutional modules; KAFs are initialized like ELU."""

from collections.abc import Sequence
from typing import Any

from kafnets.comparison.description import Description, chosen, with_seeds
from kafnets.registry import find
from kafnets.train.settings import Settings

ACTIVATIONS = ("elu", "kaf", "kaf2d")
LAYERS = (2, 3, 4, 5)
DROPOUT = 0.25
OPTIONS: dict[str, dict[str, Any]] = {"kaf": {"init": "elu"}, "kaf2d": {"init": "elu"}}

PROFILES = {
    "paper": (150, Settings()),
    "long": (150, Settings(epochs=12, patience=12, precision="bf16-mixed")),
    "short": (150, Settings(epochs=4, patience=4)),
    "medium": (32, Settings(epochs=20, patience=20)),
    "small": (16, Settings(epochs=8, patience=5)),
    "quick": (8, Settings(epochs=2, patience=2)),
}
"""Filters and training. With 150 filters an epoch takes minutes on one core, so "long" and "short" have few
epochs, "medium" fewer filters and more epochs, and "small" 16 filters, with which all cells can be run;
"quick" only shows that it runs. "long" multiplies in bfloat16, which halves its time where it is native."""


def descriptions(
    profile: str = "paper",
    activations: Sequence[str] = ACTIVATIONS,
    layers: Sequence[int] = LAYERS,
    seeds: int = 5,
) -> list[Description]:
    """One per activation, number of modules and seed."""
    filters, settings = chosen(PROFILES, profile)
    found = []
    for name in dict.fromkeys(activations):
        find(name)
        for modules in dict.fromkeys(layers) or LAYERS:
            one = Description(
                "cifar10",
                profile,
                name,
                "cifar10",
                name,
                (filters,) * modules,
                seed=0,
                options=OPTIONS.get(name, {}),
                dropout=(DROPOUT,) * modules,
                network="cnn",
                settings=settings,
            )
            found += with_seeds(one, seeds)
    return found
