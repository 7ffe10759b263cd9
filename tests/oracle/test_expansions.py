"""Closed-form gradients of the expansions against differences of the expansions."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from tests import oracle

Array = NDArray[np.float64]


def slopes(function: Callable[[Array], Array], at: Array, upstream: Array) -> Array:
    """The gradient of ``sum(upstream * function)`` by central differences."""
    result = np.empty_like(at)
    for index in np.ndindex(*at.shape):
        step = np.zeros_like(at)
        step[index] = 1e-6
        result[index] = (upstream * (function(at + step) - function(at - step))).sum() / 2e-6
    return result


@pytest.mark.parametrize(
    "kernel",
    [oracle.Gaussian(1.1), oracle.Polynomial(2), oracle.Softplus(), oracle.Periodic(3.0, 1.0)],
)
def test_kaf_gradients(kernel: oracle.Kernel) -> None:
    rng = np.random.default_rng(1)
    s, alpha, d = rng.normal(size=(3, 2, 4)), rng.normal(size=(4, 5)), oracle.equispaced(5, 2.0)
    upstream = rng.normal(size=s.shape)
    gradients = oracle.kaf_gradients(s, alpha, d, kernel, upstream)
    by_s = slopes(lambda v: oracle.kaf(v, alpha, d, kernel), s, upstream)
    by_alpha = slopes(lambda v: oracle.kaf(s, v, d, kernel), alpha, upstream)
    np.testing.assert_allclose(gradients.s, by_s, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(gradients.alpha, by_alpha, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kernel", [oracle.Gaussian(1.1), oracle.Polynomial(2), oracle.Periodic(3.0, 1.0)])
def test_kaf2d_gradients(kernel: oracle.Kernel2D) -> None:
    rng = np.random.default_rng(1)
    s, alpha, d = rng.normal(size=(3, 4)), rng.normal(size=(2, 3, 3)), oracle.equispaced(3, 2.0)
    upstream = rng.normal(size=(3, 2))
    gradients = oracle.kaf2d_gradients(s, alpha, d, kernel, upstream)
    by_s = slopes(lambda v: oracle.kaf2d(v, alpha, d, kernel), s, upstream)
    by_alpha = slopes(lambda v: oracle.kaf2d(s, v, d, kernel), alpha, upstream)
    np.testing.assert_allclose(gradients.s, by_s, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(gradients.alpha, by_alpha, rtol=1e-6, atol=1e-6)


def test_bandwidth_gradients_are_one_per_neuron() -> None:
    rng = np.random.default_rng(2)
    d, gamma = oracle.equispaced(5, 2.0), np.array([0.5, 1.0])
    s, alpha, upstream = rng.normal(size=(7, 2)), rng.normal(size=(2, 5)), rng.normal(size=(7, 2))
    by_gamma = slopes(lambda g: oracle.kaf(s, alpha, d, oracle.Gaussian(g[:, None])), gamma, upstream)
    result = oracle.kaf_gradients(s, alpha, d, oracle.Gaussian(gamma[:, None]), upstream).gamma
    np.testing.assert_allclose(np.asarray(result), by_gamma, rtol=1e-6)

    s, alpha = rng.normal(size=(7, 4)), rng.normal(size=(2, 5, 5))
    by_gamma = slopes(lambda g: oracle.kaf2d(s, alpha, d, oracle.Gaussian(g[:, None, None])), gamma, upstream)
    kernel = oracle.Gaussian(gamma[:, None, None])
    result = oracle.kaf2d_gradients(s, alpha, d, kernel, upstream).gamma
    np.testing.assert_allclose(np.asarray(result), by_gamma, rtol=1e-6)


def test_kaf2d_weighs_first_value_by_row_and_second_by_column() -> None:
    d = np.array([0.0, 10.0])
    alpha = np.array([[[1.0, 2.0], [3.0, 4.0]]])
    pairs = np.array([[0.0, 0.0], [0.0, 10.0], [10.0, 0.0], [10.0, 10.0]])
    values = oracle.kaf2d(pairs, alpha, d, oracle.Gaussian(1.0))
    np.testing.assert_allclose(values[:, 0], [1.0, 2.0, 3.0, 4.0], atol=1e-12)
