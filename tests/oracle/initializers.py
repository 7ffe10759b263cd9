"""First values of the mixing coefficients, by kernel ridge regression."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tests.oracle.kernels import Kernel, Kernel2D

Array = NDArray[np.float64]


def kernel_matrix(dictionary: ArrayLike, kernel: Kernel) -> Array:
    r""":math:`K_{ij} = \kappa(d_i, d_j)`: row i holds every term of the expansion at :math:`s = d_i`.

    The paper computes it "between t and d". The solution reproduces the targets t at the dictionary
    only if the matrix is between d and d.
    """
    d = np.asarray(dictionary, dtype=np.float64)
    return kernel.value(d[:, None], d[None, :])


def kernel_matrix2d(dictionary: ArrayLike, kernel: Kernel2D) -> Array:
    """The same over all pairs ``(d_i, d_j)`` in row-major order: ``(D * D, D * D)``."""
    d = np.asarray(dictionary, dtype=np.float64)
    first, second = (axis.ravel() for axis in np.meshgrid(d, d, indexing="ij"))
    return kernel.value2d(first[:, None], second[:, None], first[None, :], second[None, :])


def kernel_ridge(matrix: ArrayLike, targets: ArrayLike, eps: float) -> Array:
    r""":math:`\alpha = (K + \varepsilon I)^{-1} t`, for a symmetric positive semi-definite K."""
    matrix = np.asarray(matrix, dtype=np.float64)
    regularized = matrix + eps * np.eye(len(matrix))
    return np.asarray(np.linalg.solve(regularized, np.asarray(targets, np.float64)), np.float64)


def least_squares_ridge(matrix: ArrayLike, targets: ArrayLike, eps: float) -> Array:
    r"""The minimizer of :math:`\|K \alpha - t\|^2 + \varepsilon \|\alpha\|^2`, for any K.

    :func:`kernel_ridge` supposes a positive semi-definite K. The matrix of the ReLU kernel is strictly
    triangular: adding :math:`\varepsilon` to its empty diagonal and inverting gives coefficients of the
    order of :math:`\varepsilon^{-D}`. This form says what ridge regression means without that supposition.
    """
    matrix = np.asarray(matrix, dtype=np.float64)
    size = matrix.shape[1]
    stacked = np.vstack([matrix, np.sqrt(eps) * np.eye(size)])
    padded = np.concatenate([np.asarray(targets, dtype=np.float64), np.zeros(size)])
    return np.linalg.lstsq(stacked, padded, rcond=None)[0]
