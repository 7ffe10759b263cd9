"""KAF and 2D-KAF for JAX: pure functions, and Flax NNX modules.

``kaf`` and ``kaf2d`` need JAX alone, and fit into Equinox modules or plain training loops. ``KAF`` and
``KAF2D`` are Flax NNX modules, made when they are asked for.
"""

from typing import TYPE_CHECKING, Any

from kafnets.frontends.exchange import to_torch as to_torch

try:
    from kafnets.jax.functional import coefficients as coefficients
    from kafnets.jax.functional import kaf as kaf
    from kafnets.jax.functional import kaf2d as kaf2d
except ModuleNotFoundError as error:
    error.msg = f"kafnets.jax needs {error.name}: pip install 'kafnets[jax]'"
    raise

if TYPE_CHECKING:
    from kafnets.jax.modules import KAF as KAF
    from kafnets.jax.modules import KAF2D as KAF2D
    from kafnets.jax.modules import from_torch as from_torch


def __getattr__(name: str) -> Any:
    if name not in ("KAF", "KAF2D", "from_torch"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from kafnets.jax import modules
    except ModuleNotFoundError as error:
        error.msg = f"kafnets.jax.{name} needs {error.name}: pip install 'kafnets[jax]'"
        raise
    return getattr(modules, name)
