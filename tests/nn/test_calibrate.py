"""Dictionaries that move to where the inputs are."""

import copy
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import kafnets
from kafnets import KAF, KAF2D, Base, EdgewiseKAF, Expansion, Gaussian, Normal, Polynomial, Softplus
from tests.nn.moving import assert_same, mlp, normal, seeded, state


def test_a_tanh_whose_inputs_are_twice_as_wide() -> None:
    kaf, s = seeded(KAF, 16, init="tanh"), normal(4000, 16)
    old = copy.deepcopy(kaf)
    (layer,) = kafnets.calibrate(kaf, s).layers
    assert 0.125 < layer.outside_before < 0.142  # 2 * (1 - Phi(1.5)) is 0.1336
    assert layer.outside_after <= 0.0101
    assert layer.kept is None
    assert layer.ends_before == (-3.0, 3.0)
    assert layer.ends_after == pytest.approx((-5.15, 5.15), abs=0.1)
    difference = (kaf(s) - old(s)).detach()
    assert layer.rms_error == pytest.approx(float(difference.square().mean().sqrt()), rel=1e-2)
    assert layer.largest_error == pytest.approx(float(difference.abs().max()), rel=1e-2)
    assert layer.rms_error < 5e-3
    assert layer.largest_error < 5e-2
    assert kaf.dictionary_size == 20
    assert kaf.expansion == layer.expansion
    assert kaf.expansion.factored  # still on the fast kernels
    spacings = [each.expansion.dictionary.spacing for each in (old, kaf)]
    assert kaf.gamma * spacings[1] ** 2 == pytest.approx(old.gamma * spacings[0] ** 2)
    torch.testing.assert_close(kaf.dictionary, torch.tensor(layer.expansion.dictionary.values))


def test_all_of_the_inputs() -> None:
    kaf, s = seeded(KAF, 4, init="tanh", tails="linear"), normal(500, 4)
    (layer,) = kafnets.calibrate(kaf, s, coverage=1.0).layers
    assert layer.outside_after == 0
    assert layer.ends_after == (float(s.min()), float(s.max()))


def test_a_second_time_nothing_is_left_to_do() -> None:
    net, x = mlp(), normal(1000, 6, std=1.0)
    kafnets.calibrate(net, x)
    before = state(net)
    report = kafnets.calibrate(net, x)
    assert [layer.kept for layer in report.layers] == ["already in range"] * 4
    assert report.output_largest == 0
    assert_same(before, state(net))


def test_a_dictionary_that_is_much_too_wide() -> None:
    kaf = seeded(KAF, 4, init="tanh")
    s = normal(2000, 4, std=0.2)
    (layer,) = kafnets.calibrate(kaf, s).layers
    assert layer.ends_after == (float(s.min()), float(s.max()))  # what was inside stays inside
    assert layer.largest_error < 5e-3
    assert "unchanged" in str(kafnets.calibrate(seeded(KAF, 4), normal(2000, 4, std=0.5)))


def test_far_outliers_do_not_outweigh_the_rest() -> None:
    for kernel, tails in ((None, "linear"), (None, "zero"), (Polynomial(2), "zero")):
        kaf, s = seeded(KAF, 4, init=Normal(0.1), tails=tails, kernel=kernel), normal(4000, 4)
        s[0, 0] = 1e6
        old = copy.deepcopy(kaf)
        kafnets.calibrate(kaf, s)
        change = (kaf(s[1:]) - old(s[1:])).detach()
        assert change.square().mean().sqrt() < 0.01 * old(s[1:]).detach().std()


def test_half_precision_and_sequences() -> None:
    torch.manual_seed(0)
    net: Any = nn.Sequential(nn.Linear(6, 8), seeded(KAF, 8, dim=-1, init="tanh"), seeded(EdgewiseKAF, 8, 2))
    net[1].stand_on(Expansion.of(boundary=0.5))
    net = net.to(torch.bfloat16)
    x = normal(40, 12, 6, std=1.0).to(torch.bfloat16)
    before = net(x).detach()
    report = kafnets.calibrate(net, x)
    assert report.layers[0].outside_after <= 0.012
    assert net[1].alpha.dtype == torch.float32
    assert net[1].dictionary.dtype == torch.float32
    assert (net(x).detach() - before).float().square().mean().sqrt() < 0.1 * before.float().std()


def test_by_channel_leaves_no_channel_out() -> None:
    s = normal(3000, 20, std=1.0)
    s[:, 7] += 6
    by_layer, by_channel = seeded(KAF, 20), seeded(KAF, 20)
    kafnets.calibrate(by_layer, s)
    (layer,) = kafnets.calibrate(by_channel, s, by="channel").layers
    assert (s[:, 7] > float(by_layer.dictionary[-1])).float().mean() > 0.05
    outside = (s < layer.ends_after[0]) | (s > layer.ends_after[1])
    assert outside.float().mean(0).max() <= 0.0101


LAYERS: list[Any] = [
    lambda: seeded(KAF, 6, init="tanh"),
    lambda: seeded(KAF, init="tanh"),
    lambda: seeded(KAF, 6, groups=2, init=Normal(0.3)),
    lambda: seeded(KAF, 6, init="elu", tails="constant"),
    lambda: seeded(KAF, 6, init="elu", tails="linear", base=Base("silu", "weighted")),
    lambda: seeded(KAF, 6, init="tanh", dtype=torch.float64, kernel=Gaussian(learn_gamma=True)),
    lambda: seeded(KAF, 6, init="tanh", kernel=Gaussian(learn_gamma="neuron"), tails="linear"),
    lambda: seeded(KAF, 6, kernel=Polynomial(2), init=Normal(0.1)),
    lambda: seeded(KAF, 6, kernel=Softplus(), init="elu"),
    lambda: seeded(
        KAF, 6, init="tanh", dim=-1, dictionary=[-3, -2, -1.2, -0.5, 0, 0.5, 1.2, 2, 3], kernel=Gaussian(1.0)
    ),
    lambda: seeded(KAF2D, 6, init="tanh"),
    lambda: seeded(KAF2D, init="tanh"),
    lambda: seeded(KAF2D, 6, groups=1, init="tanh", kernel=Gaussian(learn_gamma="neuron")),
    lambda: seeded(EdgewiseKAF, 6, 5),
    lambda: seeded(EdgewiseKAF, 6, 5, tails="linear"),
]


@pytest.mark.parametrize("dictionary", ["range", "quantiles", "novelty"])
@pytest.mark.parametrize("make", LAYERS)
def test_every_kind_stays_what_it_was(make: Any, dictionary: Any) -> None:
    layer = make()
    if getattr(layer, "log_gamma", None) is not None:  # as if learned
        with torch.no_grad():
            layer.log_gamma.add_(0.1 * torch.rand(layer.log_gamma.shape))
    if getattr(layer, "base_weight", None) is not None:
        with torch.no_grad():
            layer.base_weight.mul_(0.7)
    s = normal(1000, 6).to(layer.alpha.dtype)
    before, parameters = layer(s).detach(), dict(layer.named_parameters())
    others = {n: p.detach().clone() for n, p in parameters.items() if n not in ("alpha", "log_gamma")}
    ratio = layer.gamma / layer.expansion.gamma if getattr(layer, "log_gamma", None) is not None else None
    report = kafnets.calibrate(layer, s, dictionary=dictionary)
    (row,) = report.layers
    assert row.kept is None
    assert row.outside_after <= 0.0101
    change = (layer(s).detach() - before).square().mean().sqrt()
    size = before.square().mean().sqrt()
    if dictionary == "range" and layer.dictionary_size == 20:
        assert change <= 0.02 * size
    else:  # fewer elements, or none in wide gaps
        assert change <= 0.2 * size
    assert row.rms_error == pytest.approx(float(change), rel=0.05, abs=1e-5)
    assert report.output_rms == pytest.approx(float(change), rel=0.05, abs=1e-5)
    assert all(after is parameters[name] for name, after in layer.named_parameters())
    assert all(torch.equal(parameters[name], other) for name, other in others.items())
    if ratio is not None:
        torch.testing.assert_close(layer.gamma / layer.expansion.gamma, ratio, rtol=1e-5, atol=0)


def test_a_learned_bandwidth_moves_with_the_squared_spacing() -> None:
    kaf = seeded(KAF, 3, kernel=Gaussian(learn_gamma="neuron"), init="tanh")
    with torch.no_grad():
        kaf.log_gamma.copy_(torch.tensor([0.1, 0.5, 0.9]))
    before = kaf.log_gamma.detach().clone()
    kafnets.calibrate(kaf, normal(2000, 3))
    spacing = kaf.expansion.dictionary.spacing
    expected = before + 2 * np.log((6 / 19) / spacing)
    torch.testing.assert_close(kaf.log_gamma.detach(), expected.float())


def test_outputs_of_networks_barely_change() -> None:
    net, x = mlp(), normal(2000, 6, std=1.0)
    before = net(x).detach()
    report = kafnets.calibrate(net, x)
    change = net(x).detach() - before
    assert report.output_largest == pytest.approx(float(change.abs().max()), rel=1e-3)
    assert report.output_rms < 0.03 * float(before.std())
    assert report.layers[0].outside_before > 0.08
    torch.manual_seed(0)
    cnn: Any = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), seeded(KAF, 8, boundary=1.5, init="tanh"), nn.Dropout(0.5),
        nn.Conv2d(8, 8, 3), seeded(KAF, 8, boundary=0.3, init="tanh"), nn.Flatten(), nn.Linear(8 * 36, 4),
    )  # fmt: skip
    images = normal(64, 3, 10, 10, std=1.0)
    cnn(images)  # for the statistics of the normalization
    cnn[3].eval()
    modes, statistics = [module.training for module in cnn.modules()], cnn[1].running_mean.clone()
    before = cnn.eval()(images).detach()
    for module, mode in zip(cnn.modules(), modes, strict=True):
        module.training = mode
    report = kafnets.calibrate(cnn, [(images[:40], None), (images[40:], None)])
    assert [module.training for module in cnn.modules()] == modes
    assert torch.equal(cnn[1].running_mean, statistics)
    assert all(layer.kept is None for layer in report.layers)
    change = cnn.eval()(images).detach() - before
    assert report.output_rms == pytest.approx(float(change.square().mean().sqrt()), rel=1e-2)
    assert report.output_rms < 0.05 * float(before.std())


def test_all_forms_of_batches_are_one() -> None:
    x = normal(300, 6, std=1.0)
    pairs = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, torch.zeros(300)), 100)
    forms: list[Any] = [x, x.numpy(), x.double().numpy(), [x[:200], x[200:]], iter(x.split(50)), pairs]
    reports = []
    for form in forms:
        net = mlp()
        reports.append(kafnets.calibrate(net, form))
        assert not any(each._forward_hooks for each in net.modules())
    assert all(
        each.ends_after == pytest.approx(first.ends_after, rel=1e-5)
        for report in reports
        for each, first in zip(report.layers, reports[0].layers, strict=True)
    )


def test_more_inputs_than_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafnets.nn.watch.KEPT", 2**12)
    kaf, s = seeded(KAF, init="tanh"), normal(60000, 1)
    (layer,) = kafnets.calibrate(kaf, s).layers
    assert layer.outside_before == pytest.approx(0.1336, abs=0.02)
    assert layer.ends_after == pytest.approx((-5.15, 5.15), abs=0.4)


def test_the_report_can_be_read() -> None:
    net = nn.Sequential(seeded(KAF, 4, init="tanh"), nn.Identity(), seeded(KAF, 4, boundary=1.2, init="tanh"))
    text = str(kafnets.calibrate(net, normal(2000, 4)))
    first, second, outputs = text.splitlines()
    assert first.startswith("0 (KAF): 13.")
    assert "of inputs outside [-3.00, 3.00], now 1.00% outside [-5." in first
    assert "functions changed by" in first
    assert second.startswith("2 (KAF): 0.")
    assert second.endswith("unchanged: already in range")
    assert outputs.startswith("outputs changed by")
    assert str(kafnets.calibrate(seeded(KAF, 4), normal(100, 4, std=1.0))).startswith("(model) (KAF)")


class Odd(nn.Module):
    """Uses one of its layers, by keyword, and gives more than a tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.used, self.idle, self.still = seeded(KAF, 4, init="tanh"), KAF(4), KAF(4)

    def forward(self, x: Tensor) -> dict[str, Any]:
        self.still(torch.ones(3, 4))
        return {"values": (self.used(input=x), [self.used(x + 1)]), "count": len(x)}


def test_layers_that_see_nothing_are_left_alone() -> None:
    report = kafnets.calibrate(Odd(), normal(500, 4))
    assert [layer.kept for layer in report.layers] == [
        None,
        "it received no inputs",
        "all of its inputs are equal",
    ]
    assert 0 < report.output_rms < 1e-2
