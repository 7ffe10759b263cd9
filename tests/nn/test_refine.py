"""Longer dictionaries in the middle of training."""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import kafnets
from kafnets import KAF, KAF2D, Base, EdgewiseKAF, Gaussian, Normal, Polynomial
from tests.nn.moving import assert_same, mlp, normal, seeded, state

LAYERS: list[Any] = [
    (lambda: seeded(KAF, 6, init="tanh"), 40),
    (lambda: seeded(KAF, 6), 25),
    (lambda: seeded(KAF, init="elu", tails="linear", base=Base("silu", "weighted")), 40),
    (lambda: seeded(KAF, 6, kernel=Gaussian(learn_gamma="neuron"), init="elu"), 40),
    (lambda: seeded(KAF, 6, groups=2, kernel=Gaussian(learn_gamma=True)), 30),
    (lambda: seeded(KAF, 6, kernel=Polynomial(2), init=Normal(0.1)), 30),
    (lambda: seeded(KAF, 6, dictionary=[-3, -2, -1, -0.5, 0, 0.5, 1, 2, 3], kernel=Gaussian(1.0)), 17),
    (lambda: seeded(KAF2D, 6, init="tanh"), 20),
    (lambda: seeded(EdgewiseKAF, 6, 5), 16),
    (lambda: seeded(EdgewiseKAF, 6, 5, tails="constant", dtype=torch.float64), 16),
]


@pytest.mark.parametrize(("make", "size"), LAYERS)
def test_functions_stay_over_their_range(make: Any, size: int) -> None:
    layer = make()
    old = copy.deepcopy(layer)
    (report,) = kafnets.refine(layer, size).layers
    assert layer.dictionary_size == report.size_after == size
    assert report.size_before == old.dictionary_size
    assert layer.alpha.shape[: -layer.expansion.dimensions] == old.alpha.shape[: -layer.expansion.dimensions]
    assert layer.dictionary.shape == (size,)
    assert torch.equal(layer.dictionary[[0, -1]], old.dictionary[[0, -1]])
    assert layer.expansion.factored == old.expansion.factored
    s = (6 * torch.rand(3000, 6, generator=torch.Generator().manual_seed(1)) - 3).to(layer.alpha.dtype)
    before, change = old(s).detach(), (layer(s) - old(s)).detach()
    sums = 6 if isinstance(layer, EdgewiseKAF) else 1
    assert change.abs().max() <= sums * report.largest_error * 1.2 + 1e-4
    assert report.rms_error < 0.01 * float(before.square().mean().sqrt())
    assert isinstance(layer.alpha, nn.Parameter)


def test_tails_go_on_as_they_did() -> None:
    for tails in ("constant", "linear"):
        kaf = seeded(KAF, 4, init="elu", tails=tails)
        s = normal(2000, 4, std=3.0)
        before = kaf(s).detach()
        kafnets.refine(kaf, 40)
        torch.testing.assert_close(kaf(s).detach(), before, rtol=0, atol=0.02)


def test_training_goes_on_with_the_same_optimizer() -> None:
    net, x = mlp(), normal(500, 6, std=1.0)
    target = torch.sin(x[:, :2])
    groups = kafnets.param_groups(net, weight_decay=1e-4, mixing_decay=1e-6)
    optimizer = torch.optim.Adam(groups, lr=1e-3)

    def step() -> float:
        optimizer.zero_grad()
        loss: Tensor = (net(x) - target).square().mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    for _ in range(3):
        step()
    kafnets.calibrate(net, x, optimizer=optimizer)
    old = {name: module.alpha for name, module in net.named_modules() if hasattr(module, "alpha")}
    sizes = [len(group["params"]) for group in optimizer.param_groups]
    before = net(x).detach()
    report = kafnets.refine(net, 24, optimizer)
    assert (net(x).detach() - before).square().mean().sqrt() < 0.05 * before.std()
    assert [layer.name for layer in report.layers] == list(old)
    assert [len(group["params"]) for group in optimizer.param_groups] == sizes
    held = [each for group in optimizer.param_groups for each in group["params"]]
    mixing = next(group for group in optimizer.param_groups if group["name"] == "mixing")
    for name, alpha in old.items():
        new = net.get_submodule(name).alpha
        assert new is not alpha
        assert sum(new is each for each in mixing["params"]) == 1
        assert not any(alpha is each for each in held)
        assert alpha not in optimizer.state
    assert {id(each) for each in held} == {id(each) for each in net.parameters()}
    first = step()
    for _ in range(10):
        step()
    assert step() < first
    assert all(net.get_submodule(name).alpha in optimizer.state for name in old)
    again = torch.optim.Adam(groups, lr=1e-3)
    again.load_state_dict(optimizer.state_dict())


def test_as_many_elements_are_left_alone() -> None:
    net = nn.Sequential(KAF(4, dictionary_size=30), KAF(4))
    alpha = net[0].alpha
    report = kafnets.refine(net, 30)
    assert net[0].alpha is alpha
    assert str(report.layers[0]) == "0 (KAF): 30 elements; unchanged: it already has as many"
    assert str(report).splitlines()[1].startswith("1 (KAF): 20 elements, now 30; functions changed by")


def test_what_is_frozen_stays_frozen() -> None:
    kaf = KAF(4)
    kaf.alpha.requires_grad_(False)
    kafnets.refine(kaf, 30)
    assert not kaf.alpha.requires_grad


@pytest.mark.parametrize(
    ("size", "optimizer", "error", "words"),
    [
        (15, None, ValueError, "dictionary_size must be at least 20, which layer '1' has, got 15"),
        (1, None, ValueError, "dictionary_size must be an integer ≥ 2, got 1"),
        (30.5, None, ValueError, "dictionary_size must be an integer"),
        (2**17, None, ValueError, "dictionary_size must be at most 65536"),
        (40, "Adam", TypeError, r"optimizer must be a torch\.optim\.Optimizer or None, got str"),
        (40, torch.optim.LBFGS([torch.zeros(1)]), ValueError, "optimizer must not be LBFGS"),
    ],
)
def test_errors_leave_the_model_as_it_was(size: Any, optimizer: Any, error: Any, words: str) -> None:
    net = mlp()
    before = state(net)
    with pytest.raises(error, match=words):
        kafnets.refine(net, size, optimizer)
    assert_same(before, state(net))


def test_coefficients_that_are_not_finite() -> None:
    kaf = KAF(4, boundary=30.0)
    with torch.no_grad():
        kaf.alpha[0, 0] = torch.inf
    net = nn.Sequential(KAF(4), kaf)
    before = state(net)
    with pytest.raises(ValueError, match="functions of layer '1' are not finite"):
        kafnets.refine(net)
    with pytest.raises(ValueError, match="functions of layer '1' are not finite"):
        kafnets.calibrate(net, normal(100, 4, std=9.0))
    assert_same(before, state(net))
