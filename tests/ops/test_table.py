"""The native kernels where a neuron has so many activations that its function is made a table first."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from kafnets import Base, Dictionary, Expansion, Gaussian
from kafnets.ops import formula_of, native
from tests import oracle
from tests.ops.cases import GAMMA, RUNNABLE, check, gaussian

pytestmark = [
    pytest.mark.skipif(not RUNNABLE, reason="the native kernels were not built"),
    pytest.mark.usefixtures("poisoned_memory"),
]

MANY = 1000
"""Activations per neuron that are enough for a table wherever tables are faster at all."""


@pytest.mark.parametrize(
    "shape",
    [
        (MANY, 1),
        (MANY, 2),
        (MANY + 3, 13),
        (MANY, 16),
        (MANY + 1, 33),
        (4 * 256 + 1, 5),  # a single activation is left for the last chunk
        (4 * 256 + 1, 17),
        (1, 1, MANY),
        (3, 2, MANY + 5),
        (251, 3, 4),
        (3, 2, 77),
        (5, 2, 80),
        (MANY, 2, 3),
        (20, 5, 63),
        (20, 2, 64),
        (20, 2, 65),
        (3, 2, 30, 31),
    ],
)
def test_shapes(kernels: native.Kernels, shape: tuple[int, ...]) -> None:
    check(kernels, 1.5 * torch.randn(shape), torch.randn(shape[1], 20), GAMMA)


@pytest.mark.parametrize("size", [2, 3, 4, 5, 20, 21, 80, 200])
def test_dictionary_sizes(kernels: native.Kernels, size: int) -> None:
    gamma = oracle.bandwidth_rule_of_thumb(6.0 / (size - 1))
    check(kernels, 1.5 * torch.randn(MANY, 5), torch.randn(5, size), gamma)


@pytest.mark.parametrize("power", [-8, -3, -1, 0, 0.5, 1, 1.3, 1.7, 2, 3, 5, 8])
def test_bandwidths(kernels: native.Kernels, power: float) -> None:
    for size in (5, 20, 60):
        check(kernels, 1.5 * torch.randn(MANY, 3), torch.randn(3, size), 10.0**power)


@pytest.mark.parametrize(("tails", "base"), [("zero", None), ("constant", None), ("zero", "silu")])
@pytest.mark.parametrize("shape", [(MANY, 20), (6, 2, MANY)])
def test_nan_and_infinity(kernels: native.Kernels, tails: Any, base: Any, shape: tuple[int, ...]) -> None:
    expansion = Expansion(
        Gaussian(GAMMA),
        Dictionary.equispaced(20, 3.0),
        tails=tails,
        base=None if base is None else Base(base),
    )
    formula, s, table = formula_of(expansion), torch.randn(shape), torch.randn(shape[1], 20)
    s[0], s[1], s[2] = math.nan, math.inf, -math.inf
    few = kernels.forward(formula, s[:3].reshape(3, shape[1], -1)[..., 0], table, 1)  # by formula
    many = kernels.forward(formula, s, table, 1)
    assert many[3:].isfinite().all()
    torch.testing.assert_close(many[:3].reshape(3, shape[1], -1)[..., 0], few, equal_nan=True)
    by_s, by_alpha = kernels.backward(formula, torch.ones_like(s), s, table, 1, (True, True))
    assert by_s is not None
    assert by_alpha is not None
    assert by_s[0].isnan().all()
    assert by_s[3:].isfinite().all()
    assert by_alpha.isnan().all()
    _, by_alpha = kernels.backward(formula, torch.ones_like(s[1:]), s[1:], table, 1, (True, True))
    assert by_alpha is not None
    assert by_alpha.isfinite().all() or base is not None


@pytest.mark.parametrize("size", [20, 80])
def test_the_error_is_within_the_stated_bound(kernels: native.Kernels, size: int) -> None:
    """Values to 1.5e-8 and slopes to 1.2e-7 sqrt(gamma) of one Gaussian, and what rounding adds to that."""
    gamma = oracle.bandwidth_rule_of_thumb(6.0 / (size - 1))
    s = torch.linspace(-4, 4, 20_001).unsqueeze(1)
    formula, eps = gaussian(size, gamma), torch.finfo(torch.float32).eps
    for element in (0, size // 2, size - 1):
        alpha = torch.zeros(1, size)
        alpha[0, element] = 1
        exact = oracle.kaf_gradients(
            s.double().numpy(),
            alpha.double().numpy(),
            oracle.equispaced(size, 3.0),
            oracle.Gaussian(gamma),
            np.ones(s.shape),
        )
        value = oracle.kaf(
            s.double().numpy(), alpha.double().numpy(), oracle.equispaced(size, 3.0), oracle.Gaussian(gamma)
        )
        by_s, _ = kernels.backward(formula, torch.ones_like(s), s, alpha, 1, (True, False))
        assert by_s is not None
        # Rounding: of the powers and coefficients, and of where the elements are.
        largest = np.abs(exact.s).max()
        error = np.abs(kernels.forward(formula, s, alpha, 1).double().numpy() - value).max()
        assert error <= 1.5e-8 + 2 * eps
        error = np.abs(by_s.double().numpy() - exact.s).max()
        assert error <= 1.2e-7 * math.sqrt(gamma) + 3 * eps * largest


def test_many_equal_activations_do_not_drift(kernels: native.Kernels) -> None:
    s = torch.full((300_000, 2), 0.3)
    upstream = torch.full_like(s, 0.1)
    _, by_alpha = kernels.backward(gaussian(20, GAMMA), upstream, s, torch.zeros(2, 20), 1, (False, True))
    assert by_alpha is not None
    distance = oracle.equispaced(20, 3.0) - float(torch.tensor(0.3))
    expected = len(s) * float(torch.tensor(0.1)) * np.exp(-GAMMA * distance**2)
    np.testing.assert_allclose(
        by_alpha.numpy(), np.tile(expected, (2, 1)), rtol=0, atol=3e-6 * expected.max()
    )


@pytest.mark.parametrize("shape", [(MANY, 1), (1, 1, MANY), (MANY, 40), (7, 3, 300), (5000, 2)])
def test_threads(kernels: native.Kernels, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a function that all channels share divide its activations."""
    monkeypatch.setattr(native, "_threads", lambda terms: 3)
    check(kernels, torch.randn(shape), torch.randn(shape[1], 20), GAMMA)
