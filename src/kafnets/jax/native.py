"""The native kernels of the CPU as JAX primitives, where a KAF has them.

They are those of :mod:`kafnets.ops`, called by XLA itself, and closed under differentiation: the derivative
of a value by activations is the value of its slope, that by coefficients is a sum over rows. Activations are
``(..., N)``, coefficients ``(N, D)``; ``order`` is that of the derivative. On other devices formulas run.
"""

import functools
import importlib.util
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from kafnets.expansion import TAILS, Expansion

TERMS_PER_THREAD = 2**20
"""A second thread pays for itself from about this many terms on."""


@functools.cache
def available() -> bool:
    """Whether XLA knows the kernels by now."""
    module: Any = _module("baseline")
    try:
        for name in ("avx512", "avx2"):
            if module.runs(name):
                module = _module(name) or module
                break
        for name, handler in module.xla_handlers.items():
            jax.ffi.register_ffi_target(f"kafnets_{name}", handler, platform="cpu")
    except Exception:  # not built, or from older sources, or XLA has another version of the interface
        return False
    return True


def _module(instruction_set: str) -> ModuleType | None:
    """As it would be imported, but for its package, which imports torch."""
    name = f"kafnets.ops._cpu_{instruction_set}"
    if name in sys.modules:
        return sys.modules[name]
    package = importlib.util.find_spec("kafnets.ops")
    assert package is not None
    specs = (finder.find_spec(name, package.submodule_search_locations) for finder in sys.meta_path)
    spec = next((each for each in specs if each is not None), None)
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[name] = module
    return module


def takes(expansion: Expansion, *arrays: Array) -> bool:
    """Whether these kernels compute it here.

    XLA divides formulas among several devices, but not calls; nor can these be mapped over parts of arrays.
    """
    if expansion.dimensions == 2 or not expansion.fusible or len(arrays) > 2:
        return False
    divided = any(getattr(jax.typeof(each), "vma", None) for each in arrays) or jax.device_count() > 1
    known = arrays[0].dtype in (jnp.float32, jnp.float64) and not divided
    return known and jax.default_backend() == "cpu" and available()


def value(expansion: Expansion, order: int, s: Array, alpha: Array) -> Any:
    """The derivative of that order, or the sum itself, without a base."""
    return _VALUE.bind(s, alpha, expansion=expansion, order=order)


def sums(expansion: Expansion, order: int, upstream: Array, s: Array) -> Any:
    """The derivative of ``sum(upstream * value)`` by coefficients."""
    return _SUMS.bind(upstream, s, expansion=expansion, order=order)


def change(expansion: Expansion, s: Array, alpha: Array, s_moved: Array, alpha_moved: Array) -> Any:
    """How the value changes where both change. One call of a kernel gives both gradients."""
    return _CHANGE.bind(s, alpha, s_moved, alpha_moved, expansion=expansion, order=0)


def _change(expansion: Expansion, order: int, s: Any, alpha: Any, s_moved: Any, alpha_moved: Any) -> Any:
    return s_moved * value(expansion, order + 1, s, alpha) + value(expansion, order, s, alpha_moved)


def _gradients(expansion: Expansion, order: int, upstream: Any, s: Any, alpha: Any) -> Any:
    return upstream * value(expansion, order + 1, s, alpha), sums(expansion, order, upstream, s)


def _plain(expansion: Expansion, order: int, s: Any, alpha: Any) -> Any:
    """The formula, for other devices."""
    assert expansion.gamma is not None
    gamma, tails, elements = (
        expansion.gamma,
        expansion.tails,
        jnp.asarray(expansion.dictionary.values, s.dtype),
    )
    inside = s if tails == "zero" else jnp.clip(s, elements[0], elements[-1])
    t = inside[..., None] - elements
    before, q = jnp.zeros_like(t), jnp.ones_like(t)
    for n in range(order):
        before, q = q, -2.0 * gamma * (t * q + n * before)
    result = jnp.sum(alpha * q * jnp.exp(-gamma * t * t), -1)
    if tails == "linear" and order == 0:
        return result + (s - inside) * _plain(expansion, 1, s, alpha)
    ends = (tails == "constant" and order > 0) or (tails == "linear" and order > 1)
    return jnp.where((inside < s) | (inside > s), 0.0, result) if ends else result


def _plain_sums(expansion: Expansion, order: int, upstream: Any, s: Any) -> Any:
    start = jnp.zeros((s.shape[-1], expansion.dictionary.size), s.dtype)
    return jax.linear_transpose(functools.partial(_plain, expansion, order, s), start)(upstream)[0]


def _call(direction: str, expansion: Expansion, order: int, *arrays: Any) -> Any:
    """What XLA is told: the last arrays are activations and coefficients."""
    dictionary, tails, (s, alpha) = expansion.dictionary, TAILS.index(expansion.tails), arrays[-2:]
    kernel = "kaf_slopes" if order else "kaf"
    shapes = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in (s, alpha)]
    results: Any = {"forward": shapes[0], "sums": shapes[1], "backward": shapes}[direction]
    target = f"kafnets_{kernel}_{'forward' if direction == 'forward' else 'backward'}"
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = max(1, min(processors, s.size * alpha.shape[1] // TERMS_PER_THREAD))
    told = (dictionary.values[0], dictionary.spacing, expansion.gamma, tails, order, threads)
    call: Any = jax.ffi.ffi_call(target, results)
    return call(*arrays, settings=np.asarray(told, np.float64))


def _call_sums(expansion: Expansion, order: int, upstream: Any, s: Any) -> Any:
    unused = jnp.zeros((s.shape[-1], expansion.dictionary.size), s.dtype)
    return _call("sums", expansion, order, upstream, s, unused)


def _primitive(
    name: str, plain: Callable[..., Any], native: Callable[..., Any], several: bool = False
) -> Any:
    """Of arrays, an expansion and an order."""
    made = Primitive(f"kafnets_{name}")
    made.multiple_results = several

    def abstract(*arrays: Any, **options: Any) -> Any:
        shapes = jax.eval_shape(functools.partial(plain, *options.values()), *arrays)
        return jax.tree.map(lambda each: ShapedArray(each.shape, each.dtype), shapes)

    def lowered(function: Callable[..., Any]) -> Any:
        return mlir.lower_fun(lambda *arrays, expansion, order: function(expansion, order, *arrays), several)

    made.def_abstract_eval(abstract)
    made.def_impl(jax.jit(made.bind, static_argnames=("expansion", "order")))
    mlir.register_lowering(made, lowered(plain))
    mlir.register_lowering(made, lowered(native), platform="cpu")
    return made


def _composed(
    name: str, function: Callable[..., Any], native: Callable[..., Any], several: bool = False
) -> Any:
    """One that is a composition of others, and whose derivatives and batches are."""
    made = _primitive(name, function, native, several)

    def jvp(primals: Any, tangents: Any, **options: Any) -> Any:
        moved = tuple(map(ad.instantiate_zeros, tangents))
        return jax.jvp(functools.partial(function, *options.values()), tuple(primals), moved)

    def batch(arrays: Any, axes: Any, **options: Any) -> Any:
        found = jax.vmap(functools.partial(function, *options.values()), axes)(*arrays)
        return found, (0,) * len(found) if several else 0

    ad.primitive_jvps[made] = jvp
    batching.primitive_batchers[made] = batch
    return made


_VALUE = _primitive("value", _plain, functools.partial(_call, "forward"))
_SUMS = _primitive("sums", _plain_sums, _call_sums)
_CHANGE = _composed("change", _change, _change)
_GRADIENTS = _composed("gradients", _gradients, functools.partial(_call, "backward"), several=True)


def _value_jvp(primals: Any, tangents: Any, *, expansion: Expansion, order: int) -> Any:
    (s, alpha), (s_moved, alpha_moved) = primals, tangents
    moved = []
    if type(s_moved) is not ad.Zero:
        moved.append(s_moved * value(expansion, order + 1, s, alpha))
    if type(alpha_moved) is not ad.Zero:
        moved.append(value(expansion, order, s, alpha_moved))
    return value(expansion, order, s, alpha), sum(moved[1:], moved[0])


def _sums_jvp(primals: Any, tangents: Any, *, expansion: Expansion, order: int) -> Any:
    (upstream, s), (upstream_moved, s_moved) = primals, tangents
    moved = []
    if type(upstream_moved) is not ad.Zero:
        moved.append(sums(expansion, order, upstream_moved, s))
    if type(s_moved) is not ad.Zero:
        moved.append(sums(expansion, order + 1, upstream * s_moved, s))
    return sums(expansion, order, upstream, s), sum(moved[1:], moved[0])


def _value_transpose(upstream: Any, s: Any, alpha: Any, *, expansion: Expansion, order: int) -> Any:
    return None, sums(expansion, order, upstream, s)


def _sums_transpose(by_sums: Any, upstream: Any, s: Any, *, expansion: Expansion, order: int) -> Any:
    return value(expansion, order, s, by_sums), None


def _change_transpose(
    upstream: Any, s: Any, alpha: Any, s_moved: Any, alpha_moved: Any, *, expansion: Expansion, order: int
) -> Any:
    by_s, by_alpha = _GRADIENTS.bind(upstream, s, alpha, expansion=expansion, order=order)
    wanted = (ad.is_undefined_primal(s_moved), ad.is_undefined_primal(alpha_moved))
    return None, None, by_s if wanted[0] else None, by_alpha if wanted[1] else None


def _into_channels(array: Any, axis: Any, size: int) -> Any:
    """With a batch as the outer part of the last axis."""
    if axis is None:
        array = jnp.broadcast_to(array[..., None, :], (*array.shape[:-1], size, array.shape[-1]))
    else:
        array = jnp.moveaxis(array, axis, -2)
    return jnp.reshape(array, (*array.shape[:-2], -1))


def _value_batch(arrays: Any, axes: Any, *, expansion: Expansion, order: int) -> Any:
    (s, alpha), (of_s, of_alpha) = arrays, axes
    if of_alpha is None:  # one set of coefficients: more rows
        return value(expansion, order, jnp.moveaxis(s, of_s, 0), alpha), 0
    size = alpha.shape[of_alpha]
    flat = jnp.reshape(jnp.moveaxis(alpha, of_alpha, 0), (-1, expansion.dictionary.size))
    found = value(expansion, order, _into_channels(s, of_s, size), flat)
    return jnp.reshape(found, (*found.shape[:-1], size, -1)), found.ndim - 1


def _sums_batch(arrays: Any, axes: Any, *, expansion: Expansion, order: int) -> Any:
    size = next(each.shape[axis] for each, axis in zip(arrays, axes, strict=True) if axis is not None)
    upstream, s = (_into_channels(each, axis, size) for each, axis in zip(arrays, axes, strict=True))
    return jnp.reshape(sums(expansion, order, upstream, s), (size, -1, expansion.dictionary.size)), 0


ad.primitive_jvps[_VALUE], ad.primitive_jvps[_SUMS] = _value_jvp, _sums_jvp
ad.primitive_transposes[_VALUE], ad.primitive_transposes[_SUMS] = _value_transpose, _sums_transpose
ad.primitive_transposes[_CHANGE] = _change_transpose
batching.primitive_batchers[_VALUE], batching.primitive_batchers[_SUMS] = _value_batch, _sums_batch
