"""The oracle's derivatives against differences, and its values against numbers worked by hand."""

import math

import numpy as np
import pytest

import kafnets
from tests import oracle

KERNELS: dict[str, oracle.Kernel] = {
    "gaussian": oracle.Gaussian(1.3),
    "polynomial": oracle.Polynomial(3),
    "relu": oracle.ReLUKernel(),
    "softplus": oracle.Softplus(),
    "periodic": oracle.Periodic(2.5, 0.8),
}
STEP = 1e-6


@pytest.mark.parametrize("name", KERNELS)
def test_derivative_is_the_slope(name: str) -> None:
    kernel = KERNELS[name]
    s, d = np.linspace(-4, 4, 81)[:, None] + 0.013, np.linspace(-3, 3, 7)
    slope = (kernel.value(s + STEP, d) - kernel.value(s - STEP, d)) / (2 * STEP)
    np.testing.assert_allclose(kernel.derivative(s, d), slope, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", ["gaussian", "polynomial", "periodic"])
def test_derivatives_in_two_dimensions_are_the_slopes(name: str) -> None:
    kernel = KERNELS[name]
    assert isinstance(kernel, oracle.Gaussian | oracle.Polynomial | oracle.Periodic)
    rng = np.random.default_rng(0)
    s1, s2, d1, d2 = rng.uniform(-2, 2, (4, 50))
    first, second = kernel.derivatives2d(s1, s2, d1, d2)
    along_1 = kernel.value2d(s1 + STEP, s2, d1, d2) - kernel.value2d(s1 - STEP, s2, d1, d2)
    along_2 = kernel.value2d(s1, s2 + STEP, d1, d2) - kernel.value2d(s1, s2 - STEP, d1, d2)
    np.testing.assert_allclose(first, along_1 / (2 * STEP), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(second, along_2 / (2 * STEP), rtol=1e-5, atol=1e-6)


def test_gaussian_bandwidth_derivatives_are_the_slopes() -> None:
    rng = np.random.default_rng(0)
    s1, s2, d1, d2 = rng.uniform(-2, 2, (4, 50))
    lower, kernel, upper = (oracle.Gaussian(0.7 + h) for h in (-STEP, 0.0, STEP))
    slope = (upper.value(s1, d1) - lower.value(s1, d1)) / (2 * STEP)
    np.testing.assert_allclose(kernel.gamma_derivative(s1, d1), slope, rtol=1e-6, atol=1e-8)
    slope = (upper.value2d(s1, s2, d1, d2) - lower.value2d(s1, s2, d1, d2)) / (2 * STEP)
    np.testing.assert_allclose(kernel.gamma_derivative2d(s1, s2, d1, d2), slope, rtol=1e-6, atol=1e-8)


def test_values_by_hand() -> None:
    assert oracle.Gaussian(0.5).value(1.0, 3.0) == pytest.approx(math.exp(-2.0), rel=1e-15)
    assert oracle.Gaussian(0.5).value2d(1.0, 0.0, 3.0, 1.0) == pytest.approx(math.exp(-2.5), rel=1e-15)
    assert oracle.Polynomial(3).value(2.0, 0.5) == 8.0
    assert oracle.Polynomial(2).value2d(2.0, 1.0, 0.5, -3.0) == 1.0
    assert oracle.ReLUKernel().value(1.0, 3.0) == 0.0
    assert oracle.ReLUKernel().value(3.5, 3.0) == 0.5
    assert oracle.Softplus().value(1.0, 1.0) == pytest.approx(math.log(2.0), rel=1e-15)
    assert oracle.Softplus().value(800.0, 0.0) == 800.0
    assert oracle.Periodic(2.0, 1.0).value(5.0, 1.0) == pytest.approx(1.0, rel=1e-15)
    assert oracle.Periodic(2.0, 1.0).value(1.0, 0.0) == pytest.approx(math.exp(-2.0), rel=1e-15)


def test_limits_at_infinity() -> None:
    far = np.array([-np.inf, np.inf])
    gaussian = oracle.Gaussian(2.0)
    for function in (gaussian.value, gaussian.derivative, gaussian.gamma_derivative):
        np.testing.assert_array_equal(function(far, 1.0), 0.0)
    np.testing.assert_array_equal(oracle.Softplus().value(far, 1.0), [0.0, np.inf])
    np.testing.assert_array_equal(oracle.Softplus().derivative(far, 1.0), [0.0, 1.0])
    assert np.isnan(oracle.Periodic(1.0, 1.0).value(far, 1.0)).all()
    assert np.isnan(gaussian.derivative(np.nan, 1.0))


@pytest.mark.parametrize("name", KERNELS)
def test_nan_stays_nan(name: str) -> None:
    kernel = KERNELS[name]
    assert np.isnan(kernel.value(np.nan, 1.0))
    assert np.isnan(kernel.derivative(np.nan, 1.0))


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (kafnets.Gaussian(0.7), oracle.Gaussian(0.7)),
        (kafnets.Polynomial(3), oracle.Polynomial(3)),
        (kafnets.ReLUKernel(), oracle.ReLUKernel()),
        (kafnets.Softplus(), oracle.Softplus()),
        (kafnets.Periodic(2.5, 0.8), oracle.Periodic(2.5, 0.8)),
    ],
)
def test_twins(kernel: kafnets.Kernel, expected: object) -> None:
    assert oracle.twin(kernel) == expected


def test_a_twin_takes_another_bandwidth() -> None:
    assert oracle.twin(kafnets.Gaussian(0.7), 2.0) == oracle.Gaussian(2.0)
    learned = oracle.twin(kafnets.Gaussian(learn_gamma="neuron"), np.array([1.0, 2.0])[:, None])
    np.testing.assert_array_equal(learned.gamma, [[1.0], [2.0]])
    with pytest.raises(ValueError, match="gamma must be given"):
        oracle.twin(kafnets.Gaussian())
