"""Sensorless: 100 neurons per layer, one to three layers, l2 1e-4; and KAFs with other settings."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from kafnets.comparison.description import Description, chosen, with_seeds
from kafnets.kernels import Gaussian
from kafnets.registry import find
from kafnets.train.settings import Settings

ACTIVATIONS = ("tanh", "prelu", "kaf", "kaf2d")
LAYERS = (1, 2)
WIDTH = 100


class Control(NamedTuple):
    """An activation with other options, or trained in another way."""

    activation: str
    options: Mapping[str, Any] = {}
    frozen: bool = False
    training: Mapping[str, Any] = {}
    """Changes of the settings."""


CONTROLS = {
    "kaf from tanh": Control("kaf", {"init": "tanh"}),
    "kaf frozen": Control("kaf", frozen=True),
    "kaf learned gamma": Control("kaf", {"kernel": Gaussian(learn_gamma="neuron")}),
    **{f"kaf D={size}": Control("kaf", {"dictionary_size": size}) for size in (5, 10, 40, 80)},
    "kaf on mish": Control("kaf", {"base": "mish"}),
    "kaf linear tails": Control("kaf", {"tails": "linear"}),
    "kaf calibrated": Control("kaf", training={"calibrate_after": 3}),
    "kaf refined": Control("kaf", {"dictionary_size": 10}, training={"refine": {20: 20}}),
}
"""By label."""

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
    """One per label, depth and seed. An activation is a registered name or one of the controls."""
    data, settings = chosen(PROFILES, profile)
    found = []
    for label in dict.fromkeys(activations):
        control = CONTROLS.get(label, Control(label))
        find(control.activation)
        for depth in dict.fromkeys(layers) or LAYERS:
            one = Description(
                "sensorless",
                profile,
                label,
                data,
                control.activation,
                (WIDTH,) * depth,
                seed=0,
                options=dict(control.options),
                frozen=control.frozen,
                settings=replace(settings, **control.training),
            )
            found += with_seeds(one, seeds)
    return found
