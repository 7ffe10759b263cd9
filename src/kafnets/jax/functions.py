"""Pure functions of activations and parameters."""

import operator
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from kafnets.frontends.exchange import parameters_of
from kafnets.frontends.plan import checked, twin
from kafnets.jax.primitive import expand_p
from kafnets.kernels import Kernel
from kafnets.nn.initializers import Normal
from kafnets.nn.presets import find_preset


def kaf(
    x: jax.Array,
    alpha: jax.Array,
    *,
    boundary: float | None = None,
    dictionary: Sequence[float] | None = None,
    kernel: Kernel | None = None,
    gamma: float | jax.Array | None = None,
    axis: int = -1,
    preset: str = "paper",
) -> jax.Array:
    r"""A kernel expansion for each channel: :math:`\sum_i \alpha_{n,i} \, \kappa(x, d_i)`.

    Can be jitted, differentiated in both modes and more than once, mapped over any of its arrays, and
    sharded. Keeps no more than ``x`` for the backward pass, and has no array larger than it, whatever D is.

    Args:
        x: any shape, with N channels along ``axis``. Half precision is computed in float32.
        alpha: ``(N, D)``: coefficients, and with them the length of the dictionary.
        boundary: the dictionary reaches from ``-boundary`` to ``boundary``, evenly; None: 3, as the paper.
        dictionary: strictly increasing numbers to use in place of the even ones.
        kernel: None: ``Gaussian()`` with the paper's rule of thumb for its bandwidth.
        gamma: the Gaussian's bandwidth: a number, or to learn it an array ``()`` or ``(N,)``, for example
            ``jnp.exp(log_gamma)``.
        axis: that of the channels.
        preset: "paper", or "authors_code" for the defaults of the authors' published code.

    Returns:
        The shape and dtype of ``x``.
    """
    return _expand(1, x, alpha, boundary, dictionary, kernel, gamma, axis, preset)


def kaf2d(
    x: jax.Array,
    alpha: jax.Array,
    *,
    boundary: float | None = None,
    dictionary: Sequence[float] | None = None,
    kernel: Kernel | None = None,
    gamma: float | jax.Array | None = None,
    axis: int = -1,
    preset: str = "paper",
) -> jax.Array:
    """As :func:`kaf` for pairs of neighbours: ``alpha`` is ``(P, D, D)``, 2 P channels become P."""
    return _expand(2, x, alpha, boundary, dictionary, kernel, gamma, axis, preset)


def coefficients(
    neurons: int, *, dimensions: int = 1, seed: int | jax.Array = 0, dtype: Any = None, **options: Any
) -> jax.Array:
    """First values of alpha: ``(neurons, D)``, or ``(neurons, D, D)`` for two dimensions.

    Args:
        neurons: how many functions.
        dimensions: 2 for a 2D-KAF.
        seed: of random ones: a number, or a key of ``jax.random``.
        dtype: of the result; JAX's usual one if None.
        options: ``dictionary_size``, ``boundary``, ``kernel``, ``init``, ``dictionary`` and ``preset``, as
            the torch modules take them: ``init="tanh"`` follows tanh.
    """
    key = seed if isinstance(seed, jax.Array) else jax.random.key(operator.index(seed))
    return first_coefficients(dimensions, neurons, options, key, dtype)


def first_coefficients(
    dimensions: int, neurons: int, options: dict[str, Any], key: jax.Array | None, dtype: Any
) -> jax.Array:
    """As :func:`coefficients`; random ones are drawn by JAX, so that it may be traced."""
    dtype = dtype or jnp.result_type(float)
    init = options.get("init")
    if init is None:
        init = Normal(find_preset(options.get("preset", "paper")).std)
    if not isinstance(init, Normal):
        seed = None if key is None else int(jax.random.randint(key, (), 0, 2**31 - 1))
        return jnp.asarray(parameters_of(twin(dimensions, neurons, options, seed))["alpha"], dtype)
    shape = parameters_of(twin(dimensions, 1, options | {"init": Normal(0.0)}))["alpha"].shape
    if key is None:
        if init.std:
            raise ValueError("rngs must be given for random first values: rngs=nnx.Rngs(0)")
        return jnp.zeros((neurons, *shape[1:]), dtype)
    return init.std * jax.random.normal(key, (neurons, *shape[1:]), dtype)


def _expand(
    dimensions: int,
    x: jax.Array,
    alpha: jax.Array,
    boundary: float | None,
    dictionary: Sequence[float] | None,
    kernel: Kernel | None,
    gamma: float | jax.Array | None,
    axis: int,
    preset: str,
) -> jax.Array:
    x, alpha = jnp.asarray(x), jnp.asarray(alpha)
    if not jnp.issubdtype(x.dtype, jnp.floating):
        raise TypeError(f"x must be a floating-point array, got {x.dtype}: convert it with .astype")
    call = checked(
        dimensions,
        x.shape,
        alpha.shape,
        boundary=boundary,
        dictionary=dictionary,
        kernel=kernel,
        gamma=gamma,
        axis=axis,
        preset=preset,
    )
    learned = [] if gamma is None or call.plan.gamma is not None else [gamma]
    dtype = jnp.promote_types(jnp.promote_types(x.dtype, alpha.dtype), jnp.float32)
    s, *parameters = (jnp.asarray(each, dtype) for each in (jnp.moveaxis(x, call.axis, -1), alpha, *learned))
    result = expand_p.bind(s, *parameters, plan=call.plan)
    return jnp.moveaxis(result, -1, call.axis).astype(x.dtype)
