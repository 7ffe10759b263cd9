"""SUSY: five layers of 300 for fixed and parametric activations, one and two for the others. Table 2."""

from collections.abc import Sequence

from kafnets.comparison.description import Description, chosen, with_seeds
from kafnets.registry import facts_of
from kafnets.train.settings import Settings

ACTIVATIONS = ("relu", "elu", "selu", "prelu", "maxout", "apl", "kaf", "kaf2d")
WIDTH = 300
DEEP = ("fixed", "parametric", "stochastic")
"""Families that the paper gives five layers."""

PROFILES = {
    "paper": ("susy", Settings()),
    "sample": ("susy_sample", Settings()),
    "quick": ("susy_sample", Settings(epochs=10, patience=5)),
}
"""The data and the training: "sample" is the paper's, on 10,982 of the 4,500,000 rows that are not for the
test and 10,000 of those that are; "quick" has at most 10 epochs as well."""


def descriptions(
    profile: str = "paper",
    activations: Sequence[str] = ACTIVATIONS,
    layers: Sequence[int] = (),
    seeds: int = 5,
) -> list[Description]:
    """One per activation, depth and seed; the paper's depths if none are given."""
    data, settings = chosen(PROFILES, profile)
    found = []
    for name in dict.fromkeys(activations):
        deep = facts_of(name).family in DEEP
        for depth in dict.fromkeys(layers) or ((5,) if deep else (1, 2)):
            one = Description(
                "susy",
                profile,
                name,
                data,
                name,
                (WIDTH,) * depth,
                seed=0,
                dropout=(0.0, 0.0, 0.0, 0.5, 0.5) if depth == 5 else (),
                settings=settings,
            )
            found += with_seeds(one, seeds)
    return found
