"""kafnets.autograd: functions for HIPS autograd."""

import tracemalloc
from typing import Any

import autograd.numpy as anp
import numpy as np
import pytest
import torch
from autograd.test_util import check_grads

import kafnets
from kafnets import autograd as front
from kafnets.benchmark.adapters import Autograd
from tests.frontends.agreement import (
    assert_agrees,
    both_dimensions,
    both_precisions,
    case,
    every_dictionary,
    every_kernel,
    every_shape,
)


@every_kernel
@both_precisions
def test_kernels(dimensions: int, kernel: kafnets.Kernel, dtype: Any) -> None:
    assert_agrees(Autograd(), case(dimensions, kernel=kernel), dtype)


@both_dimensions
@every_shape
@both_precisions
def test_shapes(dimensions: int, shape: tuple[int, ...], axis: int, dtype: Any) -> None:
    assert_agrees(Autograd(), case(dimensions, shape=shape, axis=axis), dtype)


@both_dimensions
@every_dictionary
@both_precisions
def test_dictionaries(dimensions: int, options: dict[str, Any], dtype: Any) -> None:
    assert_agrees(Autograd(), case(dimensions, **options), dtype)


def test_both_modes_and_second_derivatives() -> None:
    generator = np.random.default_rng(0)
    x, one, two = (generator.normal(size=size) for size in ((4, 6), (6, 8), (3, 5, 5)))
    check_grads(front.kaf, modes=["fwd", "rev"], order=2)(x, one)
    check_grads(front.kaf2d, modes=["fwd", "rev"], order=2)(x, two)
    check_grads(lambda x, a, g: front.kaf(x, a, gamma=anp.exp(g)), modes=["fwd", "rev"], order=2)(
        x, one, generator.normal(size=6)
    )
    check_grads(lambda x, a, g: front.kaf2d(x, a, gamma=anp.exp(g)), modes=["fwd", "rev"], order=2)(
        x, two, np.array(0.1)
    )


@pytest.mark.parametrize("kernel", [None, kafnets.Gaussian(learn_gamma=True), kafnets.Softplus()])
def test_to_torch_and_back(kernel: kafnets.Kernel | None) -> None:
    module = kafnets.KAF(5, kernel=kernel, dtype=torch.float64)
    parameters, options = front.from_torch(module)
    x = np.random.default_rng(0).normal(size=(7, 5))
    extra = {"gamma": np.exp(parameters["log_gamma"])} if "log_gamma" in parameters else {}
    found = front.kaf(x, parameters["alpha"], **options, **extra)
    np.testing.assert_allclose(found, module(torch.from_numpy(x)).detach(), atol=1e-12)
    again = front.to_torch(parameters, **options).double()
    np.testing.assert_allclose(again(torch.from_numpy(x)).detach(), found, atol=1e-6)


def test_memory_does_not_grow_with_the_dictionary() -> None:
    from autograd import grad

    x = np.zeros((2000, 64), np.float32)
    peaks = []
    for size in (10, 80):
        alpha = np.zeros((64, size), np.float32)
        gradient = grad(lambda both: anp.sum(front.kaf(*both) ** 2))
        gradient((x, alpha))
        tracemalloc.start()
        gradient((x, alpha))
        peaks.append(tracemalloc.get_traced_memory()[1] / x.nbytes)
        tracemalloc.stop()
    assert max(peaks) < 30
    assert peaks[1] < 1.5 * peaks[0]


def test_half_precision_and_plain_numbers() -> None:
    from autograd import grad

    x = np.random.default_rng(0).normal(size=(20, 3))
    alpha = front.coefficients(3, seed=np.int64(1))
    half = front.kaf(x.astype(np.float16), alpha)
    assert half.dtype == np.float16
    np.testing.assert_allclose(half, front.kaf(x, alpha), atol=0.01)
    by_input = grad(lambda x: anp.sum(front.kaf(x, alpha)))(x.astype(np.float32))
    assert by_input.dtype == np.float32
    slope = grad(lambda gamma: anp.sum(front.kaf(x, alpha, gamma=gamma)))(1.0)
    assert np.shape(slope) == ()
    np.testing.assert_array_equal(front.kaf(x.tolist(), alpha.tolist()), front.kaf(x, alpha))


def test_refusals() -> None:
    with pytest.raises(TypeError, match="floating-point array"):
        front.kaf(np.ones((2, 3), int), np.ones((3, 5)))
    with pytest.raises(ValueError, match="but alpha is for 4"):
        front.kaf(np.ones((2, 3)), np.ones((4, 5)))
