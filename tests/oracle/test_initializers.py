import numpy as np
import pytest

from tests import oracle


def test_kernel_ridge_solves_the_papers_equation() -> None:
    d = oracle.equispaced(20, 3.0)
    matrix = oracle.kernel_matrix(d, oracle.Gaussian(1.67))
    alpha = oracle.kernel_ridge(matrix, np.tanh(d), 1e-6)
    np.testing.assert_allclose(matrix @ alpha + 1e-6 * alpha, np.tanh(d), atol=1e-12)


def test_kernel_matrix2d_is_the_expansion_at_the_grid() -> None:
    d, kernel = oracle.equispaced(4, 2.0), oracle.Gaussian(0.9)
    alpha = np.random.default_rng(0).normal(size=(1, 4, 4))
    grid = np.stack(np.meshgrid(d, d, indexing="ij"), axis=-1).reshape(-1, 2)
    values = oracle.kaf2d(grid, alpha, d, kernel)[:, 0]
    np.testing.assert_allclose(oracle.kernel_matrix2d(d, kernel) @ alpha.ravel(), values, atol=1e-12)


@pytest.mark.parametrize("kernel", [oracle.ReLUKernel(), oracle.Softplus()])
def test_least_squares_ridge_is_the_minimum(kernel: oracle.Kernel) -> None:
    d = oracle.equispaced(12, 3.0)
    matrix, targets, eps = oracle.kernel_matrix(d, kernel), np.tanh(d), 1e-4
    alpha = oracle.least_squares_ridge(matrix, targets, eps)
    gradient = matrix.T @ (matrix @ alpha - targets) + eps * alpha
    np.testing.assert_allclose(gradient, 0.0, atol=1e-10)
    assert np.abs(alpha).max() < 100
