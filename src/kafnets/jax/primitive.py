"""The expansion as a JAX primitive, linear in its coefficients.

Forward and reverse mode both follow from three rules: the derivative by the input, that by the coefficients,
which is the primitive itself, and its transpose. Nothing but the input is kept for the backward pass, and
nothing is larger than it.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from kafnets.frontends import direct, formulas
from kafnets.frontends.library import Library
from kafnets.frontends.plan import Plan

Array = Any

expand_p = Primitive("kaf_expand")
"""Takes activations, coefficients and perhaps a learned bandwidth; see :mod:`kafnets.frontends.formulas`."""


class _Library(Library):
    def accumulate(self, count: int, turn: Callable[[Any, Any], Any], start: Any) -> Any:
        return turn(0, start) if count == 1 else jax.lax.fori_loop(0, count, turn, start)

    def element(self, values: Sequence[float], i: Any, like: Array) -> Array:
        return jnp.asarray(values, like.dtype)[i]

    def collect(self, count: int, turn: Callable[[Any], Array]) -> Array:
        return turn(0)[None] if count == 1 else jax.lax.map(turn, jnp.arange(count))


LIBRARY = _Library(jnp)


def _bandwidth(learned: tuple[Array, ...]) -> Array | None:
    return learned[0] if learned else None


def _double(s: Array) -> bool:
    return bool(s.dtype == jnp.float64)


def _expand(s: Array, alpha: Array, *gamma: Array, plan: Plan) -> Array:
    return formulas.expand(LIBRARY, plan, s, alpha, _bandwidth(gamma), _double(s))


@functools.partial(jax.jit, static_argnames="plan")
def _slope(s: Array, alpha: Array, *gamma: Array, plan: Plan) -> Array:
    return formulas.slope(LIBRARY, plan, s, alpha, _bandwidth(gamma), _double(s))


@functools.partial(jax.jit, static_argnames="plan")
def _by_coefficients(upstream: Array, s: Array, *gamma: Array, plan: Plan) -> Array:
    return formulas.by_coefficients(LIBRARY, plan, upstream, s, _bandwidth(gamma), _double(s))


@functools.partial(jax.jit, static_argnames="plan")
def _by_gamma(s: Array, alpha: Array, gamma: Array, *, plan: Plan) -> Array:
    return direct.by_gamma(LIBRARY, plan, s, alpha, gamma)


def _shape(s: Any, alpha: Any, *gamma: Any, plan: Plan) -> ShapedArray:
    shaped: ShapedArray = s.update(shape=(*s.shape[:-1], alpha.shape[0]), weak_type=False)
    return shaped


def _jvp(primals: tuple[Array, ...], tangents: tuple[Any, ...], *, plan: Plan) -> tuple[Array, Any]:
    s, alpha, *gamma = primals
    by_s, by_alpha, *by_gamma = tangents
    result = expand_p.bind(*primals, plan=plan)
    parts = []
    if type(by_s) is not ad.Zero:
        moved = _slope(s, alpha, *gamma, plan=plan) * by_s
        parts.append(moved if plan.dimensions == 1 else sum(direct.pair(moved)))
    if type(by_alpha) is not ad.Zero:
        parts.append(expand_p.bind(s, by_alpha, *gamma, plan=plan))
    if by_gamma and type(by_gamma[0]) is not ad.Zero:
        parts.append(_by_gamma(s, alpha, *gamma, plan=plan) * by_gamma[0])
    return result, sum(parts)


def _transpose(upstream: Any, s: Array, alpha: Any, *gamma: Array, plan: Plan) -> list[Any]:
    assert ad.is_undefined_primal(alpha)
    found = None if type(upstream) is ad.Zero else _by_coefficients(upstream, s, *gamma, plan=plan)
    return [None, found, *[None] * len(gamma)]


def _batch(arrays: tuple[Array, ...], axes: tuple[int | None, ...], *, plan: Plan) -> tuple[Array, int]:
    s, alpha, *gamma = arrays
    if all(axis is None for axis in axes[1:]):
        # One set of parameters: an axis more in front.
        return expand_p.bind(jnp.moveaxis(s, axes[0] or 0, 0), alpha, *gamma, plan=plan), 0
    # Many sets: their neurons stand side by side in one wider layer.
    sizes = (array.shape[axis] for array, axis in zip(arrays, axes, strict=True) if axis is not None)
    size = next(sizes)

    def spread(array: Array, axis: int | None, to: int) -> Array:
        if axis is None:
            return jnp.broadcast_to(jnp.expand_dims(array, to), _inserted(array.shape, to, size))
        return jnp.moveaxis(array, axis, to)

    rank = s.ndim - (axes[0] is not None)
    wide = spread(s, axes[0], rank - 1)  # (..., size, N)
    coefficients = spread(alpha, axes[1], 0)  # (size, N, D)
    neurons = coefficients.shape[1]
    bandwidths = []
    for each, axis in zip(gamma, axes[2:], strict=True):
        apart = spread(each, axis, 0)  # (size,) or (size, N)
        apart = apart[:, None] if apart.ndim == 1 else apart
        bandwidths.append(jnp.broadcast_to(apart, (size, neurons)).reshape(-1))
    result = expand_p.bind(
        wide.reshape(*wide.shape[:-2], -1),
        coefficients.reshape(-1, *coefficients.shape[2:]),
        *bandwidths,
        plan=plan,
    )
    return result.reshape(*result.shape[:-1], size, neurons), rank - 1


def _inserted(shape: tuple[int, ...], place: int, size: int) -> tuple[int, ...]:
    return (*shape[:place], size, *shape[place:])


expand_p.def_impl(jax.jit(_expand, static_argnames="plan"))
expand_p.def_abstract_eval(_shape)
ad.primitive_jvps[expand_p] = _jvp
ad.primitive_transposes[expand_p] = _transpose
batching.primitive_batchers[expand_p] = _batch
mlir.register_lowering(expand_p, mlir.lower_fun(_expand, multiple_results=False))
