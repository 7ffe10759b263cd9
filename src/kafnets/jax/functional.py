"""Pure functions of activations and parameters, which can be transformed in any way and sharded."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Unpack

import jax
import jax.numpy as jnp
import numpy as np

from kafnets.expansion import Expansion, ExpansionOptions
from kafnets.frontends.framework import Framework
from kafnets.jax import native
from kafnets.starts import Init, first_values

Array = jax.Array


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
@functools.partial(jax.jit, static_argnums=0)
def _expand(expansion: Expansion, *arrays: Array) -> Array:
    """Linear in alpha, so that reverse mode follows from forward mode."""
    return (
        native.value(expansion, 0, *arrays)
        if native.takes(expansion, *arrays)
        else JAX.value(expansion, *arrays)
    )


class _Jax(Framework):
    keeps_terms = False
    expand = staticmethod(_expand)
    erf, sigmoid = staticmethod(jax.lax.erf), staticmethod(jax.nn.sigmoid)

    def recomputed(self, function: Callable[..., Array]) -> Callable[..., Array]:
        return jax.checkpoint(function)

    def accumulate(self, count: int, turn: Callable[[Any, Any], Any], start: Any) -> Any:
        # A turn is computed again for its derivatives, so that they need no array larger than the input.
        again = jax.checkpoint(turn, prevent_cse=False)
        return again(0, start) if count == 1 else jax.lax.fori_loop(0, count, again, start)

    def element(self, values: Sequence[float], i: Any, like: Array) -> Array:
        return jnp.asarray(values, like.dtype)[i]

    def slope(self, function: Callable[[Array], Array], s: Array) -> Array:
        value, back = jax.vjp(function, s)
        return back(jnp.ones_like(value))[0]


JAX = _Jax(jnp)
kaf, kaf2d = JAX.kaf, JAX.kaf2d
_pushed_forward = jax.jit(JAX.pushed_forward, static_argnums=(0, 1))


@functools.partial(_expand.defjvp, symbolic_zeros=True)
def _jvp(expansion: Expansion, arrays: Sequence[Array], tangents: Sequence[Any]) -> tuple[Array, Any]:
    still = [isinstance(moved, jax.custom_derivatives.SymbolicZero) for moved in tangents]
    if native.takes(expansion, *arrays):
        if not any(still):
            return _expand(expansion, *arrays), native.change(expansion, *arrays, *tangents)
        s, alpha = arrays
        moved = (
            tangents[0] * native.value(expansion, 1, s, alpha)
            if still[1]
            else native.value(expansion, 0, s, tangents[1])
        )
        return _expand(expansion, *arrays), moved
    moving = (
        _pushed_forward(number, expansion, moved, *arrays)
        for number, moved in enumerate(tangents)
        if not isinstance(moved, jax.custom_derivatives.SymbolicZero)
    )
    return _expand(expansion, *arrays), sum(moving)


def coefficients(
    functions: int,
    *,
    key: Array | None = None,
    init: Init = None,
    dimensions: int = 1,
    dtype: Any = None,
    **options: Unpack[ExpansionOptions],
) -> Array:
    """Initial mixing coefficients: ``(functions, D)``, or ``(functions, D, D)`` for two dimensions.

    >>> import jax
    >>> alpha = kafnets.jax.coefficients(3, init="elu")
    >>> kafnets.jax.kaf(jax.numpy.zeros((5, 3)), alpha).shape
    (5, 3)

    ``key`` is for random ones; ``init`` and options are those of :class:`kafnets.KAF`.
    """
    source = Source(key, jnp.result_type(float) if dtype is None else dtype)
    return first_values(jnp, init, functions, Expansion.of(dimensions, **options), source, source.dtype)


class Source:
    """How JAX draws initial values: see :class:`kafnets.starts.Source`."""

    def __init__(self, key: Array | None, dtype: Any) -> None:
        self.key, self.dtype = key, dtype

    def normal(self, std: float, shape: tuple[int, ...]) -> Array:
        """Each time from a new key."""
        if self.key is None:
            raise ValueError("random initial values need a key: key=jax.random.key(0), or rngs=nnx.Rngs(0)")
        self.key, key = jax.random.split(self.key)
        return std * jax.random.normal(key, shape, self.dtype)

    @staticmethod
    def call(function: Callable[..., Any], *places: Any) -> Any:
        """With float64 arrays, and at once even where all else is traced: a solution is found in NumPy."""
        with jax.ensure_compile_time_eval(), jax.enable_x64(True):
            return np.asarray(function(*map(jnp.asarray, places)))
