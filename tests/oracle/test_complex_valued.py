"""Closed-form gradients of complex activations against differences."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.oracle import complex_valued
from tests.oracle.test_expansions import slopes

RNG = np.random.default_rng(1)


def normal(*shape: int) -> Any:
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


Z, U, BIAS = normal(6, 2), normal(6, 2), np.array([-0.7, 0.4])


def by_differences(function: Callable[[Any], Any], at: Any) -> Any:
    """dL/dx + i dL/dy for L, the sum of the real part of conj(u) times the function."""

    def loss(parts: Any) -> Any:
        return (U.conj() * function(parts[0] + 1j * parts[1])).real

    found = slopes(loss, np.stack([at.real, at.imag]), np.ones(U.shape))
    return found[0] + 1j * found[1]


@pytest.mark.parametrize("kernel", ["gaussian", "complex_gaussian"])
def test_complex_kaf(kernel: Any) -> None:
    kaf, alpha = complex_valued.ComplexKAF(kernel, 0.3, 4, 2.0), normal(2, 4, 4)
    by_z, by_alpha = kaf.gradients(Z, alpha, U)
    np.testing.assert_allclose(by_z, by_differences(lambda z: kaf.value(z, alpha), Z), rtol=1e-6, atol=1e-6)
    wanted = by_differences(lambda own: kaf.value(Z, own), alpha)
    np.testing.assert_allclose(by_alpha, wanted, rtol=1e-6, atol=1e-6)


def test_modrelu_and_cardioid() -> None:
    by_z, by_bias = complex_valued.modrelu_gradients(Z, BIAS, U)
    wanted = by_differences(lambda z: complex_valued.modrelu(z, BIAS), Z)
    np.testing.assert_allclose(by_z, wanted, rtol=1e-6, atol=1e-7)
    wanted = slopes(lambda b: (U.conj() * complex_valued.modrelu(Z, b)).real, BIAS, np.ones(U.shape))
    np.testing.assert_allclose(by_bias, wanted, rtol=1e-6, atol=1e-7)
    wanted = by_differences(complex_valued.cardioid, Z)
    np.testing.assert_allclose(complex_valued.cardioid_gradients(Z, U), wanted, rtol=1e-6, atol=1e-7)
