"""Moving trained activations between frameworks, by way of NumPy arrays that all can read and write."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kafnets.expansion import Expansion

Arrays = dict[str, NDArray[np.float64]]
"""``alpha``, and ``log_gamma`` where the bandwidth is learned."""


def arrays_of(
    layer: Any, to_numpy: Callable[[Any], Any] = lambda each: each.detach().cpu().double().numpy()
) -> Arrays:
    """The parameters of an activation; of torch, unless told how they become arrays."""
    if not isinstance(getattr(layer, "expansion", None), Expansion) or not hasattr(layer, "groups"):
        raise TypeError(f"module must be a kafnets.KAF or kafnets.KAF2D, got {type(layer).__name__}")
    found = {"alpha": layer.alpha, "log_gamma": layer.log_gamma}
    return {name: np.array(to_numpy(each), np.float64) for name, each in found.items() if each is not None}


def options_of(layer: Any, dim: int | None) -> dict[str, Any]:
    """Those with which a layer of any framework does the same, along ``dim`` or the axis that it has."""
    kernel, dictionary = layer.expansion.kernel, layer.expansion.dictionary.values
    where = layer.dim if dim is None else dim
    return {"groups": layer.groups, "dim": where, "kernel": kernel, "dictionary": dictionary}


def torch_module(dimensions: int, num_features: int, arrays: Arrays, options: dict[str, Any]) -> Any:
    """A module of torch with these parameters."""
    import torch

    import kafnets

    cls = kafnets.KAF if dimensions == 1 else kafnets.KAF2D
    module = cls(num_features, init=kafnets.Normal(0.0), **options)
    with torch.no_grad():
        for name, values in arrays.items():
            getattr(module, name).copy_(torch.from_numpy(values))
    return module
