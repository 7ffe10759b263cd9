"""Kernels: what they refuse, and kernels of users' own."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

import kafnets
from kafnets import KAF, KAF2D, EdgewiseKAF, Kernel, functional
from kafnets.arrays.library import NUMPY
from tests import oracle
from tests.nn.derivatives import check_derivatives

BACKENDS = ["auto", "portable", "composite"]
OURS = [
    kafnets.Gaussian(0.7),
    kafnets.Polynomial(3),
    kafnets.ReLUKernel(),
    kafnets.Softplus(),
    kafnets.Periodic(),
]


@dataclass(frozen=True)
class Cauchy(Kernel):
    """Only its value is known."""

    width: float = 1.0

    def value(self, xp: Any, s: Any, d: Any) -> Any:
        return 1.0 / (1.0 + ((s - d) / self.width) ** 2)


@dataclass(frozen=True)
class Joint(Kernel):
    """A kernel that is no product over the axes."""

    def value(self, xp: Any, s: Any, d: Any) -> Any:
        return xp.tanh(s * d)

    def value2d(self, xp: Any, s1: Any, s2: Any, d1: Any, d2: Any) -> Any:
        return xp.tanh(s1 * d1 + s2 * d2)


each_backend = pytest.mark.parametrize("backend", BACKENDS)


@each_backend
@pytest.mark.parametrize("kernel", [Cauchy(0.8), Joint()], ids=repr)
def test_a_kernel_of_ones_own_has_all_derivatives(backend: str, kernel: Kernel) -> None:
    with kafnets.use_backend(backend):
        check_derivatives(KAF(2, dictionary_size=5, kernel=kernel, dtype=torch.float64))
        check_derivatives(KAF2D(2, dictionary_size=3, kernel=kernel, dtype=torch.float64))


@each_backend
def test_a_kernel_of_ones_own_gives_what_it_says(backend: str) -> None:
    kernel = Cauchy(0.8)
    grid = oracle.equispaced(5, 2.0)
    s = torch.randn(4, 2, 3, dtype=torch.float64)
    kaf = KAF(2, dictionary_size=5, boundary=2.0, kernel=kernel, dtype=torch.float64)
    rows = s.movedim(1, -1).numpy()
    with kafnets.use_backend(backend):
        result = kaf(s).detach().movedim(1, -1).numpy()
    wanted = (kaf.alpha.detach().numpy() / (1 + ((rows[..., None] - grid) / 0.8) ** 2)).sum(-1)
    np.testing.assert_allclose(result, wanted, rtol=1e-12)

    pairs = KAF2D(2, dictionary_size=5, boundary=2.0, kernel=kernel, dtype=torch.float64)
    along = 1 / (1 + ((rows[..., None] - grid) / 0.8) ** 2)
    wanted = np.einsum("bli,blj,ij->bl", along[:, :, 0], along[:, :, 1], pairs.alpha.detach().numpy()[0])
    with kafnets.use_backend(backend):
        np.testing.assert_allclose(pairs(s)[:, 0].detach(), wanted, rtol=1e-12)


def test_a_kernel_of_ones_own_starts_trains_and_is_compiled() -> None:
    kaf = KAF(3, kernel=Cauchy(), init="tanh", dtype=torch.float64)
    places = torch.linspace(-2, 2, 41, dtype=torch.float64)[:, None].repeat(1, 3)
    assert (kaf(places) - torch.tanh(places)).abs().max() < 2e-2
    torch._dynamo.reset()
    compiled = torch.compile(kaf, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(places), kaf(places))
    torch.testing.assert_close(
        torch.func.vmap(torch.func.jacrev(lambda s: kaf(s[None])[0]))(places[:3]),
        torch.func.vmap(torch.func.jacfwd(lambda s: kaf(s[None])[0]))(places[:3]),
    )
    assert EdgewiseKAF(3, 2, kernel=Cauchy())(torch.randn(4, 3)).shape == (4, 2)
    expansion = kafnets.Expansion.of(kernel=Cauchy())
    assert functional.kaf(torch.randn(4, 3), torch.randn(3, 20), expansion).shape == (4, 3)


@pytest.mark.parametrize("kernel", OURS, ids=repr)
def test_values_and_slopes_over_numpy_are_the_oracles(kernel: Kernel) -> None:
    s, d = np.linspace(-4, 4, 33)[:, None] + 0.013, np.linspace(-3, 3, 7)
    exact = oracle.twin(kernel)
    np.testing.assert_allclose(kernel.value(NUMPY, s, d), exact.value(s, d), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(kernel.slope(NUMPY, s, d), exact.derivative(s, d), rtol=1e-12, atol=1e-15)
    if kernel.refusal_2d is None:
        four = s, s[::-1], d, d[::-1]
        np.testing.assert_allclose(kernel.value2d(NUMPY, *four), exact.value2d(*four), rtol=1e-12, atol=1e-15)
        for own, right in zip(kernel.slopes2d(NUMPY, *four), exact.derivatives2d(*four), strict=True):
            np.testing.assert_allclose(own, right, rtol=1e-12, atol=1e-15)


def test_numpy_does_not_differentiate() -> None:
    with pytest.raises(
        NotImplementedError, match="numpy has no automatic differentiation: define the kernel's method slope"
    ):
        Cauchy().slope(NUMPY, np.zeros(3), 0.0)


def test_kernels_are_values() -> None:
    assert kafnets.Gaussian(0.7) == kafnets.Gaussian(0.7)
    assert len({kafnets.Polynomial(2), kafnets.Polynomial(2), kafnets.Polynomial(3)}) == 2
    assert [kernel.positive_definite for kernel in OURS] == [True, True, False, False, True]
    with pytest.raises(AttributeError):
        kafnets.Gaussian(0.7).gamma = 2.0  # type: ignore[misc]
