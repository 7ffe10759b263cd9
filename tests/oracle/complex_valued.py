"""Activations of complex numbers, with their closed-form gradients.

A gradient by a complex value is dL/dx + i dL/dy, as torch has it. With Wirtinger's derivatives of g by z and
by its conjugate, and u the gradient by g, it is u conj(dg/dz) + conj(u) dg/dz*.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tests.oracle.dictionaries import equispaced

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]


def _by_input(u: Complex, by_z: Complex, by_conjugate: Complex) -> Complex:
    return u * by_z.conj() + u.conj() * by_conjugate


class ComplexKAF:
    """sum over n, m of alpha[n, m] kappa(z, d_n + i d_m); ``z`` is ``(B, N)``, alpha ``(N, D, D)``."""

    def __init__(
        self, kernel: Literal["gaussian", "complex_gaussian"], gamma: float, size: int, boundary: float
    ) -> None:
        d = equispaced(size, boundary)
        self.kernel, self.gamma, self.elements = kernel, gamma, d[:, None] + 1j * d

    def terms(self, z: Complex) -> Complex:
        """kappa(z, w) for each z and element w: ``(..., D, D)``."""
        z = np.asarray(z)[..., None, None]
        if self.kernel == "gaussian":
            return np.exp(-self.gamma * np.abs(z - self.elements) ** 2) + 0j
        return np.asarray(np.exp(-self.gamma * (z - self.elements.conj()) ** 2))

    def value(self, z: Complex, alpha: Complex) -> Complex:
        """g(z)."""
        return np.asarray((alpha * self.terms(z)).sum((-1, -2)))

    def gradients(self, z: Complex, alpha: Complex, u: Complex) -> tuple[Complex, Complex]:
        """By z and by alpha."""
        terms, moved = self.terms(z), z[..., None, None]
        by_alpha = (u[..., None, None] * terms.conj()).sum(0)
        if self.kernel == "gaussian":  # |z - w|^2 is (z - w) times its conjugate
            by_z = -self.gamma * (moved - self.elements).conj() * terms
            by_conjugate = -self.gamma * (moved - self.elements) * terms
        else:
            by_z = -2 * self.gamma * (moved - self.elements.conj()) * terms
            by_conjugate = np.zeros_like(terms)
        parts = ((alpha * each).sum((-1, -2)) for each in (by_z, by_conjugate))
        return _by_input(u, *parts), by_alpha

    def start(self, targets: Complex, eps: float) -> Complex:
        """Ridge regression on the elements: (K + eps I)^-1 t."""
        matrix = self.terms(self.elements.ravel()).reshape(self.elements.size, -1)
        regularized = matrix + eps * np.eye(len(matrix))
        return np.asarray(np.linalg.solve(regularized, targets.ravel()), complex).reshape(self.elements.shape)


def modrelu(z: Complex, bias: Array) -> Complex:
    """max(0, |z| + b) z / |z|."""
    return np.asarray(np.maximum(np.abs(z) + bias, 0) * z / np.abs(z))


def modrelu_gradients(z: Complex, bias: Array, u: Complex) -> tuple[Complex, Array]:
    """By z and by b. Where it is not 0 it is z + b z / |z|."""
    size = np.abs(z)
    on = (size + bias > 0).astype(np.float64)
    by_z = on * (1 + bias / (2 * size)) + 0j
    by_conjugate = -on * bias * z**2 / (2 * size**3)
    return _by_input(u, by_z, by_conjugate), (on * (u.conj() * z / size).real).sum(0)


def cardioid(z: Complex) -> Complex:
    """(1 + cos(arg z)) z / 2."""
    return np.asarray(0.5 * (1 + np.cos(np.angle(z))) * z)


def cardioid_gradients(z: Complex, u: Complex) -> Complex:
    """By z: it is z / 2 + (z^2 + |z|^2) / (4 |z|)."""
    size = np.abs(z)
    both = z**2 + size**2
    by_z = 0.5 + 0.25 * ((2 * z + z.conj()) / size - both * z.conj() / (2 * size**3))
    by_conjugate = 0.25 * (z / size - both * z / (2 * size**3))
    return _by_input(u, by_z, by_conjugate)
