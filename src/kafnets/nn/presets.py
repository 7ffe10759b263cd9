"""Named sets of defaults: the paper's, and those of the authors' published code, which differ."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Preset:
    """What a module takes where its arguments leave a choice open."""

    boundary: float
    """The dictionary reaches from minus to plus this."""
    bandwidth_divisor: float
    r"""The 6 in the rule of thumb :math:`\gamma = 1 / (6 \Delta^2)`."""
    std: float
    """Standard deviation of random mixing coefficients."""
    ridge_eps: float
    """Ridge factor where an initialiser is given as a name."""


PRESETS = {
    "paper": Preset(boundary=3.0, bandwidth_divisor=6.0, std=math.sqrt(0.3), ridge_eps=1e-6),
    "authors_code": Preset(boundary=4.0, bandwidth_divisor=8.0, std=0.8, ridge_eps=1e-4),
}


def find_preset(name: str) -> Preset:
    if name not in PRESETS:
        raise ValueError(f"preset must be one of {', '.join(map(repr, PRESETS))}, got {name!r}")
    return PRESETS[name]
