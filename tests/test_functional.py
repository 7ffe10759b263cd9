"""KAFs as functions: equal to the modules and to the oracle, and mistakes are named."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import kafnets
from kafnets import (
    KAF,
    KAF2D,
    EdgewiseKAF,
    Expansion,
    Gaussian,
    Kernel,
    Periodic,
    Polynomial,
    Softplus,
    functional,
)
from tests import oracle

KERNELS = [None, Gaussian(0.8), Polynomial(2), Periodic(4.0)]
BACKENDS = ["auto", "portable", "composite"]


def gradients(result: Tensor, leaves: list[Tensor], upstream: Tensor) -> list[np.ndarray[Any, Any]]:
    return [each.numpy() for each in torch.autograd.grad(result, leaves, upstream)]


def normal(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kernel", [*KERNELS, Softplus()], ids=repr)
def test_kaf(kernel: Kernel | None, backend: str) -> None:
    expansion = Expansion.of(kernel=kernel, dictionary_size=7, boundary=2.0)
    x, alpha, upstream = normal(5, 3), normal(3, 7), torch.randn(5, 3, dtype=torch.float64)
    with kafnets.use_backend(backend):
        result = functional.kaf(x, alpha, expansion)
    by_x, by_alpha = gradients(result, [x, alpha], upstream)
    arrays = (
        x.detach().numpy(),
        alpha.detach().numpy(),
        oracle.equispaced(7, 2.0),
        oracle.twin(expansion.kernel),
    )
    wanted = oracle.kaf_gradients(*arrays, upstream.numpy())
    np.testing.assert_allclose(result.detach(), oracle.kaf(*arrays), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(by_x, wanted.s, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(by_alpha, wanted.alpha, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_kaf2d(kernel: Kernel | None, backend: str) -> None:
    expansion = Expansion.of(2, kernel=kernel, dictionary_size=4, boundary=2.0)
    x, alpha, upstream = normal(5, 6), normal(3, 4, 4), torch.randn(5, 3, dtype=torch.float64)
    with kafnets.use_backend(backend):
        result = functional.kaf2d(x, alpha, expansion)
    by_x, by_alpha = gradients(result, [x, alpha], upstream)
    arrays = (
        x.detach().numpy(),
        alpha.detach().numpy(),
        oracle.equispaced(4, 2.0),
        oracle.twin(expansion.kernel),
    )
    wanted = oracle.kaf2d_gradients(*arrays, upstream.numpy())
    np.testing.assert_allclose(result.detach(), oracle.kaf2d(*arrays), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(by_x, wanted.s, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(by_alpha, wanted.alpha, rtol=1e-10, atol=1e-11)


def test_edgewise() -> None:
    expansion = Expansion.of(kernel=Gaussian(2.0), dictionary_size=5, boundary=2.0)
    x, alpha, upstream = normal(2, 5, 4), normal(3, 4, 5), torch.randn(2, 5, 3, dtype=torch.float64)
    result = functional.edgewise(x, alpha, expansion)
    by_x, by_alpha = gradients(result, [x, alpha], upstream)
    arrays = (x.detach().numpy(), alpha.detach().numpy(), oracle.equispaced(5, 2.0), oracle.Gaussian(2.0))
    wanted = oracle.edgewise_kaf_gradients(*arrays, upstream.numpy())
    np.testing.assert_allclose(result.detach(), oracle.edgewise_kaf(*arrays), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(by_x, wanted.s, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(by_alpha, wanted.alpha, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("learn", [True, "neuron"])
@pytest.mark.parametrize("dimensions", [1, 2])
def test_learned_bandwidths(dimensions: int, learn: Any, backend: str) -> None:
    expansion = Expansion.of(dimensions, kernel=Gaussian(0.8, learn), dictionary_size=4, boundary=2.0)
    x, alpha, upstream = normal(5, 3 * dimensions), normal(3, *[4] * dimensions), normal(5, 3).detach()
    gamma = torch.tensor(
        [0.5, 0.9, 1.4] if learn == "neuron" else 0.7, dtype=torch.float64, requires_grad=True
    )
    run = functional.kaf if dimensions == 1 else functional.kaf2d
    with kafnets.use_backend(backend):
        result = run(x, alpha, expansion, gamma=gamma)
    by_x, by_alpha, by_gamma = gradients(result, [x, alpha, gamma], upstream)
    ranked = gamma.detach().numpy().reshape(-1, *[1] * dimensions)
    arrays: Any = (
        x.detach().numpy(),
        alpha.detach().numpy(),
        oracle.equispaced(4, 2.0),
        oracle.Gaussian(ranked),
    )
    exact: Any = (
        (oracle.kaf, oracle.kaf_gradients) if dimensions == 1 else (oracle.kaf2d, oracle.kaf2d_gradients)
    )
    wanted = exact[1](*arrays, upstream.numpy())
    np.testing.assert_allclose(result.detach(), exact[0](*arrays), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(by_x, wanted.s, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(by_alpha, wanted.alpha, rtol=1e-10, atol=1e-11)
    own = wanted.gamma if learn == "neuron" else wanted.gamma.sum()
    np.testing.assert_allclose(by_gamma, own, rtol=1e-10, atol=1e-11)


def test_modules_and_defaults_agree() -> None:
    x = torch.randn(5, 6)
    kaf, kaf2d, edgewise = KAF(6), KAF2D(6), EdgewiseKAF(6, 3)
    with torch.no_grad():
        edgewise.weight.zero_()
        assert torch.equal(functional.kaf(x, kaf.alpha), kaf(x))
        assert torch.equal(functional.kaf(x, kaf.alpha, kaf.expansion), kaf(x))
        assert torch.equal(functional.kaf2d(x, kaf2d.alpha), kaf2d(x))
        torch.testing.assert_close(functional.edgewise(x, edgewise.alpha), edgewise(x))
        shorter = KAF(6, dictionary_size=9)
        assert torch.equal(functional.kaf(x, shorter.alpha), shorter(x))
        learned = KAF(6, kernel=Gaussian(learn_gamma="neuron"))
        gamma = learned.gamma
        assert isinstance(gamma, Tensor)
        torch.testing.assert_close(
            functional.kaf(x, learned.alpha, learned.expansion, gamma=gamma), learned(x)
        )


def test_channel_axes_and_groups() -> None:
    alpha = torch.randn(2, 20)
    x = torch.randn(3, 6, 4)
    together = functional.kaf(x, alpha)
    torch.testing.assert_close(together, functional.kaf(x, alpha.repeat_interleave(3, 0)))
    torch.testing.assert_close(functional.kaf(x.movedim(1, -1), alpha, dim=-1).movedim(-1, 1), together)
    one = functional.kaf(x, alpha[:1])
    torch.testing.assert_close(one, functional.kaf(x, alpha[:1].expand(6, 20)))
    pairs = torch.randn(1, 10, 10)
    torch.testing.assert_close(functional.kaf2d(x, pairs), functional.kaf2d(x, pairs.expand(3, 10, 10)))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_float32(dtype: torch.dtype) -> None:
    x, alpha = torch.randn(5, 6).to(dtype), torch.randn(6, 20).to(dtype)
    assert torch.equal(functional.kaf(x, alpha), functional.kaf(x.float(), alpha.float()).to(dtype))
    connections = torch.randn(3, 6, 8).to(dtype)
    exact = functional.edgewise(x.float(), connections.float()).to(dtype)
    assert torch.equal(functional.edgewise(x, connections), exact)


X = torch.zeros(5, 6)
LEARNED = Expansion.of(kernel=Gaussian(learn_gamma=True))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: functional.kaf(X, torch.zeros(6)),
            ValueError,
            r"alpha must have the shape \(N, D\), got \(6,\)",
        ),
        (
            lambda: functional.kaf2d(X, torch.zeros(3, 5)),
            ValueError,
            r"alpha must have the shape \(P, D, D\)",
        ),
        (lambda: functional.kaf2d(X, torch.zeros(3, 5, 4)), ValueError, r"D = 4 elements, got \(3, 5, 4\)"),
        (
            lambda: functional.kaf(X, torch.zeros(6, 5), Expansion.of()),
            ValueError,
            r"dictionary of D = 20 elements, got \(6, 5\)",
        ),
        (
            lambda: functional.kaf(X, torch.zeros(4, 20)),
            ValueError,
            "each of the 6 channels.*or a divisor.*got 4",
        ),
        (lambda: functional.kaf(X, torch.zeros(0, 20)), ValueError, "each of the 6 channels.*got 0"),
        (lambda: functional.kaf2d(X, torch.zeros(2, 5, 5)), ValueError, "each pair of the 6 channels.*got 2"),
        (lambda: functional.kaf2d(X[:, :5], torch.zeros(2, 5, 5)), ValueError, "each pair of the 5 channels"),
        (
            lambda: functional.kaf(X, torch.zeros(6, 20), dim=2),
            ValueError,
            r"dim must be one of the 2 axes.*got 2",
        ),
        (
            lambda: functional.kaf2d(X, torch.zeros(3, 5, 5), dim=-3),
            ValueError,
            "dim must be one of the 2 axes",
        ),
        (
            lambda: functional.kaf(X.long(), torch.zeros(6, 20)),
            TypeError,
            "x must be a floating-point tensor",
        ),
        (
            lambda: functional.edgewise(X.long(), torch.zeros(2, 6, 5)),
            TypeError,
            "x must be a floating-point",
        ),
        (
            lambda: functional.kaf(X, torch.zeros(6, 20), LEARNED),
            ValueError,
            "needs gamma, its current value",
        ),
        (
            lambda: functional.kaf(X, torch.zeros(6, 20), gamma=torch.ones(())),
            ValueError,
            "has a fixed bandwidth: omit gamma",
        ),
        (
            lambda: functional.kaf(X, torch.zeros(6, 20), LEARNED, gamma=torch.ones(5)),
            ValueError,
            r"one for each of the 6 functions, got the shape \(5,\)",
        ),
        (
            lambda: functional.kaf(X, torch.zeros(6, 10), Expansion.of(2)),
            TypeError,
            "expansion must be a kafnets.Expansion with dimensions=1, got Expansion",
        ),
        (
            lambda: functional.kaf(X, torch.zeros(6, 20), Gaussian()),  # type: ignore[arg-type]
            TypeError,
            "expansion must be a kafnets.Expansion",
        ),
        (
            lambda: functional.edgewise(X, torch.zeros(6, 5)),
            ValueError,
            r"\(out_features, in_features, D\).*\(6, 5\)",
        ),
        (lambda: functional.edgewise(X, torch.zeros(2, 4, 5)), ValueError, r"got \(2, 4, 5\) for \(5, 6\)"),
        (
            lambda: functional.edgewise(X, torch.zeros(2, 6, 20), LEARNED),
            ValueError,
            "must have a fixed gamma here",
        ),
        (
            lambda: functional.edgewise(X, torch.zeros(2, 6, 5), Expansion.of()),
            ValueError,
            r"D = 20.*\(2, 6, 5\)",
        ),
        (lambda: functional.edgewise(X, torch.zeros(2, 6, 10), Expansion.of(2)), TypeError, "dimensions=1"),
        (
            lambda: functional.kaf(X, torch.zeros(6, 20, device="meta")),
            ValueError,
            "x is on cpu but alpha is on meta",
        ),
    ],
)
def test_mistakes_are_named(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()
