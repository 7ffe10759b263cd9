"""Kernels and initialisers as Keras stores them: dictionaries of plain values."""

from dataclasses import asdict
from typing import Any

import keras

from kafnets.kernels import Gaussian, Kernel, Periodic, Polynomial, ReLUKernel, Softplus
from kafnets.nn.initializers import TARGETS, Normal, Ridge
from kafnets.nn.presets import Preset

KERNELS: dict[str, type[Kernel]] = {
    each.__name__: each for each in (Gaussian, Polynomial, ReLUKernel, Softplus, Periodic)
}


def kernel(given: Kernel | dict[str, Any] | None) -> Kernel | None:
    """From what :func:`of_kernel` gives, or itself."""
    if isinstance(given, dict):
        return KERNELS[given["name"]](**given["options"])
    if given is not None and type(given) not in KERNELS.values():
        raise TypeError(f"kernel must be one of {', '.join(KERNELS)} or None, got {given!r}")
    return given


def of_kernel(kernel: Kernel | None) -> dict[str, Any] | None:
    """As plain values."""
    return None if kernel is None else {"name": type(kernel).__name__, "options": asdict(kernel)}


def initializer(given: Any, preset: Preset) -> Any:
    """One of Keras, or a :class:`Ridge`."""
    if given is None:
        given = Normal(preset.std)
    if isinstance(given, dict) and given.get("name") == "Ridge":
        return Ridge(**given["options"])
    if isinstance(given, str) and given in TARGETS:
        return Ridge(given, preset.ridge_eps)
    if isinstance(given, Normal):
        return keras.initializers.RandomNormal(stddev=given.std)
    return given if isinstance(given, Ridge) else keras.initializers.get(given)


def of_initializer(initializer: Any) -> Any:
    """As plain values; functions to follow have none, unless they have a name."""
    if not isinstance(initializer, Ridge):
        return keras.initializers.serialize(initializer)
    if not isinstance(initializer.target, str):
        raise ValueError(
            f"alpha_initializer follows {initializer.target!r}, which cannot be stored: give the name of a "
            f"function, one of {', '.join(TARGETS)}"
        )
    return {"name": "Ridge", "options": asdict(initializer)}
