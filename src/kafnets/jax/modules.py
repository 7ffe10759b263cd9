"""Flax NNX modules."""

from typing import Any, ClassVar, Unpack

import jax
import jax.numpy as jnp
from flax import nnx

from kafnets.arguments import checked_layer
from kafnets.expansion import Expansion, ExpansionOptions
from kafnets.frontends.exchange import arrays_of, call, parameters_of
from kafnets.jax import functional
from kafnets.starts import Init, Normal, first_values


class _Activation(nnx.Module):
    dimensions: ClassVar[int]
    base_weight: nnx.Param[jax.Array] | None
    log_gamma: nnx.Param[jax.Array] | None

    def __init__(
        self,
        num_features: int = 1,
        *,
        groups: int | None = None,
        init: Init = None,
        dim: int = -1,
        rngs: nnx.Rngs | None = None,
        param_dtype: Any = None,
        **options: Unpack[ExpansionOptions],
    ) -> None:
        if not isinstance(rngs, nnx.Rngs | None):
            raise TypeError(f"rngs must be nnx.Rngs, got {rngs!r}: rngs=nnx.Rngs(0)")
        self.groups = checked_layer(num_features, dim, groups, self.dimensions)
        self.num_features, self.dim = num_features, dim
        self.expansion = Expansion.of(self.dimensions, **options)
        dtype = jnp.result_type(float) if param_dtype is None else param_dtype
        source = functional.Source(None if rngs is None else rngs.params(), dtype)
        self.alpha = nnx.Param(first_values(jnp, init, self.groups, self.expansion, source, dtype))
        for name, first in self.expansion.further_parameters(self.groups).items():
            setattr(self, name, None if first is None else nnx.Param(jnp.asarray(first, dtype)))

    def __call__(self, x: jax.Array) -> jax.Array:
        if self.num_features > 1 and jnp.size(x, self.dim) != self.num_features:
            raise ValueError(
                f"{type(self).__name__} was built for num_features={self.num_features} along dim={self.dim}, "
                f"but the input has the shape {jnp.shape(x)}"
            )
        return call(functional, jnp.exp, parameters_of(self), self.expansion, self.dim, x)


class KAF(_Activation):
    r"""Kernel activation function: each channel learns its own :math:`g(s) = \sum_i \alpha_i \kappa(s, d_i)`.

    >>> import jax
    >>> from flax import nnx
    >>> rngs = nnx.Rngs(0)
    >>> net = nnx.Sequential(nnx.Linear(18, 30, rngs=rngs), kafnets.jax.KAF(30, rngs=rngs))
    >>> net(jax.numpy.zeros((5, 18))).shape
    (5, 30)

    Scardapane et al., 2017. Arguments as for :class:`kafnets.KAF`, with the channels last by default, and:

    Args:
        rngs: random keys; ``params`` is used. May be None if ``init`` is not random.
        param_dtype: of the parameters; None: JAX's default.
    """

    dimensions = 1


class KAF2D(_Activation):
    r"""Two-dimensional KAF: each pair of channels learns
    :math:`g(s, t) = \sum_{ij} \alpha_{ij} \kappa((s, t), (d_i, d_j))`. See :class:`KAF`.

    >>> import jax
    >>> kafnets.jax.KAF2D(30, init="tanh")(jax.numpy.zeros((5, 30))).shape
    (5, 15)
    """

    dimensions = 2


def from_torch(module: Any, *, dim: int | None = None) -> KAF | KAF2D:
    """Convert a torch module to a Flax module, with channels along ``dim``, or along the torch module's.

    >>> kafnets.jax.from_torch(kafnets.KAF(30, dim=-1)).alpha.shape
    (30, 20)
    """
    arrays, expansion = arrays_of(module), module.expansion
    cls = KAF if expansion.dimensions == 1 else KAF2D
    dim = module.dim if dim is None else dim
    made = cls(module.num_features, groups=module.groups, dim=dim, init=Normal(0.0), **expansion.options)
    for name, values in arrays.items():
        getattr(made, name)[...] = jnp.asarray(values, made.alpha.dtype)
    return made
