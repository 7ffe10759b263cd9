"""Random and ridge starts of the mixing coefficients."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from kafnets import (
    KAF,
    KAF2D,
    Gaussian,
    Kernel,
    Normal,
    Periodic,
    Polynomial,
    ReLUKernel,
    Ridge,
    Softplus,
)
from kafnets.ops.fixed_functions import TORCH_FUNCTIONS
from tests import oracle


@pytest.mark.parametrize("name", ["tanh", "elu"])
def test_ridge_follows_its_target_within_the_error_of_the_algebra(name: str) -> None:
    """At the dictionary (K + eps I) alpha = t, so the KAF misses the target there by exactly eps * alpha."""
    kaf = KAF(2, init=Ridge(name, eps=1e-6), dtype=torch.float64)
    d = kaf.dictionary
    at_dictionary = kaf(d.unsqueeze(1).expand(-1, 2))
    target = TORCH_FUNCTIONS[name](d).unsqueeze(1).expand(-1, 2)
    torch.testing.assert_close(target - at_dictionary, 1e-6 * kaf.alpha.T, rtol=1e-6, atol=1e-12)
    # Between the elements it interpolates, most loosely in the outermost gaps.
    s = torch.linspace(-3, 3, 1001, dtype=torch.float64).unsqueeze(1).expand(-1, 2)
    error = (kaf(s) - TORCH_FUNCTIONS[name](s)).abs()
    assert error.max() < 2e-2
    assert error[(s.abs() < 2)].max() < 2e-3


@pytest.mark.parametrize("kernel", [Polynomial(3), ReLUKernel(), Softplus(), Periodic(period=9.0)], ids=repr)
def test_ridge_works_with_every_kernel(kernel: Kernel) -> None:
    kaf = KAF(1, kernel=kernel, init=Ridge("sigmoid"), dtype=torch.float64)
    s = kaf.dictionary[1:].unsqueeze(1)
    assert (kaf(s) - torch.sigmoid(s)).abs().max() < 0.06
    if not kernel.positive_definite:  # the paper's formula would give astronomical coefficients
        assert kaf.alpha.abs().max() < 1e3


def test_ridge_takes_functions() -> None:
    by_name = KAF(3, init=Ridge("elu"))
    for function in (nn.ELU(), torch.nn.functional.elu, lambda s: torch.where(s > 0, s, torch.expm1(s))):
        torch.testing.assert_close(KAF(3, init=Ridge(function)).alpha, by_name.alpha)
    by_numpy = KAF(3, init=Ridge(np.tanh))
    torch.testing.assert_close(by_numpy.alpha, KAF(3, init=Ridge("tanh")).alpha)


def test_ridge_in_two_dimensions() -> None:
    def product(first: Tensor, second: Tensor) -> Tensor:
        return first * torch.tanh(second)

    kaf = KAF2D(4, init=Ridge(product), dtype=torch.float64)
    d = kaf.dictionary
    first, second = torch.meshgrid(d, d, indexing="ij")
    pairs = torch.stack([first, second, first, second], dim=-1)
    result = KAF2D(4, dim=-1, init=Ridge(product), dtype=torch.float64)(pairs)
    torch.testing.assert_close(result[..., 0], product(first, second), rtol=0, atol=1e-4)
    torch.testing.assert_close(result[..., 1], result[..., 0])

    named = KAF2D(4, dim=-1, init="elu", dtype=torch.float64)(pairs)[..., 0]
    elu = torch.nn.functional.elu
    torch.testing.assert_close(named, (elu(first) + elu(second)) / 2, rtol=0, atol=1e-4)


def test_ridge_solves_in_float64_whatever_the_module_is() -> None:
    half = KAF(1, init="tanh", dtype=torch.bfloat16)
    exact = KAF(1, init="tanh", dtype=torch.float64)
    assert torch.equal(half.alpha, exact.alpha.to(torch.float32))


def test_some_neurons_follow_a_target_while_others_stay_random() -> None:
    kaf = KAF(5, init=["tanh", Normal(), Ridge("elu"), Normal(), "tanh"])
    tanh, elu = KAF(1, init="tanh").alpha[0], KAF(1, init="elu").alpha[0]
    assert torch.equal(kaf.alpha[0], tanh)
    assert torch.equal(kaf.alpha[4], tanh)
    assert torch.equal(kaf.alpha[2], elu)
    assert not torch.equal(kaf.alpha[1], kaf.alpha[3])
    pairs = KAF2D(4, init=["relu", Normal(0.0)])
    assert (pairs.alpha[1] == 0).all()
    assert (pairs.alpha[0] != 0).any()


def test_ridge_uses_the_bandwidth_the_module_uses() -> None:
    kaf = KAF(1, kernel=Gaussian(0.8, learn_gamma=True), init="tanh", dtype=torch.float64)
    grid = oracle.equispaced(20, 3.0)
    matrix = oracle.kernel_matrix(grid, oracle.Gaussian(0.8))
    expected = oracle.kernel_ridge(matrix, np.tanh(grid), 1e-6)
    np.testing.assert_allclose(kaf.alpha.detach().numpy()[0], expected, rtol=1e-8)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Ridge("tahn"), "target 'tahn' is not known: give one of elu,.*or a function"),
        (lambda: Ridge("tanh", eps=0.0), "eps must be a positive finite number, got 0.0"),
        (lambda: Normal(-1.0), "std must be a finite number ≥ 0, got -1.0"),
        (lambda: KAF(2, init=Ridge(torch.log)), "finite value for each.*10 values that are not finite"),
        (lambda: KAF(2, init=Ridge(torch.sum)), r"of shape \(20,\), got shape \(\)"),
    ],
)
def test_errors_say_what_would_work(build, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=words):
        build()


def test_normal_is_the_papers_by_default() -> None:
    assert Normal().std == math.sqrt(0.3)
