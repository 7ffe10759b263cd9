"""The layers."""

import importlib
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self, Unpack

import keras
from keras import ops

from kafnets.arguments import checked_layer
from kafnets.expansion import Expansion, ExpansionOptions
from kafnets.fixed_functions import FUNCTIONS, Base
from kafnets.frontends.exchange import arrays_of, call, parameters_of
from kafnets.kernels import Gaussian, Periodic, Polynomial, ReLUKernel, Softplus
from kafnets.starts import Normal, Ridge, first_values, resolve_init

_registered = keras.saving.register_keras_serializable(package="kafnets")
for _each in (Base, Gaussian, Periodic, Polynomial, ReLUKernel, Softplus, Normal, Ridge):
    _registered(_each)


class _Options(ExpansionOptions, total=False):
    name: str
    dtype: Any
    trainable: bool


class _Activation(keras.layers.Layer):  # type: ignore[misc]
    dimensions: ClassVar[int]

    def __init__(
        self,
        *,
        groups: int | None = None,
        init: Any = None,
        dim: int = -1,
        alpha_regularizer: Any = None,
        alpha_constraint: Any = None,
        **options: Unpack[_Options],
    ) -> None:
        given: dict[str, Any] = dict(options)
        self._asked = {name: given.pop(name) for name in ExpansionOptions.__annotations__ if name in given}
        super().__init__(**given)
        self.supports_masking = True
        self.expansion = Expansion.of(self.dimensions, **self._asked)
        self.groups, self.dim, self.init = groups, dim, _initializer(init, self.expansion)
        self.alpha_regularizer = keras.regularizers.get(alpha_regularizer)
        self.alpha_constraint = keras.constraints.get(alpha_constraint)

    def build(self, input_shape: Sequence[int | None]) -> None:
        """Make the parameters, once the number of channels is known."""
        dim, least = self.dim, max(self.dim + 1, -self.dim)
        channels = input_shape[dim] if len(input_shape) >= least else None
        if channels is None:
            raise ValueError(
                f"dim must be an axis of known size, got {dim} for inputs of shape {input_shape}"
            )
        shared = self.groups == 1  # by any number of channels
        self.num_features = 1 if shared else channels
        self.input_spec = keras.layers.InputSpec(min_ndim=least, axes={} if shared else {dim: channels})
        functions = checked_layer(channels, dim, self.groups, self.dimensions)
        # Half precision is for activations; sums are formed in float32.
        self.alpha = self.add_weight(
            shape=(functions, *self.expansion.shape),
            initializer=self._first_values,
            regularizer=self.alpha_regularizer,
            constraint=self.alpha_constraint,
            name="alpha",
            autocast=False,
        )
        for name, first in self.expansion.further_parameters(functions).items():
            made = None
            if first is not None:
                start = keras.initializers.Constant(first)
                made = self.add_weight(shape=first.shape, initializer=start, name=name, autocast=False)
            setattr(self, name, made)

    def _first_values(self, shape: tuple[int, ...], dtype: Any) -> Any:
        if isinstance(self.init, keras.initializers.Initializer):
            return self.init(shape, dtype)
        return first_values(ops, self.init, shape[0], self.expansion, _Source(dtype), dtype)

    def call(self, x: Any) -> Any:
        """The functions' values."""
        return call(_framework(), ops.exp, parameters_of(self), self.expansion, self.dim, x)

    def compute_output_shape(self, input_shape: Sequence[int | None]) -> tuple[int | None, ...]:
        """Channels become half as many where neighbors are paired."""
        shape, channels = list(input_shape), input_shape[self.dim]
        shape[self.dim] = None if channels is None else channels // self.dimensions
        return tuple(shape)

    def get_config(self) -> dict[str, Any]:
        """All that it takes to make it again."""
        own = ("groups", "dim", "init", "alpha_regularizer", "alpha_constraint")
        config = {**self._asked, **{name: getattr(self, name) for name in own}}
        return super().get_config() | keras.saving.serialize_keras_object(config)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """From what :meth:`get_config` gives."""
        stored = {name: config[name] for name in ("dictionary", "kernel", "base", "init") if name in config}
        layer: Self = super().from_config(config | keras.saving.deserialize_keras_object(stored))
        return layer


@_registered
class KAF(_Activation):
    r"""Kernel activation function: each channel learns its own :math:`g(s) = \sum_i \alpha_i \kappa(s, d_i)`.

    ::

        keras.Sequential([keras.layers.Dense(300), kafnets.keras.KAF(), keras.layers.Dense(1)])

    Scardapane et al., 2017. Arguments as for :class:`kafnets.KAF`, without ``num_features``, which the first
    input determines; ``init`` may also be an initializer of Keras, and ``groups=1`` is one function for any
    number of channels. With a half-precision dtype policy, inputs and outputs are in half precision and the
    sum in float32.

    Args:
        dim: the channel axis; default: the last one, as in Keras.
        alpha_regularizer: a regularizer of Keras.
        alpha_constraint: a constraint of Keras.
        options: of :meth:`kafnets.Expansion.of`, and of every layer: ``name``, ``dtype``, ``trainable``.
    """

    dimensions = 1


@_registered
class KAF2D(_Activation):
    """Two-dimensional KAF: each pair of neighboring channels learns a function of both. See :class:`KAF`."""

    dimensions = 2


def from_torch(module: Any, *, dim: int | None = None, **options: Any) -> KAF | KAF2D:
    """Convert a torch module to a built layer, with channels along ``dim``, or along the torch module's.

    ``options`` are those of every layer: ``name``, ``dtype``, ``trainable``.
    """
    arrays, expansion = arrays_of(module), module.expansion
    cls = KAF if expansion.dimensions == 1 else KAF2D
    options |= expansion.options
    layer = cls(groups=module.groups, dim=module.dim if dim is None else dim, **options)
    shape: list[int | None] = [None] * max(2, layer.dim + 1, -layer.dim)
    shape[layer.dim] = max(module.num_features, expansion.dimensions)
    layer.build(tuple(shape))
    for name, values in arrays.items():
        getattr(layer, name).assign(values)
    return layer


def _framework() -> Any:
    """Where the functions are for the backend that Keras runs on."""
    known = {"tensorflow": "keras.tensorflow", "jax": "jax.functional", "torch": "functional"}
    backend = keras.backend.backend()
    if backend not in known:
        raise RuntimeError(
            f"kafnets.keras runs on {', '.join(known)}, but Keras on {backend}: set KERAS_BACKEND"
        )
    return importlib.import_module(f"kafnets.{known[backend]}")


def _initializer(given: Any, expansion: Expansion) -> Any:
    """One of Keras, or what ``resolve_init`` gives."""
    if isinstance(given, keras.initializers.Initializer):
        return given
    if not isinstance(given, str) or given in FUNCTIONS:
        return resolve_init(given, None, expansion)
    try:
        return keras.initializers.get(given)
    except ValueError as error:
        names = ", ".join(FUNCTIONS)
        raise ValueError(f"init must be one of {names}, or an initializer of Keras, got {given!r}") from error


class _Source:
    """How Keras draws initial values: see :class:`kafnets.starts.Source`."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype

    def normal(self, std: float, shape: tuple[int, ...]) -> Any:
        return keras.initializers.RandomNormal(stddev=std)(shape, self.dtype)

    def call(self, function: Callable[..., Any], *places: Any) -> Any:
        if keras.backend.backend() == "jax":  # has float64 only where it is asked for
            return _framework().Source.call(function, *places)
        return ops.convert_to_numpy(function(*(ops.convert_to_tensor(each, "float64") for each in places)))
