"""Layers with their own linear maps."""

import functools
import math

import pytest
import torch
from torch import nn

import kafnets
from kafnets import LpMaxout, LpUnit, Maxout, SoftMaxout

LAYERS = ["maxout", "soft_maxout", "lp_maxout", "lp_unit"]


def test_the_lp_unit_tends_to_the_largest_absolute_value() -> None:
    unit = LpUnit(5, 7, pieces=4).double()
    h = torch.randn(30, 5, dtype=torch.float64)
    largest = unit.linear(h).unflatten(1, (7, 4)).abs().amax(-1)
    errors = []
    for p in (2.0, 10.0, 100.0, 1e4, 1e6):
        with torch.no_grad():
            unit.rho.fill_(p - 1)  # softplus(x) is x for large x
        errors.append((unit(h) - largest).abs().max().item())
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-4


def test_p_is_at_least_one_whatever_is_learned() -> None:
    unit = LpUnit(2, 3)
    assert unit.p.detach().tolist() == pytest.approx([2.0] * 3)
    with torch.no_grad():
        unit.rho.copy_(torch.tensor([-100.0, 0.0, 100.0]))
    assert unit.p.detach().tolist() == pytest.approx([1.0, 1 + math.log(2), 101.0])


def test_soft_maxout_lies_above_maxout_by_log_k_at_most() -> None:
    hard, soft = Maxout(4, 6, pieces=5), SoftMaxout(4, 6, pieces=5)
    soft.load_state_dict(hard.state_dict())
    h = torch.randn(50, 4) * 100
    above = soft(h) - hard(h)
    assert above.min() >= -1e-4
    assert above.max() <= math.log(5) + 1e-4


@pytest.mark.parametrize("p", [1, 2, 3, 50])
def test_high_powers_do_not_overflow_and_zero_has_a_gradient(p: int) -> None:
    layer = LpMaxout(3, 2, pieces=3, p=p)
    h = torch.full((4, 3), 1e6, requires_grad=True)
    layer(h).sum().backward()
    assert h.grad is not None
    assert h.grad.isfinite().all()
    for nothing in (LpMaxout(3, 2, p=p), LpUnit(3, 2)):
        linear = nothing.linear
        assert isinstance(linear, nn.Linear)
        nn.init.zeros_(linear.bias)
        zero = torch.zeros(4, 3, requires_grad=True)
        result = nothing(zero)
        result.sum().backward()
        assert result.abs().max() < 1e-15
        assert zero.grad is not None
        assert zero.grad.isfinite().all()
        assert all(each.grad is not None and each.grad.isfinite().all() for each in nothing.parameters())


@pytest.mark.parametrize("name", LAYERS)
def test_convolutions(name: str) -> None:
    """The same as the dense layer at every position, for kernels of size 1."""
    dense = kafnets.create(name, 5, in_features=3).double()
    maps = kafnets.create(name, 5, in_features=3, linear=functools.partial(nn.Conv2d, kernel_size=1)).double()
    state = dense.state_dict()
    state["linear.weight"] = state["linear.weight"][:, :, None, None]
    maps.load_state_dict(state)
    x = torch.randn(2, 3, 4, 6, dtype=torch.float64)
    torch.testing.assert_close(maps(x), dense(x.movedim(1, -1)).movedim(-1, 1))
    wide = kafnets.create(
        name, 5, in_features=3, linear=functools.partial(nn.Conv1d, kernel_size=3, padding=1)
    )
    assert wide(torch.randn(2, 3, 9)).shape == (2, 5, 9)


def test_images_without_a_batch() -> None:
    layer = kafnets.create(
        "maxout", 4, in_features=3, linear=functools.partial(nn.Conv2d, kernel_size=3, padding=1)
    )
    image = torch.randn(3, 12, 8)
    torch.testing.assert_close(layer(image), layer(image[None])[0])


def test_arguments_are_checked() -> None:
    with pytest.raises(ValueError, match="pieces must be an integer ≥ 1, got 0"):
        Maxout(3, 4, pieces=0)
    with pytest.raises(ValueError, match="in_features must be an integer ≥ 1, got 0"):
        Maxout(0, 4)
    with pytest.raises(ValueError, match=r"p must be an integer ≥ 1, got 1\.5"):
        LpMaxout(3, 4, p=1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="maxout: missing a required argument: 'in_features'"):
        kafnets.create("maxout", 5)
