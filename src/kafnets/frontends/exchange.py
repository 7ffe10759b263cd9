"""Moving trained activations between frameworks, by way of NumPy arrays that all can read and write."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kafnets.expansion import Expansion

Arrays = dict[str, NDArray[np.float64]]
"""``alpha``, ``base_weight`` where a base has weights, and ``log_gamma`` where the bandwidth is learned."""


def arrays_of(layer: Any) -> Arrays:
    """The parameters of an activation of any framework."""
    if not isinstance(getattr(layer, "expansion", None), Expansion) or not hasattr(layer, "groups"):
        raise TypeError(f"module must be a kafnets.KAF or kafnets.KAF2D, got {type(layer).__name__}")
    found = parameters_of(layer)
    plain = {name: each.detach().cpu() if hasattr(each, "detach") else each for name, each in found.items()}
    return {name: np.asarray(each).astype(np.float64) for name, each in plain.items()}


def parameters_of(layer: Any) -> dict[str, Any]:
    """The same as arrays of its framework."""
    given = {name: getattr(layer, name) for name in ("alpha", "base_weight", "log_gamma")}
    return {name: each[...] for name, each in given.items() if each is not None}  # variables become arrays


def call(functions: Any, exp: Any, arrays: dict[str, Any], expansion: Expansion, dim: int, x: Any) -> Any:
    """``kaf`` or ``kaf2d`` of a framework's functions, with the parameters of a layer."""
    more = {"weight": arrays["base_weight"]} if "base_weight" in arrays else {}
    if "log_gamma" in arrays:
        more["gamma"] = exp(arrays["log_gamma"])
    function = functions.kaf if expansion.dimensions == 1 else functions.kaf2d
    return function(x, arrays["alpha"], expansion, dim, **more)


def to_torch(layer: Any, *, dim: int | None = None) -> Any:
    """The same activation as a torch module; channels along ``dim``, or along the layer's."""
    if getattr(layer, "built", True) is False:
        raise ValueError("layer has no coefficients yet: call it on data, or build it, first")
    return torch_module(
        arrays_of(layer), layer.expansion, layer.num_features, layer.dim if dim is None else dim
    )


def torch_module(arrays: Arrays, expansion: Expansion, num_features: int | None, dim: int) -> Any:
    """A torch module with these parameters. Without ``num_features`` no function is shared, or one by all."""
    import torch

    import kafnets

    cls, groups = kafnets.KAF if expansion.dimensions == 1 else kafnets.KAF2D, len(arrays["alpha"])
    if num_features is None:
        num_features = groups * expansion.dimensions if groups > 1 else 1
    module = cls(num_features, groups=groups, dim=dim, init=kafnets.Normal(0.0), **expansion.options)
    with torch.no_grad():
        for name, values in arrays.items():
            getattr(module, name).copy_(torch.as_tensor(values))
    return module
