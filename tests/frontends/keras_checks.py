"""What Keras layers must do on every backend. Run by pytest in a process for each: see test_keras.py."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import kafnets
import kafnets.keras as front  # before anything else of Keras: it sees to TensorFlow and Triton
from kafnets.benchmark.adapters import Keras
from tests.frontends.agreement import (
    DICTIONARIES,
    KERNELS_1D,
    KERNELS_2D,
    assert_agrees,
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


@pytest.mark.parametrize("name", ["rule of thumb", "learned by neuron", "polynomial"])
def test_kernels_in_two_dimensions(name: str) -> None:
    assert_agrees(Keras(), case(2, kernel=KERNELS_2D[name]), np.float32)


@both_dimensions
@every_shape
def test_shapes(dimensions: int, shape: tuple[int, ...], axis: int) -> None:
    if len(shape) > 1:  # a layer sees batches
        assert_agrees(Keras(), case(dimensions, shape=shape, axis=axis), np.float32)


@pytest.mark.parametrize("options", [DICTIONARIES["long"], DICTIONARIES["uneven"]])
def test_dictionaries(options: dict[str, Any]) -> None:
    assert_agrees(Keras(), case(1, **options), np.float32)


def network() -> Any:
    return keras.Sequential(
        [
            keras.layers.Input((4,)),
            keras.layers.Dense(12),
            front.KAF(alpha_regularizer="l2", alpha_constraint="max_norm"),
            keras.layers.Dense(12),
            front.KAF2D(alpha_initializer="tanh", dictionary_size=5, kernel=front.Gaussian(learn_gamma=True)),
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
@pytest.mark.parametrize("kernel", [None, front.Gaussian(learn_gamma="neuron")])
def test_to_torch_and_back(dimensions: int, kernel: Any) -> None:
    cls = front.KAF if dimensions == 1 else front.KAF2D
    layer = cls(kernel=kernel, axis=1)
    x = np.random.default_rng(0).normal(size=(4, 6, 3)).astype(np.float32)
    value = ops.convert_to_numpy(layer(x))
    there = front.to_torch(layer)
    np.testing.assert_allclose(value, there(torch.from_numpy(x)).detach().cpu(), atol=5e-6)
    np.testing.assert_allclose(ops.convert_to_numpy(front.from_torch(there)(x)), value, atol=1e-6)


@pytest.mark.parametrize("kernel", [None, *KERNELS_1D.values()])
def test_config_gives_the_same_layer(kernel: Any) -> None:
    layer = front.KAF(
        kernel=kernel, dictionary_size=7, boundary=2.0, alpha_initializer="elu", axis=1, name="a"
    )
    again = front.KAF.from_config(layer.get_config())
    assert again.get_config() == layer.get_config()
    assert again._plan == layer._plan


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
    assert front.KAF(axis=1)(keras.Input((4, 5))).shape == (None, 4, 5)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="must be even"):
        front.KAF2D()(np.zeros((2, 3), np.float32))
    built = front.KAF()
    built(np.ones((2, 4), np.float32))
    for wrong in ((2, 64), (2, 4, 3)):
        with pytest.raises(ValueError, match="built for 4 channels"):
            built(np.ones(wrong, np.float32))
    with pytest.raises(TypeError, match="floating-point numbers, got int32"):
        built(np.ones((2, 4), np.int32))
    with pytest.raises(TypeError, match="kernel must be one of Gaussian"):
        front.KAF(kernel="gaussian")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="known size"):
        front.KAF()(keras.Input((None,)))
    with pytest.raises(ValueError, match="no coefficients yet"):
        front.to_torch(front.KAF())
    with pytest.raises(ValueError, match="cannot be stored"):
        front.KAF(alpha_initializer=kafnets.Ridge(torch.sin)).get_config()
    with pytest.raises(ValueError, match="dictionary_size must be a whole number from 2"):
        front.KAF(dictionary_size=1)
