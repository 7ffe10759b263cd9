"""The layers."""

from collections.abc import Sequence
from typing import Any, ClassVar

import keras
import numpy as np
from keras import ops

from kafnets.frontends.exchange import Trained, parameters_of
from kafnets.frontends.plan import Expansion, Plan, twin
from kafnets.keras import serialization
from kafnets.keras.backends import expansion
from kafnets.kernels import Gaussian, Kernel
from kafnets.nn.initializers import Normal, Ridge
from kafnets.nn.presets import find_preset


class _Expansion(keras.layers.Layer):  # type: ignore[misc]
    dimensions: ClassVar[int]

    def __init__(
        self,
        *,
        dictionary_size: int | None = None,
        boundary: float | None = None,
        kernel: Kernel | dict[str, Any] | None = None,
        alpha_initializer: Any = None,
        alpha_regularizer: Any = None,
        alpha_constraint: Any = None,
        axis: int = -1,
        dictionary: Sequence[float] | None = None,
        preset: str = "paper",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.axis = axis
        self.alpha_initializer = serialization.initializer(alpha_initializer, find_preset(preset))
        self.alpha_regularizer = keras.regularizers.get(alpha_regularizer)
        self.alpha_constraint = keras.constraints.get(alpha_constraint)
        self._asked: dict[str, Any] = {
            "dictionary_size": dictionary_size,
            "boundary": boundary,
            "kernel": serialization.kernel(kernel),
            "dictionary": None if dictionary is None else [float(each) for each in dictionary],
            "preset": preset,
        }
        self._plan = Plan.of(self._twin(1, Normal(0.0)))

    def _twin(self, neurons: int, init: Any) -> Expansion:
        given = {name: value for name, value in self._asked.items() if value is not None}
        return twin(self.dimensions, neurons, given | {"init": init})

    def build(self, input_shape: Sequence[int | None]) -> None:
        """Make the coefficients, once the number of channels is known."""
        channels = input_shape[self.axis]
        if channels is None:
            raise ValueError(
                f"the axis {self.axis} of the channels must have a known size, got {input_shape}"
            )
        if channels % self.dimensions:
            raise ValueError(
                f"the number of channels must be even, since neighbours are paired, got {channels}"
            )
        neurons, size = channels // self.dimensions, self._plan.size
        self.alpha = self.add_weight(
            shape=(neurons, *[size] * self.dimensions),
            initializer=self._starting(neurons),
            regularizer=self.alpha_regularizer,
            constraint=self.alpha_constraint,
            name="alpha",
            autocast=False,  # half precision is for activations; the sum is formed in float32
        )
        self.log_gamma = None
        kernel = self._plan.kernel
        if isinstance(kernel, Gaussian) and kernel.learn_gamma:
            start = parameters_of(self._twin(neurons, Normal(0.0)))["log_gamma"]
            self.log_gamma = self.add_weight(
                shape=start.shape, initializer=_constant(start), name="log_gamma", autocast=False
            )
        self.built = True

    def _starting(self, neurons: int) -> Any:
        if isinstance(self.alpha_initializer, Ridge):
            return _constant(parameters_of(self._twin(neurons, self.alpha_initializer))["alpha"])
        return self.alpha_initializer

    def call(self, inputs: Any) -> Any:
        """The functions' values."""
        self._check(inputs)
        dtype = "float64" if keras.backend.standardize_dtype(inputs.dtype) == "float64" else "float32"
        place = self.axis % len(inputs.shape)
        s = ops.cast(ops.moveaxis(inputs, place, -1), dtype)
        alpha = ops.cast(ops.convert_to_tensor(self.alpha), dtype)
        gamma = None
        if self.log_gamma is not None:
            gamma = ops.exp(ops.cast(ops.convert_to_tensor(self.log_gamma), dtype))
        result = expansion()(self._plan, s, alpha, gamma)
        return ops.cast(ops.moveaxis(result, -1, place), inputs.dtype)

    def _check(self, inputs: Any) -> None:
        given = keras.backend.standardize_dtype(inputs.dtype)
        if not keras.backend.is_float_dtype(given):
            raise TypeError(f"inputs must be floating-point numbers, got {given}: convert them first")
        channels = self.alpha.shape[0] * self.dimensions
        rank = len(inputs.shape)
        found = inputs.shape[self.axis] if -rank <= self.axis < rank else None
        if found != channels:
            raise ValueError(
                f"{type(self).__name__} was built for {channels} channels along axis={self.axis}, got inputs "
                f"of shape {tuple(inputs.shape)}"
            )

    def compute_output_shape(self, input_shape: Sequence[int | None]) -> tuple[int | None, ...]:
        """Channels become half as many where neighbours are paired."""
        shape = list(input_shape)
        channels = shape[self.axis]
        shape[self.axis] = None if channels is None else channels // self.dimensions
        return tuple(shape)

    def get_config(self) -> dict[str, Any]:
        """All that it takes to make it again."""
        return {
            **super().get_config(),
            **self._asked,
            "kernel": serialization.of_kernel(self._asked["kernel"]),
            "alpha_initializer": serialization.of_initializer(self.alpha_initializer),
            "alpha_regularizer": keras.regularizers.serialize(self.alpha_regularizer),
            "alpha_constraint": keras.constraints.serialize(self.alpha_constraint),
            "axis": self.axis,
        }

    def trained(self) -> Trained:
        """All that it is, for other frameworks."""
        module = self._twin(1, Normal(0.0))
        arrays = {"alpha": ops.convert_to_numpy(self.alpha).astype(np.float64)}
        if self.log_gamma is not None:
            arrays["log_gamma"] = ops.convert_to_numpy(self.log_gamma).astype(np.float64)
        described = Trained.of(module)
        return Trained(self.dimensions, described.kernel, described.dictionary, arrays)


def _constant(values: Any) -> Any:
    """An initialiser that gives these values."""
    return lambda shape, dtype=None: ops.convert_to_tensor(values, dtype=dtype)


@keras.saving.register_keras_serializable(package="kafnets")
class KAF(_Expansion):
    """Kernel activation function: each channel learns its own function.

    ::

        keras.Sequential([keras.layers.Dense(300), kafnets.keras.KAF(), keras.layers.Dense(1)])

    Args:
        dictionary_size: D; 20 if None.
        boundary: the dictionary reaches from ``-boundary`` to ``boundary``; None: 3, as the paper.
        kernel: None: ``Gaussian()`` with the paper's rule of thumb for its bandwidth.
        alpha_initializer: None for the paper's random values; a name of a function to follow, such as "tanh",
            or ``Ridge``; or an initialiser of Keras.
        alpha_regularizer: as Keras's layers take them.
        alpha_constraint: as Keras's layers take them.
        axis: that of the channels; the last one by default, as in Keras.
        dictionary: strictly increasing numbers to use in place of the even ones.
        preset: "paper", or "authors_code" for the defaults of the authors' published code.
        kwargs: as every layer takes them: ``name``, ``dtype``, ``trainable``.

    With a half-precision dtype policy, inputs and outputs are in half precision and the sum in float32.
    """

    dimensions = 1


@keras.saving.register_keras_serializable(package="kafnets")
class KAF2D(_Expansion):
    """Two-dimensional KAF: each pair of neighbours becomes one function of both, and the channels halve.

    Arguments as for :class:`KAF`, with D of 10 if None, and an even number of channels.
    """

    dimensions = 2


def from_torch(module: Expansion, *, axis: int | None = None, **kwargs: Any) -> KAF | KAF2D:
    """The same activation as a built layer; channels along ``axis``, or along the torch module's ``dim``.

    ``kwargs`` are as every layer takes them: ``name``, ``dtype``, ``trainable``.
    """
    trained = Trained.of(module)
    cls = KAF if trained.dimensions == 1 else KAF2D
    where = module.dim if axis is None else axis
    layer = cls(kernel=trained.kernel, dictionary=trained.dictionary, axis=where, **kwargs)
    channels = len(trained.arrays["alpha"]) * trained.dimensions
    rank = max(2, where + 1, -where)
    shape: list[int | None] = [None] * rank
    shape[where] = channels
    layer.build(tuple(shape))
    for name, values in trained.arrays.items():
        getattr(layer, name).assign(values)
    return layer


def to_torch(layer: KAF | KAF2D, *, dim: int | None = None) -> Expansion:
    """The same activation as a torch module; channels along ``dim``, or along the layer's ``axis``."""
    if not layer.built:
        raise ValueError("layer has no coefficients yet: call it on data, or build it, first")
    return layer.trained().to_torch(layer.axis if dim is None else dim)
