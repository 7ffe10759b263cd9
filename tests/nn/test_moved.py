"""Models whose dictionaries have moved: they train on, compile, and are stored and loaded."""

import copy
import io
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import kafnets
from kafnets import KAF, Expansion
from tests.nn.moving import mlp, normal, seeded, state


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.SGD, torch.optim.LBFGS])
def test_training_goes_on(kind: Any) -> None:
    net, x = mlp(), normal(500, 6, std=1.0)
    target = torch.sin(x[:, :2])
    options = {"momentum": 0.9} if kind is torch.optim.SGD else {}
    optimizer = kind(net.parameters(), lr=1e-3, **options)

    def loss() -> Tensor:
        optimizer.zero_grad()
        value = (net(x) - target).square().mean()
        value.backward()
        return value.detach()

    for _ in range(3):
        optimizer.step(loss)
    parameters = list(net.parameters())
    weight, left = net[0].weight, net[5].alpha
    report = kafnets.calibrate(net, x, optimizer=optimizer)
    assert report.layers[0].kept is None
    assert net[1].alpha not in optimizer.state
    assert net[1].alpha.grad is None
    if kind is torch.optim.LBFGS:
        assert not optimizer.state
    else:
        assert weight in optimizer.state
        assert (left in optimizer.state) is (report.layers[2].kept is not None)
    assert all(now is then for now, then in zip(net.parameters(), parameters, strict=True))
    before = float(loss())
    for _ in range(10):
        optimizer.step(loss)
    assert float(loss()) < before
    if kind is torch.optim.Adam:
        assert optimizer.state[net[1].alpha]["step"] == 10
        assert optimizer.state[weight]["step"] == 13


def test_gradients_after_it_are_right() -> None:
    kaf = seeded(KAF, 3, init="tanh", dtype=torch.float64, tails="linear")
    s = normal(50, 3).double()
    kafnets.calibrate(kaf, s)

    def run(s: Tensor, alpha: Tensor) -> Any:
        return torch.func.functional_call(kaf, {"alpha": alpha}, s)

    assert torch.autograd.gradcheck(
        run, (s[:5].requires_grad_(), kaf.alpha.detach().clone().requires_grad_())
    )


def test_compiled_models_follow() -> None:
    torch.compiler.reset()
    net, x = mlp()[:2], normal(500, 6, std=1.0)
    compiled: Any = torch.compile(net, backend="aot_eager")
    compiled(x)
    assert kafnets.calibrate(compiled, x).layers[0].kept is None
    torch.testing.assert_close(compiled(x), net(x), rtol=1e-4, atol=1e-4)


def test_stand_on_is_checked() -> None:
    kaf = seeded(KAF, 6, init="tanh")
    with pytest.raises(ValueError, match="expansion must have the tails of the present one, 'zero'"):
        kaf.stand_on(Expansion.of(tails="linear"))
    with pytest.raises(
        ValueError, match=r"alpha must have the shape \(6, 30\) for this expansion, got \(6, 20\)"
    ):
        kaf.stand_on(Expansion.of(dictionary_size=30))


@pytest.mark.parametrize("move", ["calibrated", "refined", "both"])
def test_files_bring_their_dictionaries(move: str) -> None:
    net, x = mlp(), normal(500, 6)
    before = copy.deepcopy(net.state_dict())
    if move != "refined":
        kafnets.calibrate(net, x, coverage=0.999)
    if move != "calibrated":
        kafnets.refine(net, 33)
    file = io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    fresh = mlp(seed=1)
    fresh.load_state_dict(torch.load(file, weights_only=True))
    assert state(fresh)["expansions"] == state(net)["expansions"]
    assert torch.equal(fresh(x), net(x))
    fresh.load_state_dict(before)  # and back again
    assert torch.equal(fresh(x), mlp()(x))
    assert fresh.state_dict().keys() == before.keys()
    again = copy.deepcopy(net).half().float()  # exact whatever the precision was in between
    assert state(again)["expansions"] == state(net)["expansions"]


def test_a_module_built_on_another_dictionary_takes_the_file() -> None:
    kaf, x = seeded(KAF, 6, init="tanh"), normal(50, 6)
    (layer,) = kafnets.calibrate(kaf, x).layers
    built = KAF(6, dictionary=np.linspace(*layer.ends_after, 20))
    built.load_state_dict(kaf.state_dict())
    assert torch.equal(built(x), kaf(x))


@pytest.mark.parametrize("text", ["[1.0]", "[1.0, 3, 2, 1]", "nonsense", "[-1, 0.0, 1.0]", "3"])
def test_a_damaged_place_is_refused_by_name(text: str) -> None:
    kaf, x = seeded(KAF, 6), normal(50, 6)
    stored = KAF(6).state_dict() | {"moved": torch.tensor(list(text.encode()), dtype=torch.uint8)}
    expected = kaf(x)
    with pytest.raises(RuntimeError, match="moved does not describe a dictionary"):
        kaf.load_state_dict(stored)
    assert kaf.expansion == KAF(6).expansion
    assert kaf(x).shape == expected.shape
