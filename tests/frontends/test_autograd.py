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
    LEARNED,
    assert_agrees,
    assert_own_kernel_agrees,
    both_dimensions,
    both_precisions,
    case,
    every_dictionary,
    every_kernel,
    every_shape,
    every_sharing,
)


@every_kernel
@both_precisions
def test_kernels(dimensions: int, kernel: kafnets.Kernel, dtype: Any) -> None:
    assert_agrees(Autograd(), case(dimensions, kernel=kernel), dtype)


@both_dimensions
@every_shape
@both_precisions
def test_shapes(dimensions: int, shape: tuple[int, ...], dim: int, dtype: Any) -> None:
    assert_agrees(Autograd(), case(dimensions, shape=shape, dim=dim), dtype)


@both_dimensions
@every_dictionary
@both_precisions
def test_dictionaries(dimensions: int, options: dict[str, Any], dtype: Any) -> None:
    assert_agrees(Autograd(), case(dimensions, **options), dtype)


@both_dimensions
@every_sharing
@both_precisions
def test_functions_shared_by_channels(dimensions: int, options: dict[str, Any], dtype: Any) -> None:
    assert_agrees(Autograd(), case(dimensions, shape=(5, 12, 3), dim=1, **options), dtype)


@both_dimensions
@both_precisions
def test_kernel_of_ones_own(dimensions: int, dtype: Any) -> None:
    assert_own_kernel_agrees(Autograd(), dimensions, dtype)


def learned(dimensions: int, size: int) -> kafnets.Expansion:
    return kafnets.Expansion.of(dimensions, dictionary_size=size, kernel=LEARNED)


def test_both_modes_and_second_derivatives() -> None:
    generator = np.random.default_rng(0)
    x, one, two = (generator.normal(size=size) for size in ((4, 6), (6, 8), (3, 5, 5)))
    check_grads(front.kaf, modes=["fwd", "rev"], order=2)(x, one)
    check_grads(front.kaf2d, modes=["fwd", "rev"], order=2)(x, two)
    check_grads(
        lambda x, a, g: front.kaf(x, a, learned(1, 8), gamma=anp.exp(g)), modes=["fwd", "rev"], order=2
    )(x, one, generator.normal(size=6))
    check_grads(
        lambda x, a, g: front.kaf2d(x, a, learned(2, 5), gamma=anp.exp(g)), modes=["fwd", "rev"], order=2
    )(x, two, np.array(0.1))


@pytest.mark.parametrize("kernel", [None, kafnets.Gaussian(learn_gamma=True), kafnets.Softplus()])
def test_to_torch_and_back(kernel: kafnets.Kernel | None) -> None:
    module = kafnets.KAF(5, kernel=kernel, dtype=torch.float64)
    parameters, expansion = front.from_torch(module)
    x = np.random.default_rng(0).normal(size=(7, 5))
    gamma = np.exp(parameters["log_gamma"]) if "log_gamma" in parameters else None
    found = front.kaf(x, parameters["alpha"], expansion, gamma=gamma)
    np.testing.assert_allclose(found, module(torch.from_numpy(x)).detach(), atol=1e-12)
    again = front.to_torch(parameters, expansion).double()
    np.testing.assert_allclose(again(torch.from_numpy(x)).detach(), found, atol=1e-6)


def test_shared_functions_to_torch() -> None:
    x = torch.randn(7, 6, dtype=torch.float64)
    for module in (kafnets.KAF(6, groups=2), kafnets.KAF(), kafnets.KAF2D(6, groups=1), kafnets.KAF2D()):
        again = front.to_torch(*front.from_torch(module), num_features=module.num_features, dim=1)
        assert (again.groups, again.num_features) == (module.groups, module.num_features)
        np.testing.assert_allclose(again(x).detach(), module(x).detach(), atol=1e-6)
    assert front.to_torch(*front.from_torch(kafnets.KAF())).num_features == 1


def test_first_values() -> None:
    assert front.coefficients(4).shape == (4, 20)
    assert front.coefficients(4, dimensions=2, dictionary_size=5, dtype=np.float32).dtype == np.float32
    assert np.std(front.coefficients(200)) == pytest.approx(0.3**0.5, rel=0.05)
    np.testing.assert_array_equal(front.coefficients(3, seed=4), front.coefficients(3, seed=4))
    assert not np.array_equal(front.coefficients(3, seed=4), front.coefficients(3, seed=5))
    seen = []

    def wave(s: Any) -> Any:
        seen.append(s)
        return anp.sin(s)

    found = front.coefficients(2, init=[kafnets.Ridge(wave), "tanh"])
    expected = kafnets.KAF(2, init=[kafnets.Ridge(torch.sin), "tanh"], dtype=torch.float64)
    np.testing.assert_allclose(found, expected.alpha.detach(), rtol=1e-9)
    assert type(seen[0]) is np.ndarray


def test_not_a_number_and_infinity() -> None:
    from autograd import elementwise_grad

    alpha = np.ones((1, 20))
    for kernel in (kafnets.ReLUKernel(), kafnets.Gaussian(gamma=0.7)):
        expansion = kafnets.Expansion.of(kernel=kernel)
        slope = elementwise_grad(lambda x, e=expansion: front.kaf(x, alpha, e))
        assert np.isnan(slope(np.array([np.nan]))).all()
    infinite = np.array([[np.inf], [-np.inf]])
    for kernel, gamma in ((kafnets.Gaussian(), None), (LEARNED, 1.0)):
        expansion = kafnets.Expansion.of(kernel=kernel)
        slope = elementwise_grad(lambda x, e=expansion, g=gamma: front.kaf(x, alpha, e, gamma=g))
        np.testing.assert_array_equal(front.kaf(infinite, alpha, expansion, gamma=gamma), np.zeros((2, 1)))
        np.testing.assert_array_equal(slope(infinite), np.zeros((2, 1)))


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
    slope = grad(lambda gamma: anp.sum(front.kaf(x, alpha, learned(1, 20), gamma=gamma)))(1.0)
    assert np.shape(slope) == ()
    np.testing.assert_array_equal(front.kaf(x.tolist(), alpha.tolist()), front.kaf(x, alpha))


def test_refusals() -> None:
    with pytest.raises(TypeError, match="floating-point type"):
        front.kaf(np.ones((2, 3), int), np.ones((3, 5)))
    with pytest.raises(ValueError, match=r"each of the 3 channels .* got 4"):
        front.kaf(np.ones((2, 3)), np.ones((4, 5)))
