"""Penalties on mixing coefficients, and what decays."""

from typing import Any

import pytest
import torch
from torch import nn

import kafnets
from kafnets import KAF, KAF2D, Gaussian, param_groups, penalty


def model() -> nn.Module:
    return nn.Sequential(
        nn.Conv1d(3, 6, 1),
        nn.BatchNorm1d(6),
        KAF(6, kernel=Gaussian(learn_gamma="neuron")),
        nn.Flatten(),
        nn.Sequential(nn.Linear(12, 4), KAF2D(4), nn.PReLU(2)),
        nn.Linear(2, 1),
    )


def test_penalty_sums_over_the_model() -> None:
    net = model()
    first, second = net[2].alpha, net[4][1].alpha  # type: ignore[index]
    torch.testing.assert_close(penalty(net), first.abs().sum() + second.abs().sum())
    torch.testing.assert_close(penalty(net, 2), first.square().sum() + second.square().sum())
    groups = sum(row.square().sum().sqrt() for row in [*first, *second])
    torch.testing.assert_close(penalty(net, 2, group=True), groups)
    assert penalty(nn.Linear(3, 2)) == 0


def test_penalty_counts_shared_modules_once() -> None:
    shared = KAF(3)
    net = nn.Sequential(shared, nn.Linear(3, 3), shared)
    torch.testing.assert_close(penalty(net), shared.alpha.abs().sum())


def test_penalty_has_gradients_even_for_a_neuron_that_is_off() -> None:
    kaf = KAF(3)
    with torch.no_grad():
        kaf.alpha[1] = 0.0
    penalty(kaf, 2, group=True).backward()
    assert kaf.alpha.grad is not None
    assert kaf.alpha.grad.isfinite().all()
    assert (kaf.alpha.grad[1] == 0).all()
    torch.testing.assert_close(kaf.alpha.grad[0], (kaf.alpha[0] / kaf.alpha[0].norm()).detach())


def test_group_penalty_switches_useless_neurons_off() -> None:
    torch.manual_seed(0)
    kaf, readout = KAF(8), nn.Linear(8, 1)
    s = torch.randn(256, 8)
    target = torch.sin(2 * s[:, :1])
    optimizer = torch.optim.Adam([*kaf.parameters(), *readout.parameters()], lr=0.02)
    for _ in range(300):
        optimizer.zero_grad()
        loss = (readout(kaf(s)) - target).square().mean() + 0.01 * penalty(kaf, 2, group=True)
        loss.backward()
        optimizer.step()
    norms = kaf.alpha.norm(dim=1)
    assert norms[1:].max() < 0.1 * norms[0]


def test_param_groups_split_every_parameter_once() -> None:
    net = model()
    groups = {group["name"]: group for group in param_groups(net, weight_decay=1e-4, mixing_decay=1e-3)}
    assert {name: group["weight_decay"] for name, group in groups.items()} == {
        "weights": 1e-4,
        "mixing": 1e-3,
        "undecayed": 0.0,
    }
    names = {id(parameter): name for name, parameter in net.named_parameters()}
    members = {name: [names[id(p)] for p in group["params"]] for name, group in groups.items()}
    assert members == {
        "weights": ["0.weight", "4.0.weight", "5.weight"],
        "mixing": ["2.alpha", "4.1.alpha"],
        "undecayed": [
            "0.bias",
            "1.weight",
            "1.bias",
            "2.log_gamma",
            "4.0.bias",
            "4.2.weight",
            "5.bias",
        ],
    }
    torch.optim.AdamW(list(groups.values()))


def test_param_groups_leave_out_what_is_frozen_and_what_is_empty() -> None:
    net = nn.Sequential(nn.Linear(3, 3, bias=False), KAF(3))
    net[1].requires_grad_(False)
    (group,) = param_groups(net, weight_decay=0.1)
    assert group["name"] == "weights"
    (group,) = param_groups(KAF(3), weight_decay=0.1)
    assert group["weight_decay"] == 0.1


def test_a_module_of_ones_own_can_declare_its_parameters() -> None:
    class Mine(nn.Module):
        mixing_parameters = ("coefficients",)
        undecayed_parameters = ("slopes",)

        def __init__(self) -> None:
            super().__init__()
            self.coefficients = nn.Parameter(torch.ones(2, 3))
            self.slopes = nn.Parameter(torch.ones(2, 3))

    assert penalty(Mine()) == 6
    assert [group["name"] for group in param_groups(Mine(), weight_decay=1.0)] == ["mixing", "undecayed"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: penalty(KAF(2), 3), "p must be 1 or 2, got 3"),
        (lambda: penalty(KAF(2), 1, group=True), "group=True needs p=2"),
        (lambda: param_groups(KAF(2), weight_decay=-1.0), "weight_decay must be a number ≥ 0, got -1.0"),
        (lambda: param_groups(KAF(2), weight_decay=0.0, mixing_decay=-1.0), "mixing_decay must be"),
    ],
)
def test_errors_say_what_would_work(call, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=words):
        call()


def groups_of(net: nn.Module, **options: Any) -> dict[str, dict[str, Any]]:
    return {group["name"]: group for group in param_groups(net, weight_decay=0.1, **options)}


def test_rates_of_activations() -> None:
    net = model()
    net.append(kafnets.PReLU(1))  # type: ignore[operator]
    net.append(KAF(1, base=kafnets.Base("silu", "weighted")))  # type: ignore[operator]
    groups = groups_of(net, mixing_decay=0.2, lr=0.01, activation_lr=5.0)
    assert list(groups) == ["weights", "mixing", "undecayed", "activations"]
    assert {name: group["lr"] for name, group in groups.items()} == pytest.approx(
        {"weights": 0.01, "mixing": 0.05, "undecayed": 0.01, "activations": 0.05}
    )
    assert [group["weight_decay"] for group in groups.values()] == [0.1, 0.2, 0.0, 0.0]
    names = {parameter: name for name, parameter in net.named_parameters()}
    found = {group: [names[each] for each in groups[group]["params"]] for group in groups}
    assert found["mixing"] == ["2.alpha", "4.1.alpha", "7.alpha"]
    assert found["activations"] == ["2.log_gamma", "6.weight", "7.base_weight"]
    assert "4.2.weight" in found["undecayed"]  # torch's own PReLU
    assert sorted(name for group in found.values() for name in group) == sorted(names.values())


def test_rates_of_layers_with_maps_of_their_own() -> None:
    net = nn.Sequential(kafnets.LpUnit(3, 4), kafnets.NetworkInNetwork(4), kafnets.EdgewiseKAF(4, 2))
    names = {parameter: name for name, parameter in net.named_parameters()}
    found = {
        name: [names[each] for each in group["params"]]
        for name, group in groups_of(net, lr=1.0, activation_lr=2.0).items()
    }
    assert "0.linear.weight" in found["weights"]
    assert "0.linear.bias" in found["undecayed"]
    assert "0.rho" in found["activations"]
    assert {name.split(".")[0] for name in found["activation_weights"]} == {"1"}
    assert found["mixing"] == ["2.alpha"]
    assert {"2.weight"} <= set(found["weights"])
    assert "2.bias" in found["undecayed"]


def test_a_factor_of_1_changes_nothing() -> None:
    net = model()
    plain = param_groups(net, weight_decay=0.1)
    assert [sorted(group) for group in plain] == [["name", "params", "weight_decay"]] * 3
    for group, given in zip(plain, param_groups(net, weight_decay=0.1, lr=0.3), strict=True):
        assert group | {"lr": 0.3} == given


def test_schedulers_keep_the_ratio_of_rates() -> None:
    groups = param_groups(model(), weight_decay=0.0, lr=0.1, activation_lr=0.5)
    optimizer = torch.optim.SGD(groups, lr=9.0)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.1)
    optimizer.step()
    scheduler.step()
    rates = {group["name"]: group["lr"] for group in optimizer.param_groups}
    assert rates["mixing"] == pytest.approx(0.005)
    assert rates["weights"] == pytest.approx(0.01)


def test_rates_are_checked() -> None:
    with pytest.raises(ValueError, match=r"activation_lr=0.5 is a factor .* needs lr"):
        param_groups(model(), weight_decay=0.1, activation_lr=0.5)
    for wrong in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="activation_lr must be a positive finite number"):
            param_groups(model(), weight_decay=0.1, lr=0.1, activation_lr=wrong)
        with pytest.raises(ValueError, match=r"^lr must be a positive finite number"):
            param_groups(model(), weight_decay=0.1, lr=wrong)
