"""The arguments of ``kaf`` and ``kaf2d`` and of their layers, checked alike in every framework."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kafnets.checks import check_integer
from kafnets.expansion import Expansion, check_coefficients, expansion_for


def checked_call(
    dimensions: int,
    x_shape: Sequence[Any],
    alpha_shape: Sequence[Any],
    expansion: Expansion | None,
    dim: int,
    gamma_shape: Sequence[Any] | None,
    weight_shape: Sequence[Any] | None = None,
) -> tuple[Expansion, int]:
    """The expansion, and how many neighboring channels (pairs in two dimensions) share each function.

    Args:
        dimensions: 1 for ``kaf``, 2 for ``kaf2d``.
        x_shape: of the activations.
        alpha_shape: of the coefficients.
        expansion: None for the paper's.
        dim: the channel axis.
        gamma_shape: of the present value of a learned bandwidth; None if none is given.
        weight_shape: of the weights of a base; None if none are given.
    """
    if len(alpha_shape) != 1 + dimensions:
        wanted = "(N, D)" if dimensions == 1 else "(P, D, D)"
        raise ValueError(f"alpha must have the shape {wanted}, got {tuple(alpha_shape)}")
    if expansion is None:
        expansion = expansion_for(tuple(alpha_shape), dimensions)
    check_expansion(expansion, dimensions)
    check_coefficients(expansion, alpha_shape)
    groups = alpha_shape[0]
    if bool(expansion.learn_gamma) is (gamma_shape is None):
        need = "needs gamma, its current value"
        if gamma_shape is not None:
            need = "has a fixed bandwidth: omit gamma, or give an expansion whose kernel has learn_gamma"
        raise ValueError(f"the kernel {expansion.kernel!r} {need}")
    if gamma_shape is not None and tuple(gamma_shape) not in ((), (groups,)):
        raise ValueError(
            f"gamma must be one number, or one for each of the {groups} functions, got the shape "
            f"{tuple(gamma_shape)}"
        )
    if (expansion.base is not None and expansion.base.learned) is (weight_shape is None):
        need = "needs weight, one per function" if weight_shape is None else "has no weight: omit it"
        raise ValueError(f"the base {expansion.base!r} {need}")
    if weight_shape is not None and tuple(weight_shape) != (groups,):
        raise ValueError(f"weight must have the shape {(groups,)}, got {tuple(weight_shape)}")
    return expansion, _sharing(dimensions, x_shape, dim, groups)


def check_expansion(expansion: object, dimensions: int) -> None:
    """Raise unless it is one of so many dimensions."""
    if not isinstance(expansion, Expansion) or expansion.dimensions != dimensions:
        raise TypeError(
            f"expansion must be a kafnets.Expansion with dimensions={dimensions}, got {expansion!r}"
        )


def _sharing(dimensions: int, x_shape: Sequence[Any], dim: int, groups: Any) -> Any:
    rank = len(x_shape)
    if not -rank <= dim < rank:
        raise ValueError(f"dim must be one of the {rank} axes of x of shape {tuple(x_shape)}, got {dim}")
    channels = x_shape[dim]
    if channels is None:
        raise ValueError(
            f"x must have a known number of channels along dim={dim}, got the shape {tuple(x_shape)}"
        )
    if groups == 0 or channels % (dimensions * groups):
        raise ValueError(
            f"alpha must have one function for each {'of' if dimensions == 1 else 'pair of'} the {channels} "
            f"channels of x along dim={dim}, or a divisor of that number, got {groups}"
        )
    return channels // (dimensions * groups)


def checked_layer(num_features: int, dim: int, groups: int | None, inputs: int) -> int:
    """How many functions a layer has, each of ``inputs`` neighboring channels."""
    check_integer("num_features", num_features)
    if isinstance(dim, bool) or not isinstance(dim, int | np.integer):
        raise TypeError(f"dim must be an integer, got {dim!r}")
    if num_features > 1 and num_features % inputs:
        raise ValueError(
            f"num_features must be even, since neighboring channels are paired, got {num_features}"
        )
    functions = max(1, num_features // inputs)
    if groups is None:
        return functions
    check_integer("groups", groups)
    if functions % groups:
        raise ValueError(f"groups must be a divisor of {functions}, the number of functions, got {groups}")
    return groups
