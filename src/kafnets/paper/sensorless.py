"""Sensorless: 100 neurons a layer, one to three layers, l2 1e-4; and KAFs with other settings."""

from collections.abc import Sequence
from typing import Any

from kafnets.comparison.description import Description, chosen, with_seeds
from kafnets.kernels import Gaussian
from kafnets.registry import find
from kafnets.train.settings import Settings

ACTIVATIONS = ("tanh", "prelu", "kaf", "kaf2d")
LAYERS = (1, 2)
WIDTH = 100

CONTROLS: dict[str, tuple[str, dict[str, Any], bool]] = {
    "kaf from tanh": ("kaf", {"init": "tanh"}, False),
    "kaf frozen": ("kaf", {}, True),
    "kaf learned gamma": ("kaf", {"kernel": Gaussian(learn_gamma="neuron")}, False),
    **{f"kaf D={size}": ("kaf", {"dictionary_size": size}, False) for size in (5, 10, 40, 80)},
}
"""By label: the activation, its options, and whether it is frozen."""

PROFILES = {
    "paper": ("sensorless", Settings()),
    "quick": ("sensorless_sample", Settings(epochs=40, patience=10)),
}
"""The data and the training: the quick one has 5,500 of the 58,509 rows and at most 40 epochs."""


def descriptions(
    profile: str = "paper",
    activations: Sequence[str] = ACTIVATIONS,
    layers: Sequence[int] = LAYERS,
    seeds: int = 5,
) -> list[Description]:
    """One a label, depth and seed. An activation is a registered name or one of the controls."""
    data, settings = chosen(PROFILES, profile)
    found = []
    for label in dict.fromkeys(activations):
        activation, options, frozen = CONTROLS.get(label, (label, {}, False))
        find(activation)
        for depth in dict.fromkeys(layers) or LAYERS:
            one = Description(
                "sensorless",
                profile,
                label,
                data,
                activation,
                (WIDTH,) * depth,
                seed=0,
                options=options,
                frozen=frozen,
                settings=settings,
            )
            found += with_seeds(one, seeds)
    return found
