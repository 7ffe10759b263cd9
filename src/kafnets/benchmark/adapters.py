"""Each framework in the same words: an activation's value and gradients, and a step to time."""

import contextlib
import copy
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kafnets.frontends.exchange import arrays_of, call
from kafnets.nn import KAF, KAF2D

Module = KAF | KAF2D
Array = NDArray[Any]
Step = Callable[[], Any]


class Found(NamedTuple):
    """Of ``sum(upstream * output)``."""

    value: Array
    by_input: Array
    by_coefficients: Array
    by_base_weight: Array | None = None
    by_log_gamma: Array | None = None

    @classmethod
    def of(cls, module: Module, value: Any, by_input: Any, *by_parameters: Any) -> "Found":
        """From gradients by the parameters of a module, in its order."""
        names = ["by_coefficients", *(f"by_{name}" for name in list(arrays_of(module))[1:])]
        arrays = dict(zip(names, map(np.asarray, by_parameters), strict=True))
        return cls(np.asarray(value), np.asarray(by_input), **arrays)


class Adapter(Protocol):
    """A framework."""

    def gradients(self, module: Module, x: Array, upstream: Array) -> Found:
        """In the precision of ``x``, with channels along the module's ``dim``."""

    def steps(self, modules: dict[str, Module], x: Array) -> dict[str, Step]:
        """Forward and backward pass, by name: the given activations, and the framework's PReLU and ELU."""


class Torch:
    """Torch itself."""

    def gradients(self, module: Module, x: Array, upstream: Array) -> Found:
        """Of a module."""
        import torch

        s = torch.from_numpy(x).requires_grad_()
        module = copy.deepcopy(module).to(s.dtype)
        output = module(s)
        found = torch.autograd.grad(output, [s, *module.parameters()], torch.from_numpy(upstream))
        return Found.of(module, output.detach(), *found)

    def steps(self, modules: dict[str, Module], x: Array) -> dict[str, Step]:
        """In eager mode, as most people run it."""
        import torch
        from torch import nn

        s = torch.from_numpy(x).requires_grad_()
        ones = torch.ones_like(s)
        own = {"PReLU": nn.PReLU(x.shape[-1]), "ELU": nn.ELU()}

        def step(module: nn.Module) -> Step:
            parameters = list(module.parameters())

            def run() -> None:
                output = module(s)
                torch.autograd.grad(output, [s, *parameters], ones[..., : output.shape[-1]])

            return run

        return {name: step(module) for name, module in {**modules, **own}.items()}


class Jax:
    """JAX, jitted."""

    def gradients(self, module: Module, x: Array, upstream: Array) -> Found:
        """Of the pure functions."""
        import jax

        with jax.enable_x64(x.dtype == np.float64):
            arrays = {name: values.astype(x.dtype) for name, values in arrays_of(module).items()}

            def whole(s: Any, arrays: Any, upstream: Any) -> Any:
                output, back = jax.vjp(_jax_function(module), s, arrays)
                return output, *back(upstream)

            output, by_input, by_parameters = jax.jit(whole)(x, arrays, upstream)
            return Found.of(module, output, by_input, *(by_parameters[name] for name in arrays))

    def steps(self, modules: dict[str, Module], x: Array) -> dict[str, Step]:
        """Jitted; PReLU as the formula, since JAX has none of its own."""
        import jax
        import jax.numpy as jnp

        def prelu(s: Any, arrays: Any) -> Any:
            return jnp.where(s > 0, s, arrays["alpha"] * s)

        slopes = {"alpha": np.full(x.shape[-1], 0.25, x.dtype)}
        functions = {name: (_jax_function(each), _single(each)) for name, each in modules.items()}
        functions |= {"PReLU": (prelu, slopes), "ELU": (lambda s, _: jax.nn.elu(s), slopes)}

        def step(function: Callable[..., Any], arrays: Any) -> Step:
            def both(s: Any, arrays: Any) -> Any:  # a forward pass whose result nobody wants is left out
                output, back = jax.vjp(function, s, arrays)
                return output, *back(jnp.ones_like(output))

            compiled, placed = jax.jit(both), jax.device_put((x, arrays))
            return lambda: jax.block_until_ready(compiled(*placed))

        return {name: step(*each) for name, each in functions.items()}


def _jax_function(module: Module) -> Callable[[Any, Any], Any]:
    import jax.numpy as jnp

    from kafnets import jax as front

    return lambda s, arrays: call(front, jnp.exp, arrays, module.expansion, module.dim, s)


class Autograd:
    """HIPS autograd."""

    def gradients(self, module: Module, x: Array, upstream: Array) -> Found:
        """Of the functions."""
        from autograd import make_vjp

        arrays = {name: values.astype(x.dtype) for name, values in arrays_of(module).items()}
        function = _autograd_function(module)
        back, output = make_vjp(lambda both: function(*both))((x, arrays))
        by_input, rest = back(upstream)
        return Found.of(module, output, by_input, *rest.values())

    def steps(self, modules: dict[str, Module], x: Array) -> dict[str, Step]:
        """PReLU and ELU as formulas, since autograd has no activations."""
        import autograd.numpy as anp
        from autograd import grad

        def prelu(s: Any, arrays: Any) -> Any:
            return anp.where(s > 0, s, arrays["alpha"] * s)

        def elu(s: Any, arrays: Any) -> Any:
            return anp.where(s > 0, s, anp.expm1(anp.minimum(s, 0.0)))

        slopes = {"alpha": np.full(x.shape[-1], 0.25, x.dtype)}
        functions = {name: (_autograd_function(each), _single(each)) for name, each in modules.items()}
        functions |= {"PReLU": (prelu, slopes), "ELU": (elu, slopes)}

        def step(function: Any, arrays: Any) -> Step:
            gradient = grad(lambda both: anp.sum(function(*both)))
            return lambda: gradient((x, arrays))

        return {name: step(*each) for name, each in functions.items()}


def _autograd_function(module: Module) -> Callable[[Any, Any], Any]:
    import autograd.numpy as anp

    from kafnets import autograd as front

    return lambda s, arrays: call(front, anp.exp, arrays, module.expansion, module.dim, s)


class Keras:
    """Keras layers, on whatever backend Keras runs on.

    Args:
        xla: whether TensorFlow compiles with it, as by ``model.compile(jit_compile=True)``.
    """

    def __init__(self, *, xla: bool = True) -> None:
        self.xla = xla

    def gradients(self, module: Module, x: Array, upstream: Array) -> Found:
        """Of a layer."""
        import keras

        from kafnets.keras import from_torch

        with _double_in_jax(x.dtype == np.float64):
            layer = from_torch(module, dtype=x.dtype.name)
            found = _keras_gradient(layer, x.shape, self.xla)(x, upstream)
            return Found.of(module, *(keras.ops.convert_to_numpy(each) for each in found))

    def steps(self, modules: dict[str, Module], x: Array) -> dict[str, Step]:
        """Compiled on TensorFlow and JAX, in eager mode on torch."""
        import keras

        from kafnets.keras import from_torch

        layers: dict[str, Any] = {name: from_torch(each) for name, each in modules.items()}
        layers |= {"PReLU": keras.layers.PReLU(), "ELU": keras.layers.ELU()}
        s = keras.ops.convert_to_tensor(x)

        def step(layer: Any) -> Step:
            upstream = keras.ops.ones_like(layer(s))
            gradient = _keras_gradient(layer, x.shape, self.xla)
            return lambda: gradient(s, upstream)

        return {name: step(layer) for name, layer in layers.items()}


def _keras_gradient(layer: Any, shape: tuple[int, ...], xla: bool) -> Callable[[Any, Any], tuple[Any, ...]]:
    """Output and gradients by input and parameters."""
    import keras

    if not layer.built:
        layer.build(shape)
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        @tf.function(jit_compile=xla)  # type: ignore[untyped-decorator]
        def in_tensorflow(s: Any, upstream: Any) -> tuple[Any, ...]:
            s = tf.convert_to_tensor(s)
            variables = [each.value for each in layer.trainable_variables]
            with tf.GradientTape() as tape:
                tape.watch(s)
                output = layer(s)
            return output, *tape.gradient(output, [s, *variables], upstream)

        return in_tensorflow
    if keras.backend.backend() == "jax":
        import jax

        @jax.jit
        def in_jax(variables: Any, s: Any, upstream: Any) -> Any:
            def apply(s: Any, variables: Any) -> Any:
                return layer.stateless_call(variables, [], s)[0]

            output, back = jax.vjp(apply, s, variables)
            by_input, by_variables = back(upstream)
            return output, by_input, *by_variables

        values = [each.value for each in layer.trainable_variables]
        return lambda s, upstream: jax.block_until_ready(in_jax(values, s, upstream))
    import torch

    def in_torch(s: Any, upstream: Any) -> tuple[Any, ...]:
        s = torch.as_tensor(s).detach().requires_grad_()
        output = layer(s)
        parameters = [each.value for each in layer.trainable_variables]
        return output.detach(), *torch.autograd.grad(output, [s, *parameters], torch.as_tensor(upstream))

    return in_torch


@contextlib.contextmanager
def _double_in_jax(wanted: bool) -> Any:
    import keras

    if keras.backend.backend() != "jax":
        yield
        return
    import jax

    with jax.enable_x64(wanted):
        yield


def _single(module: Module) -> dict[str, Array]:
    return {name: values.astype(np.float32) for name, values in arrays_of(module).items()}


ADAPTERS: dict[str, tuple[Callable[[], Adapter], dict[str, str], tuple[str, ...]]] = {
    "torch": (Torch, {}, ("torch",)),
    "JAX": (Jax, {}, ("jax",)),
    "autograd": (Autograd, {}, ("autograd",)),
    "Keras on TensorFlow": (Keras, {"KERAS_BACKEND": "tensorflow"}, ("keras", "tensorflow")),
    "Keras on TensorFlow, without XLA": (
        lambda: Keras(xla=False),
        {"KERAS_BACKEND": "tensorflow"},
        ("keras", "tensorflow"),
    ),
    "Keras on JAX": (Keras, {"KERAS_BACKEND": "jax"}, ("keras", "jax")),
    "Keras on torch": (Keras, {"KERAS_BACKEND": "torch"}, ("keras", "torch")),
}
"""By name: what makes the adapter, environment variables that it wants, and packages that it needs."""
