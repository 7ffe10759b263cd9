"""The reference's derivatives against differences, and its values against numbers worked by hand."""

import math

import numpy as np
import pytest

from kafnets import reference

KERNELS: dict[str, reference.Kernel] = {
    "gaussian": reference.Gaussian(1.3),
    "polynomial": reference.Polynomial(3),
    "relu": reference.ReLUKernel(),
    "softplus": reference.Softplus(),
    "periodic": reference.Periodic(2.5, 0.8),
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
    assert isinstance(kernel, reference.Gaussian | reference.Polynomial | reference.Periodic)
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
    lower, kernel, upper = (reference.Gaussian(0.7 + h) for h in (-STEP, 0.0, STEP))
    slope = (upper.value(s1, d1) - lower.value(s1, d1)) / (2 * STEP)
    np.testing.assert_allclose(kernel.gamma_derivative(s1, d1), slope, rtol=1e-6, atol=1e-8)
    slope = (upper.value2d(s1, s2, d1, d2) - lower.value2d(s1, s2, d1, d2)) / (2 * STEP)
    np.testing.assert_allclose(kernel.gamma_derivative2d(s1, s2, d1, d2), slope, rtol=1e-6, atol=1e-8)


def test_values_by_hand() -> None:
    assert reference.Gaussian(0.5).value(1.0, 3.0) == pytest.approx(math.exp(-2.0), rel=1e-15)
    assert reference.Gaussian(0.5).value2d(1.0, 0.0, 3.0, 1.0) == pytest.approx(math.exp(-2.5), rel=1e-15)
    assert reference.Polynomial(3).value(2.0, 0.5) == 8.0
    assert reference.Polynomial(2).value2d(2.0, 1.0, 0.5, -3.0) == 1.0
    assert reference.ReLUKernel().value(1.0, 3.0) == 0.0
    assert reference.ReLUKernel().value(3.5, 3.0) == 0.5
    assert reference.Softplus().value(1.0, 1.0) == pytest.approx(math.log(2.0), rel=1e-15)
    assert reference.Softplus().value(800.0, 0.0) == 800.0
    assert reference.Periodic(2.0, 1.0).value(5.0, 1.0) == pytest.approx(1.0, rel=1e-15)
    assert reference.Periodic(2.0, 1.0).value(1.0, 0.0) == pytest.approx(math.exp(-2.0), rel=1e-15)


def test_limits_at_infinity() -> None:
    far = np.array([-np.inf, np.inf])
    gaussian = reference.Gaussian(2.0)
    for function in (gaussian.value, gaussian.derivative, gaussian.gamma_derivative):
        np.testing.assert_array_equal(function(far, 1.0), 0.0)
    np.testing.assert_array_equal(reference.Softplus().value(far, 1.0), [0.0, np.inf])
    np.testing.assert_array_equal(reference.Softplus().derivative(far, 1.0), [0.0, 1.0])
    assert np.isnan(reference.Periodic(1.0, 1.0).value(far, 1.0)).all()
    assert np.isnan(gaussian.derivative(np.nan, 1.0))
