"""The description of an expansion: a value, with every choice made."""

import math
import pickle
from typing import Any

import numpy as np
import pytest
import torch

import kafnets
from kafnets import Dictionary, Expansion, Gaussian, Periodic, Polynomial, ReLUKernel, Softplus
from kafnets.expansion import check_coefficients, expansion_for
from tests import oracle


def test_it_is_a_value() -> None:
    one, two = Expansion.of(dictionary_size=7), Expansion.of(dictionary_size=7)
    assert one == two
    assert hash(one) == hash(two)
    assert len({one, two, Expansion.of(dictionary_size=8), Expansion.of(2, dictionary_size=7)}) == 3
    assert one != Expansion.of(dictionary_size=7, boundary=2.0)
    assert one != Expansion.of(dictionary_size=7, kernel=Gaussian(0.1))
    assert pickle.loads(pickle.dumps(one)) == one
    with pytest.raises(AttributeError):
        one.dimensions = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        one.dictionary.values = ()  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        one.dictionary.elements[0] = 1.0


def test_an_explicit_bandwidth_equals_the_rule_of_thumb_that_gives_it() -> None:
    thumb = Expansion.of()
    assert thumb == Expansion.of(kernel=Gaussian(thumb.gamma))
    assert thumb == Expansion.of(kernel=Gaussian(divisor=6.0))
    assert Expansion.of(kernel=thumb.kernel) == thumb


@pytest.mark.parametrize("dimensions", [1, 2])
@pytest.mark.parametrize("divisor", [6.0, 8.0, 1.0])
def test_it_resolves_the_bandwidth(dimensions: int, divisor: float) -> None:
    expansion = Expansion.of(dimensions, dictionary_size=9, boundary=2.0, kernel=Gaussian(divisor=divisor))
    step = oracle.spacing(oracle.equispaced(9, 2.0))
    wanted = oracle.bandwidth_rule_of_thumb(step, dimensions=dimensions, divisor=divisor)
    assert expansion.gamma == pytest.approx(wanted, rel=1e-14)
    assert isinstance(expansion.kernel, Gaussian)
    assert expansion.kernel.gamma == expansion.gamma
    assert Expansion.of(kernel=Polynomial()).gamma is None
    assert Expansion.of(kernel=Gaussian(0.7, "neuron")).gamma == 0.7
    assert Expansion.of(kernel=Gaussian(0.7, "neuron")).learn_gamma == "neuron"


def test_defaults_are_the_papers() -> None:
    assert Expansion.of().shape == (20,)
    assert Expansion.of(2).shape == (10, 10)
    np.testing.assert_array_equal(Expansion.of().dictionary.elements, oracle.equispaced(20, 3.0))
    assert expansion_for((300, 20), 1) == Expansion.of()
    assert expansion_for((5, 10, 10), 2) == Expansion.of(2)


def test_dictionaries() -> None:
    equispaced = Dictionary.equispaced(5, 2.0)
    assert equispaced.values == (-2.0, -1.0, 0.0, 1.0, 2.0)
    assert equispaced.spacing == 1.0
    assert equispaced.is_grid
    assert equispaced == Dictionary.of([-2, -1, 0, 1, 2]) == Dictionary.of(torch.arange(-2.0, 3.0))
    uneven = Dictionary.of([0.0, 1.0, 3.0])
    assert uneven.spacing is None
    assert not uneven.is_grid
    stored = Dictionary.of(np.linspace(-3, 3, 20, dtype=np.float32))
    assert stored.spacing == pytest.approx(6 / 19, rel=1e-6)
    assert not stored.is_grid
    assert Dictionary.equispaced(np.int64(5), 2) == equispaced  # type: ignore[arg-type]


def test_what_is_factored() -> None:
    assert Expansion.of().factored
    assert Expansion.of(kernel=Gaussian(learn_gamma=True)).factored
    assert not Expansion.of(kernel=Polynomial()).factored
    assert not Expansion.of(kernel=Gaussian(1.0), dictionary=[0.0, 1.0, 3.0]).factored


@pytest.mark.parametrize(
    ("build", "error", "words"),
    [
        (lambda: Expansion.of(kernel="gaussian"), TypeError, "kernel must be an instance.*got 'gaussian'"),  # type: ignore[arg-type]
        (lambda: Expansion.of(kernel=Gaussian), TypeError, "kernel must be an instance"),  # type: ignore[arg-type]
        (lambda: Expansion.of(2, kernel=ReLUKernel()), ValueError, "ReLUKernel has no two-dimensional form"),
        (lambda: Expansion.of(2, kernel=Softplus()), ValueError, "Softplus has no two-dimensional form"),
        (lambda: Expansion.of(3, dictionary_size=5), ValueError, "dimensions must be 1 or 2, got 3"),
        (
            lambda: Expansion.of(boundary=1e308),
            ValueError,
            r"boundary must be from 1e-15 to 1e\+15, got 1e\+308",
        ),
        (lambda: Expansion.of(boundary=1e200), ValueError, r"boundary must be from .* got 1e\+200"),
        (lambda: Expansion.of(boundary=1e-160), ValueError, "boundary must be from .* got 1e-160"),
        (lambda: Expansion.of(boundary=math.inf), ValueError, "boundary must be a positive finite number"),
        (
            lambda: Expansion.of(boundary=-1.0),
            ValueError,
            "boundary must be a positive finite number, got -1.0",
        ),
        (lambda: Expansion.of(boundary="3"), TypeError, "boundary must be a positive number, got '3'"),  # type: ignore[arg-type]
        (lambda: Expansion.of(dictionary_size=250_000), ValueError, "dictionary_size must be at most 65536"),
        (
            lambda: Expansion.of(dictionary_size=1),
            ValueError,
            "dictionary_size must be an integer ≥ 2, got 1",
        ),
        (lambda: Expansion.of(dictionary_size=True), ValueError, "dictionary_size must be an integer ≥ 2"),
        (lambda: Dictionary.of([0.0, 0.0]), ValueError, "strictly increasing"),
        (lambda: Dictionary.of([0.0, math.inf]), ValueError, "finite values in strictly increasing"),
        (lambda: Dictionary.of([0.0, 1e200]), ValueError, r"values from -1e\+15 to 1e\+15"),
        (lambda: Dictionary.of([0.0]), ValueError, r"two or more values along one axis, got shape \(1,\)"),
        (lambda: Dictionary.of(np.arange(250_000)), ValueError, "at most 65536 values, got 250000"),
        (
            lambda: Expansion.of(dictionary=[0.0, 1.0, 3.0]),
            ValueError,
            r"not equispaced.*Gaussian\(gamma=1.0\)",
        ),
        (lambda: Periodic(length_scale=-1.0), ValueError, "length_scale must be a positive finite number"),
        (lambda: Gaussian(divisor=0.0), ValueError, "divisor must be a positive finite number, got 0.0"),
        (lambda: Gaussian(math.nan), ValueError, "gamma must be a positive finite number or None, got nan"),
    ],
)
def test_mistakes_are_named(build: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        build()


def test_absurd_sizes_are_refused_before_anything_is_allocated() -> None:
    for layer in (kafnets.KAF, kafnets.KAF2D):
        with pytest.raises(ValueError, match="dictionary_size must be at most 65536, got 250000"):
            layer(4, dictionary_size=250_000)
        with pytest.raises(ValueError, match="boundary must be from"):
            layer(4, boundary=1e308)


@pytest.mark.parametrize("boundary", [1e-15, 1e-6, 1e6, 1e15])
@pytest.mark.parametrize("layer", [kafnets.KAF, kafnets.KAF2D])
@pytest.mark.parametrize("backend", ["auto", "portable", "composite"])
def test_the_largest_and_the_smallest_boundary_work(layer: Any, boundary: float, backend: str) -> None:
    module = layer(4, boundary=boundary)
    s = (torch.randn(50, 4) * boundary).requires_grad_()
    with kafnets.use_backend(backend):
        result = module(s)
        by_s, by_alpha = torch.autograd.grad(result.sum(), [s, module.alpha])
    assert result.isfinite().all()
    assert by_s.isfinite().all()
    assert by_alpha.isfinite().all()
    exact = layer(4, boundary=3.0, dtype=torch.float64)
    with torch.no_grad():
        exact.alpha.copy_(module.alpha)
        wanted = exact(s.double() * (3.0 / boundary))
    torch.testing.assert_close(result.double(), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("boundary", [1e-15, 1e15])
@pytest.mark.parametrize("kernel", [Gaussian(), Gaussian(learn_gamma=True)], ids=repr)
@pytest.mark.parametrize("backend", ["auto", "portable", "composite"])
def test_there_is_nothing_far_outside_whatever_the_boundary(
    boundary: float, kernel: Gaussian, backend: str
) -> None:
    s = torch.tensor([[1e20, -1e30, math.inf, -math.inf]], requires_grad=True)
    for layer in (kafnets.KAF, kafnets.KAF2D):
        module = layer(4, boundary=boundary, kernel=kernel)
        with kafnets.use_backend(backend):
            result = module(s)
            (by_s,) = torch.autograd.grad(result.sum(), s)
        assert (result == 0).all()
        assert (by_s == 0).all()


def test_coefficients_must_fit() -> None:
    check_coefficients(Expansion.of(), (3, 20))
    check_coefficients(Expansion.of(2), (3, 10, 10))
    with pytest.raises(
        ValueError, match=r"shape \(N, D\) with a dictionary of D = 20 elements, got \(3, 19\)"
    ):
        check_coefficients(Expansion.of(), (3, 19))
    with pytest.raises(ValueError, match=r"shape \(P, D, D\) .*got \(3, 10\)"):
        check_coefficients(Expansion.of(2), (3, 10))
