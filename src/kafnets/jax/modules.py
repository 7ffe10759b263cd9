"""Flax NNX modules."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from kafnets.frontends.exchange import Arrays, Trained
from kafnets.frontends.plan import Expansion, twin
from kafnets.jax.functions import first_coefficients, kaf, kaf2d
from kafnets.kernels import Kernel
from kafnets.nn.expansions import Init
from kafnets.nn.initializers import Normal


class _Expansion(nnx.Module):
    dimensions: int

    def __init__(
        self,
        num_features: int,
        *,
        rngs: nnx.Rngs | None = None,
        dictionary_size: int | None = None,
        boundary: float | None = None,
        kernel: Kernel | None = None,
        init: Init = None,
        axis: int = -1,
        dictionary: Sequence[float] | None = None,
        preset: str = "paper",
        param_dtype: Any = None,
    ) -> None:
        options = {
            "boundary": boundary,
            "kernel": kernel,
            "init": init,
            "dictionary": dictionary,
            "preset": preset,
        }
        if dictionary_size is not None:
            options["dictionary_size"] = dictionary_size
        if num_features % self.dimensions:
            raise ValueError(f"num_features must be even, since neighbours are paired, got {num_features}")
        if not isinstance(rngs, nnx.Rngs | None):
            raise TypeError(f"rngs must be nnx.Rngs, got {rngs!r}: rngs=nnx.Rngs(0)")
        neurons = num_features // self.dimensions
        made = Trained.of(twin(self.dimensions, neurons, options | {"init": Normal(0.0)}))
        self.axis = axis
        self.kernel = made.kernel
        self.dictionary = made.dictionary
        self._take(made.arrays, param_dtype)
        key = None if rngs is None else rngs.params()
        self.alpha[...] = first_coefficients(self.dimensions, neurons, options, key, self.alpha.dtype)

    def _take(self, arrays: Arrays, dtype: Any = None) -> None:
        """Parameters with these values."""
        dtype = dtype or jnp.result_type(float)
        self.alpha = nnx.Param(jnp.asarray(arrays["alpha"], dtype))
        learned = arrays.get("log_gamma")
        self.log_gamma = None if learned is None else nnx.Param(jnp.asarray(learned, dtype))

    def __call__(self, x: jax.Array) -> jax.Array:
        function = kaf if self.dimensions == 1 else kaf2d
        if self.log_gamma is not None:
            gamma = jnp.exp(self.log_gamma[...])
            return function(x, self.alpha[...], dictionary=self.dictionary, gamma=gamma, axis=self.axis)
        return function(x, self.alpha[...], dictionary=self.dictionary, kernel=self.kernel, axis=self.axis)

    def trained(self) -> Trained:
        """All that it is, for other frameworks."""
        parameters = {"alpha": self.alpha} | ({} if self.log_gamma is None else {"log_gamma": self.log_gamma})
        arrays: Arrays = {
            name: jax.device_get(each[...]).astype("float64") for name, each in parameters.items()
        }
        return Trained(self.dimensions, self.kernel, self.dictionary, arrays)


class KAF(_Expansion):
    """Kernel activation function: each channel learns its own function.

    ::

        nnx.Sequential(nnx.Linear(18, 300, rngs=rngs), KAF(300, rngs=rngs), nnx.Linear(300, 1, rngs=rngs))

    Args:
        num_features: N, the number of channels along ``axis``.
        rngs: random keys; ``params`` is used. None will do where ``init`` is not random.
        dictionary_size: D; 20 if None.
        boundary: the dictionary reaches from ``-boundary`` to ``boundary``; None: 3, as the paper.
        kernel: None: ``Gaussian()`` with the paper's rule of thumb for its bandwidth.
        init: as for ``kafnets.KAF``: None for the paper's random values, "tanh" to follow tanh.
        axis: that of the channels.
        dictionary: strictly increasing numbers to use in place of the even ones.
        preset: "paper", or "authors_code" for the defaults of the authors' published code.
        param_dtype: of the parameters; JAX's usual one if None.
    """

    dimensions = 1


class KAF2D(_Expansion):
    """Two-dimensional KAF: each pair of neighbours becomes one function of both, and the channels halve.

    Arguments as for :class:`KAF`, with ``num_features`` even and D of 10 if None.
    """

    dimensions = 2


def from_torch(module: Expansion, *, axis: int | None = None) -> KAF | KAF2D:
    """The same activation as a Flax module; channels along ``axis``, or along the torch module's ``dim``."""
    trained = Trained.of(module)
    cls = KAF if trained.dimensions == 1 else KAF2D
    channels = len(trained.arrays["alpha"]) * trained.dimensions
    made = cls(
        channels,
        kernel=trained.kernel,
        dictionary=trained.dictionary,
        axis=module.dim if axis is None else axis,
        init=Normal(0.0),
    )
    made._take(trained.arrays)
    return made


def to_torch(module: KAF | KAF2D, *, dim: int | None = None) -> Expansion:
    """The same activation as a torch module; channels along ``dim``, or along the Flax module's ``axis``."""
    return module.trained().to_torch(module.axis if dim is None else dim)
