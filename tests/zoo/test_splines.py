"""SAF: starts, ends, bases and its penalty."""

import numpy as np
import pytest
import torch

import kafnets
from kafnets import SAF
from kafnets.ops.fixed_functions import TORCH_FUNCTIONS
from tests.oracle.activations import Basis

BASES: list[Basis] = ["catmull_rom", "b_spline"]


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("target", TORCH_FUNCTIONS)
def test_starts_as_any_fixed_activation(basis: Basis, target: str) -> None:
    saf = SAF(2, init=target, basis=basis, dtype=torch.float64)
    knots = torch.linspace(-2, 2, 21, dtype=torch.float64)[:, None].expand(-1, 2)
    torch.testing.assert_close(saf(knots), TORCH_FUNCTIONS[target](knots))
    between = torch.linspace(-2, 2, 999, dtype=torch.float64)[:, None].expand(-1, 2)
    assert (saf(between) - TORCH_FUNCTIONS[target](between)).abs().max() < 0.03


@pytest.mark.parametrize("basis", BASES)
def test_goes_on_straight_beyond_the_last_knots(basis: Basis) -> None:
    saf = SAF(1, basis=basis, dtype=torch.float64)
    with torch.no_grad():
        saf.q.add_(torch.randn(saf.q.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64))
    for end, beyond in ((2.0, torch.arange(2, 50.0)), (-2.0, -torch.arange(2, 50.0))):
        s = beyond.double()[:, None].requires_grad_()
        result = saf(s)
        assert result.diff(dim=0).diff(dim=0).abs().max() < 1e-9
        (slope,) = torch.autograd.grad(result.sum(), s)
        inside = torch.tensor([[end * (1 - 1e-9)]], dtype=torch.float64, requires_grad=True)
        (slope_inside,) = torch.autograd.grad(saf(inside).sum(), inside)
        torch.testing.assert_close(slope[1:], slope_inside.expand(47, 1), rtol=1e-5, atol=1e-5)


def test_catmull_rom_passes_through_its_knots_and_b_splines_are_smoother() -> None:
    q = torch.randn(1, 21, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    knots = torch.linspace(-2, 2, 21, dtype=torch.float64)[:, None]
    fine = torch.linspace(-2, 2, 4001, dtype=torch.float64)[:, None]
    jumps = {}
    for basis in BASES:
        saf = SAF(1, basis=basis, dtype=torch.float64)
        with torch.no_grad():
            saf.q.copy_(q)
            passes = torch.allclose(saf(knots), q.T)
            curvature = saf(fine).diff(dim=0).diff(dim=0)[:, 0] * 1000**2
        assert passes == (basis == "catmull_rom")
        jumps[basis] = curvature.diff().abs().max().item()
    assert jumps["b_spline"] < 0.1 * jumps["catmull_rom"]  # the second derivative is continuous


def test_penalty_is_the_distance_from_the_start() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), SAF(4), torch.nn.Linear(4, 2), SAF(2))
    assert kafnets.distance_from_start(model).item() == 0
    saf = model[1]
    assert isinstance(saf, SAF)
    with torch.no_grad():
        saf.q[0, 3] += 0.5
    penalty = kafnets.distance_from_start(model)
    assert penalty.item() == pytest.approx(0.25)
    penalty.backward()
    assert saf.q.grad is not None
    assert saf.q.grad[0, 3].item() == pytest.approx(1.0)
    assert kafnets.distance_from_start(torch.nn.Linear(2, 2)).item() == 0


def test_the_start_is_stored_with_the_weights() -> None:
    learned, other = SAF(3, init="relu"), SAF(3)
    other.load_state_dict(learned.state_dict())
    torch.testing.assert_close(other.start, learned.start)


def test_knots_are_not_loaded_into_another_curve() -> None:
    stored = SAF(3, boundary=5.0, basis="b_spline").state_dict()
    with pytest.raises(
        RuntimeError, match=r"q was stored for boundary=5, basis='b_spline', but this module was"
    ):
        SAF(3).load_state_dict(stored)


def test_autocast_does_not_round_the_curve() -> None:
    saf, s = SAF(6), torch.randn(50, 6, generator=torch.Generator().manual_seed(0)) * 2
    with torch.autocast("cpu", torch.bfloat16):
        result = saf(s)
    torch.testing.assert_close(result, saf(s))


def test_far_away_its_gradients_are_finite() -> None:
    saf = SAF(2)
    saf(torch.tensor([[1e20, -1e20]])).sum().backward()
    assert saf.q.grad is not None
    assert saf.q.grad.isfinite().all()
    assert saf(torch.tensor([[float("inf"), -float("inf")]])).isinf().all()


def test_few_knots() -> None:
    saf = SAF(1, knots=2, init="identity", dtype=torch.float64)
    s = torch.linspace(-5, 5, 31, dtype=torch.float64)[:, None]
    np.testing.assert_allclose(saf(s).detach(), s, atol=1e-12)


def test_arguments_are_checked() -> None:
    with pytest.raises(ValueError, match="knots must be an integer ≥ 2, got 1"):
        SAF(3, knots=1)
    with pytest.raises(ValueError, match="basis must be 'catmull_rom' or 'b_spline', got 'bezier'"):
        SAF(3, basis="bezier")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="init 'sin' is not known: give one of elu"):
        SAF(3, init="sin")
    with pytest.raises(ValueError, match="boundary must be positive, got 0"):
        SAF(3, boundary=0)
