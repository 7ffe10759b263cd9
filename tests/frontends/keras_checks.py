"""What Keras layers must do on every backend. Run by pytest in a process for each: see test_keras.py."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import kafnets
import kafnets.keras as front  # before anything else of Keras: it sees to TensorFlow and Triton
from kafnets.benchmark.adapters import Keras, Torch
from kafnets.fixed_functions import FUNCTIONS
from tests.frontends.agreement import (
    DICTIONARIES,
    KERNELS_1D,
    KERNELS_2D,
    LEARNED,
    OUTSIDE,
    SHARED,
    Laplacian,
    assert_agrees,
    assert_own_kernel_agrees,
    both_dimensions,
    case,
    every_shape,
)

# Keras's own use of what NumPy and others deprecate is not ours to mend.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
keras: Any = pytest.importorskip("keras")
ops = keras.ops


def test_runs_where_it_should() -> None:
    assert keras.backend.backend() == os.environ["KERAS_BACKEND"]


# Compilers take their time over each: what the front ends below have shown in full is sampled here.


@pytest.mark.parametrize("name", ["rule of thumb", "narrow", "learned", "relu", "softplus", "periodic"])
def test_kernels(name: str) -> None:
    assert_agrees(Keras(), case(1, kernel=KERNELS_1D[name]), np.float32)


@pytest.mark.parametrize("name", ["rule of thumb"])
def test_in_float64(name: str) -> None:
    assert_agrees(Keras(), case(1, kernel=KERNELS_1D[name]), np.float64)


@pytest.mark.parametrize("name", ["rule of thumb", "learned per neuron", "polynomial"])
def test_kernels_in_two_dimensions(name: str) -> None:
    assert_agrees(Keras(), case(2, kernel=KERNELS_2D[name]), np.float32)


@both_dimensions
@every_shape
def test_shapes(dimensions: int, shape: tuple[int, ...], dim: int) -> None:
    if len(shape) > 1:  # a layer sees batches
        assert_agrees(Keras(), case(dimensions, shape=shape, dim=dim), np.float32)


@pytest.mark.parametrize("options", [DICTIONARIES["long"], DICTIONARIES["uneven"]])
def test_dictionaries(options: dict[str, Any]) -> None:
    assert_agrees(Keras(), case(1, **options), np.float32)


@pytest.mark.parametrize(
    ("dimensions", "name"), [(1, "groups with their bandwidths"), (1, "of any width"), (2, "groups")]
)
def test_functions_shared_by_channels(dimensions: int, name: str) -> None:
    assert_agrees(Keras(), case(dimensions, shape=(5, 12, 3), dim=1, **SHARED[name]), np.float32)


@both_dimensions
def test_kernel_of_ones_own(dimensions: int) -> None:
    assert_own_kernel_agrees(Keras(), dimensions, np.float32)


@pytest.mark.parametrize("name", [*list(OUTSIDE)[:12], "linear", "groups", "one for all"])
def test_tails_and_base(name: str) -> None:
    assert_agrees(Keras(), case(1, **OUTSIDE[name]), np.float32)


def test_base_in_float64() -> None:
    assert_agrees(Keras(), case(1, base=kafnets.Base("gelu", "residual"), tails="linear"), np.float64)


def test_base_is_stored_and_moved(tmp_path: Path) -> None:
    layers = [front.KAF(base="elu", tails="linear"), front.KAF(base=kafnets.Base("silu", "residual"))]
    model = keras.Sequential([keras.Input((4,)), *layers])
    x = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
    fixed = keras.activations.silu(keras.activations.elu(ops.convert_to_tensor(x)))
    np.testing.assert_allclose(model.predict(x, verbose=0), ops.convert_to_numpy(fixed), atol=1e-6)
    model.compile("sgd", "mse")
    model.fit(x, np.ones_like(x), verbose=0)
    weights = ops.convert_to_numpy(layers[1].base_weight[...])
    assert weights.shape == (4,)
    assert (weights != 1).all()
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert [each.expansion for each in again.layers] == [each.expansion for each in layers]
    value = model.predict(x, verbose=0)
    np.testing.assert_allclose(again.predict(x, verbose=0), value, atol=1e-6)
    there = torch.nn.Sequential(*map(front.to_torch, layers))
    np.testing.assert_allclose(there(torch.from_numpy(x)).detach().cpu(), value, atol=1e-5)
    back: Any = front.from_torch(there[1])
    np.testing.assert_allclose(ops.convert_to_numpy(back.base_weight[...]), weights, atol=1e-6)


def test_slopes_of_bases_at_zero() -> None:
    x = np.zeros((1, 1), np.float32)
    for name in FUNCTIONS:
        module = kafnets.KAF(1, base=name, dim=-1)
        expected = Torch().gradients(module, x, np.ones_like(x)).by_input
        np.testing.assert_allclose(
            Keras().gradients(module, x, np.ones_like(x)).by_input, expected, atol=1e-6
        )


def test_not_a_number_and_infinity() -> None:
    x = np.array([[np.nan], [np.inf], [-np.inf]], np.float32)
    upstream = np.ones_like(x)
    for kernel in (kafnets.Gaussian(), LEARNED):
        found = Keras().gradients(kafnets.KAF(1, kernel=kernel, dim=-1), x, upstream)
        for each in (found.value, found.by_input):
            np.testing.assert_array_equal(each[1:], np.zeros((2, 1)))
    found = Keras().gradients(kafnets.KAF(1, kernel=kafnets.ReLUKernel(), dim=-1), x, upstream)
    assert np.isnan(found.by_input[0]).all()


def network() -> Any:
    return keras.Sequential(
        [
            keras.layers.Input((4,)),
            keras.layers.Dense(12),
            front.KAF(alpha_regularizer="l2", alpha_constraint="max_norm"),
            keras.layers.Dense(12),
            front.KAF2D(init="tanh", dictionary_size=5, kernel=kafnets.Gaussian(learn_gamma=True)),
            keras.layers.Dense(1),
        ]
    )


@pytest.mark.parametrize("compiled", [False, True])
def test_fits_and_is_stored(compiled: bool, tmp_path: Path) -> None:
    if compiled and keras.backend.backend() == "torch":
        pytest.skip("torch.compile is torch's own matter")
    keras.utils.set_random_seed(0)
    model = network()
    assert len(model.losses) == 1
    model.compile(keras.optimizers.Adam(0.02), "mse", jit_compile=compiled)
    x = np.random.default_rng(0).normal(size=(256, 4)).astype(np.float32)
    y = np.sin(2 * x[:, :1]) * x[:, 1:2]
    losses = model.fit(x, y, epochs=12, batch_size=32, verbose=0).history["loss"]
    assert losses[-1] < 0.7 * losses[0]
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(again.predict(x, verbose=0), model.predict(x, verbose=0), atol=1e-6)
    kept = again.layers[1]
    assert isinstance(kept, front.KAF)
    assert isinstance(kept.alpha_regularizer, keras.regularizers.L2)
    assert isinstance(kept.alpha_constraint, keras.constraints.MaxNorm)


@both_dimensions
@pytest.mark.parametrize("kernel", [None, kafnets.Gaussian(learn_gamma="neuron")])
@pytest.mark.parametrize("groups", [None, 3, 1])
def test_to_torch_and_back(dimensions: int, kernel: Any, groups: int | None) -> None:
    cls = front.KAF if dimensions == 1 else front.KAF2D
    layer = cls(kernel=kernel, dim=1, groups=groups)
    x = np.random.default_rng(0).normal(size=(4, 6, 3)).astype(np.float32)
    value = ops.convert_to_numpy(layer(x))
    there = front.to_torch(layer)
    assert there.groups == (groups or 6 // dimensions)
    assert there.num_features == (1 if groups == 1 else 6)
    np.testing.assert_allclose(value, there(torch.from_numpy(x)).detach().cpu(), atol=5e-6)
    np.testing.assert_allclose(ops.convert_to_numpy(front.from_torch(there)(x)), value, atol=1e-6)


@pytest.mark.parametrize("kernel", [None, *KERNELS_1D.values()])
@pytest.mark.parametrize(
    "init",
    [None, "elu", kafnets.Normal(0.8), [kafnets.Ridge("elu", 1e-3), "tanh"], "glorot_uniform"],
    ids=["default", "name", "normal", "sequence", "Keras's"],
)
def test_config_gives_the_same_layer(kernel: Any, init: Any) -> None:
    layer = front.KAF(kernel=kernel, dictionary_size=7, boundary=2.0, init=init, dim=1, groups=2, name="a")
    again = front.KAF.from_config(json.loads(json.dumps(layer.get_config())))
    assert again.get_config() == layer.get_config()
    assert again.expansion == layer.expansion
    if init != "glorot_uniform":
        assert again.init == layer.init


def test_dictionary_and_own_kernel_are_stored(tmp_path: Path) -> None:
    layer = front.KAF(dictionary=np.array([-1.0, 0.5, 2.0]), kernel=Laplacian(0.5))
    model = keras.Sequential([keras.Input((4,)), layer])
    model.save(tmp_path / "model.keras")
    with pytest.raises((ValueError, TypeError), match="Could not locate class 'Laplacian'"):
        keras.saving.load_model(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras", custom_objects={"Laplacian": Laplacian})
    assert again.layers[0].expansion == layer.expansion
    x = np.ones((2, 4), np.float32)
    np.testing.assert_array_equal(again.predict(x, verbose=0), model.predict(x, verbose=0))


def test_first_values() -> None:
    x = np.linspace(-2, 2, 80, dtype=np.float32).reshape(40, 2)
    keras.utils.set_random_seed(0)
    random = front.KAF(groups=1)
    random.build((None, 500))
    assert random.alpha.shape == (1, 20)
    wide = front.KAF()
    wide.build((None, 500))
    assert np.std(ops.convert_to_numpy(wide.alpha)) == pytest.approx(0.3**0.5, rel=0.05)
    seen = []

    def wave(s: Any) -> Any:
        seen.append(s)
        return ops.sin(s)

    both = front.KAF(init=[kafnets.Ridge(wave), "tanh"])
    expected = np.stack([np.sin(x[:, 0]), np.tanh(x[:, 1])], 1)
    np.testing.assert_allclose(ops.convert_to_numpy(both(x)), expected, atol=0.03)
    assert isinstance(seen[0], type(ops.zeros(1)))
    assert keras.backend.standardize_dtype(seen[0].dtype) == "float64"
    zeros = front.KAF(init=keras.initializers.Zeros())
    np.testing.assert_array_equal(ops.convert_to_numpy(zeros(x)), np.zeros_like(x))


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_mixed_precision(policy: str) -> None:
    layer = front.KAF(dtype=policy)
    x = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
    result = layer(x)
    assert keras.backend.standardize_dtype(result.dtype) == policy.removeprefix("mixed_")
    assert keras.backend.standardize_dtype(layer.alpha.dtype) == "float32"
    exact = front.to_torch(layer)(torch.from_numpy(x)).detach().cpu().numpy()
    np.testing.assert_allclose(ops.convert_to_numpy(ops.cast(result, "float32")), exact, atol=0.03)


def test_shapes_without_a_batch_size() -> None:
    inputs = keras.Input((None, 6))
    assert front.KAF2D()(inputs).shape == (None, None, 3)
    assert front.KAF(dim=1)(keras.Input((4, 5))).shape == (None, 4, 5)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="must be even"):
        front.KAF2D()(np.zeros((2, 3), np.float32))
    built = front.KAF()
    built(np.ones((2, 4), np.float32))
    for wrong in ((2, 64), (2, 4, 3)):
        with pytest.raises(ValueError, match="expected axis -1 of input shape to have value 4"):
            built(np.ones(wrong, np.float32))
    with pytest.raises(TypeError, match=r"floating-point .* got .*int32"):
        built(np.ones((2, 4), np.int32))
    with pytest.raises(TypeError, match=r"kernel must be an instance of a kernel, such as kafnets.Gaussian"):
        front.KAF(kernel="gaussian")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"init must be one of .*, or an initializer of Keras, got 'tanhh'"):
        front.KAF(init="tanhh")
    with pytest.raises(ValueError, match="groups must be a divisor of 4"):
        front.KAF(groups=3)(np.ones((2, 4), np.float32))
    with pytest.raises(ValueError, match="init must be one initializer, or a sequence"):
        front.KAF(init=["elu"] * 3)(np.ones((2, 4), np.float32))
    with pytest.raises(ValueError, match="known size"):
        front.KAF()(keras.Input((None,)))
    with pytest.raises(ValueError, match="no coefficients yet"):
        front.to_torch(front.KAF())
    with pytest.raises(ValueError, match="cannot be stored"):
        front.KAF(init=kafnets.Ridge(np.sin)).get_config()
    with pytest.raises(ValueError, match="dictionary_size must be an integer ≥ 2"):
        front.KAF(dictionary_size=1)
