"""What is KAF2D's own."""

import math
from typing import Any

import pytest
import torch

import kafnets
from kafnets import KAF2D, Gaussian, Periodic, Polynomial, ReLUKernel, Softplus
from tests.nn.derivatives import check_derivatives

KERNELS = [Gaussian(), Gaussian(learn_gamma="neuron"), Polynomial(3), Periodic()]


def test_pairs_are_neighbors_and_rows_weigh_the_first_value() -> None:
    kaf = KAF2D(4, dictionary=[0.0, 10.0], kernel=Gaussian(1.0), dtype=torch.float64)
    with torch.no_grad():
        kaf.alpha.copy_(torch.tensor([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]))
    result = kaf(torch.tensor([[0.0, 10.0, 10.0, 0.0]], dtype=torch.float64))
    torch.testing.assert_close(result, torch.tensor([[2.0, 7.0]], dtype=torch.float64))


def test_a_bandwidth_per_pair_can_be_learned() -> None:
    assert KAF2D(4, kernel=Gaussian(learn_gamma="neuron")).log_gamma.shape == (2,)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: KAF2D(5), "num_features must be even.*got 5"),
        (lambda: KAF2D(4, kernel=ReLUKernel()), "ReLUKernel has no two-dimensional form.*Use Gaussian"),
        (lambda: KAF2D(4, kernel=Softplus()), "Softplus has no two-dimensional form"),
    ],
)
def test_constructor_errors_say_what_would_work(build: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        build()


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_nan_and_infinity(kernel: kafnets.Kernel) -> None:
    kaf = KAF2D(2, kernel=kernel, dtype=torch.float64)
    assert kaf(torch.tensor([[math.nan, 0.5]], dtype=torch.float64)).isnan().all()
    s = torch.tensor([[math.inf, 0.5], [0.5, -math.inf]], dtype=torch.float64, requires_grad=True)
    result = kaf(s)
    if isinstance(kernel, Gaussian):
        result.sum().backward()
        assert (result == 0).all()
        assert torch.equal(s.grad, torch.zeros_like(s))  # type: ignore[arg-type]
        assert not kaf.alpha.grad.isnan().any()  # type: ignore[union-attr]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_first_and_second_derivatives(kernel: kafnets.Kernel) -> None:
    check_derivatives(KAF2D(2, dictionary_size=3, kernel=kernel, dtype=torch.float64))
