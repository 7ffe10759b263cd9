"""Values of activations as they start, and with their parameters moved."""

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

import kafnets

Array = NDArray[np.float64]


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
