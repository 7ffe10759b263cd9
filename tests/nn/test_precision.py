"""Half precision: functions stay what they are, and only inputs and outputs are rounded."""

import copy
from typing import Any

import pytest
import torch
from torch import nn

import kafnets
from kafnets import KAF, KAF2D, EdgewiseKAF, Gaussian

HALF = [torch.float16, torch.bfloat16]
ROUNDINGS = 2.0
"""How many units in the last place a result may be wrong by: one is for storing it."""

each_dtype = pytest.mark.parametrize("dtype", HALF)


def converted(module: nn.Module, dtype: torch.dtype, by_name: bool) -> nn.Module:
    if by_name:
        return module.half() if dtype is torch.float16 else module.bfloat16()
    return module.to(dtype)


@each_dtype
@pytest.mark.parametrize("by_name", [True, False])
@pytest.mark.parametrize("layer", [KAF, KAF2D])
def test_the_function_stays_what_it_is(layer: Any, dtype: torch.dtype, by_name: bool) -> None:
    exact = layer(64, init="elu", dtype=torch.float64)
    s = torch.linspace(-3, 3, 400)[:, None].expand(-1, 64).to(dtype)
    wanted = exact(s.double())
    result = converted(copy.deepcopy(exact), dtype, by_name)(s)
    assert result.dtype == dtype
    error = (result.double() - wanted).abs()
    assert (error <= ROUNDINGS * torch.finfo(dtype).eps * wanted.abs().clamp_min(0.05)).all()


@each_dtype
def test_coefficients_and_bandwidths_stay_in_float32(dtype: torch.dtype) -> None:
    for learn in (False, True, "neuron"):
        kernel = Gaussian(learn_gamma=learn)
        for module in (KAF(4, kernel=kernel, dtype=dtype), KAF(4, kernel=kernel).to(dtype)):
            assert all(parameter.dtype == torch.float32 for parameter in module.parameters())
            assert module.dictionary.dtype == torch.float32
            s = torch.randn(3, 4).to(dtype).requires_grad_()
            module(s).float().sum().backward()
            assert s.grad is not None
            assert s.grad.dtype == dtype
            assert all(parameter.grad.dtype == torch.float32 for parameter in module.parameters())  # type: ignore[union-attr]


def test_a_network_in_half_precision_trains() -> None:
    network = nn.Sequential(nn.Linear(3, 8), KAF(8), nn.Linear(8, 1)).to(torch.bfloat16)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
    before = copy.deepcopy(network.state_dict())
    network(torch.randn(16, 3, dtype=torch.bfloat16)).square().mean().backward()
    optimizer.step()
    assert all(
        not torch.equal(before[key], value) for key, value in network.state_dict().items() if "bias" in key
    )
    assert not torch.equal(before["1.alpha"], network.state_dict()["1.alpha"])


@each_dtype
@pytest.mark.parametrize(
    "build",
    [
        lambda: KAF(6, init="elu"),
        lambda: KAF(6, kernel=Gaussian(learn_gamma="neuron")),
        lambda: KAF2D(6),
    ],
)
def test_there_and_back_changes_nothing(build: Any, dtype: torch.dtype) -> None:
    module, s = build(), torch.randn(5, 6)
    before, wanted = copy.deepcopy(module.state_dict()), module(s)
    halved = copy.deepcopy(module.to(dtype))
    other = build().to(dtype)
    other.load_state_dict(halved.state_dict())
    torch.testing.assert_close(other(s.to(dtype)), halved(s.to(dtype)), rtol=0, atol=0)
    back = halved.float()
    for key, value in back.state_dict().items():
        assert torch.equal(value, before[key])
        assert value.dtype == before[key].dtype
    torch.testing.assert_close(back(s), wanted, rtol=0, atol=0)
    whole = build()
    whole.load_state_dict(other.state_dict())
    torch.testing.assert_close(whole(s), wanted, rtol=0, atol=0)


@each_dtype
def test_connections_are_added_up_in_float32(dtype: torch.dtype) -> None:
    """Half of them add a thousand and half of them take it away: float16 ends at 65504."""
    layer = EdgewiseKAF(400, 2, dtype=torch.float64)
    signs = torch.where(torch.arange(400) < 200, 1000.0, -1000.0)
    with torch.no_grad():
        layer.alpha.add_(signs[:, None])
        layer.weight.copy_(signs)
    halved = copy.deepcopy(layer).to(dtype)
    stored = copy.deepcopy(halved).double()
    s = torch.full((3, 400), 0.7, dtype=dtype) * torch.tensor([[1.0], [0.0], [-1.5]], dtype=dtype)
    wanted = stored(s.double())
    result = halved(s)
    assert result.dtype == dtype
    assert result.isfinite().all()
    parts = torch.finfo(torch.float32).eps * 400 * 1000  # what float32 may lose of them
    error = (result.double() - wanted).abs()
    assert (error <= 2 * torch.finfo(dtype).eps * wanted.abs() + parts).all()


@each_dtype
def test_connections_in_half_precision_are_near_rounding(dtype: torch.dtype) -> None:
    layer = EdgewiseKAF(64, 16).to(dtype)
    s = torch.randn(50, 64).to(dtype)
    wanted = copy.deepcopy(layer).double()(s.double())
    error = (layer(s).double() - wanted).abs()
    assert (error <= 2 * torch.finfo(dtype).eps * wanted.abs().clamp_min(0.01)).all()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.testing.assert_close(layer(s), layer(s))
        assert layer(s).dtype == dtype


def test_connections_keep_their_dictionary() -> None:
    layer = EdgewiseKAF(4, 3)
    before = layer.dictionary.clone()
    assert torch.equal(layer.half().float().dictionary, before)
    assert torch.equal(
        layer.to(torch.bfloat16).double().dictionary, EdgewiseKAF(4, 3, dtype=torch.float64).dictionary
    )


def test_connections_refuse_another_dictionary() -> None:
    stored = EdgewiseKAF(4, 3, boundary=1.0).state_dict()
    with pytest.raises(RuntimeError, match=r"dictionary was stored with values from -1 to 1.*from -3 to 3"):
        EdgewiseKAF(4, 3).load_state_dict(stored)
    network = nn.Sequential(nn.Linear(2, 4), EdgewiseKAF(4, 3, boundary=1.0))
    with pytest.raises(RuntimeError, match=r"1\.dictionary was stored"):
        nn.Sequential(nn.Linear(2, 4), EdgewiseKAF(4, 3)).load_state_dict(network.state_dict())
    again = EdgewiseKAF(4, 3, boundary=1.0)
    again.load_state_dict(stored)
    kafnets.EdgewiseKAF(4, 3, boundary=1.0).half().load_state_dict(stored)
