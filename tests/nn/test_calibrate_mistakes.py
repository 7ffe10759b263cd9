"""What calibration refuses, and models that stay as they were."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import kafnets
from kafnets import KAF
from tests.nn.moving import assert_same, mlp, normal, state


class Failing(nn.Module):
    """Fails from its third call on."""

    def __init__(self) -> None:
        super().__init__()
        self.net, self.calls = mlp(), 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        if self.calls > 2:
            raise RuntimeError("out of memory")
        return self.net(x)


def bad_batches() -> Iterator[Tensor]:
    yield normal(10, 6)
    raise OSError("disk")


X = normal(50, 6)
NAN = torch.full((4, 6), torch.nan)


@pytest.mark.parametrize(
    ("batches", "options", "error", "words"),
    [
        ([], {}, ValueError, "batches must hold at least one input, got none"),
        (torch.empty(0, 6), {}, ValueError, "batches must hold at least one input"),
        (torch.tensor(1.0), {}, ValueError, "batches must have a first axis"),
        (
            [X, NAN],
            {},
            ValueError,
            "batches must hold finite values, got 24 that are NaN or infinite in batch 1",
        ),
        (X / 0, {}, ValueError, "batches must hold finite values"),
        (X.sign() * 3e38, {}, ValueError, "NaN or infinite inputs of layer '1'"),
        (3, {}, TypeError, "batches must be a tensor or array .* got int"),
        ({"x": X}, {}, TypeError, "batches must be a tensor or array .* got dict"),
        (["x"], {}, TypeError, "batches must be a tensor or array .* got str"),
        (bad_batches(), {}, OSError, "disk"),
        ([X[:, :5]], {}, RuntimeError, "shapes"),
        (X, {"by": "neuron"}, ValueError, "by must be one of 'layer', 'channel', got 'neuron'"),
        (X, {"dictionary": "even"}, ValueError, "dictionary must be one of 'range', 'quantiles', 'novelty'"),
        (X, {"coverage": 0}, ValueError, "coverage must be above 0 and at most 1, such as 0.99, got 0"),
        (X, {"coverage": 99}, ValueError, "coverage must be above 0 and at most 1"),
        (X, {"coverage": float("nan")}, ValueError, "coverage must be above 0 and at most 1"),
        (X, {"coverage": "all"}, TypeError, "coverage must be a number"),
        (
            X,
            {"optimizer": "Adam"},
            TypeError,
            r"optimizer must be a torch\.optim\.Optimizer or None, got str",
        ),
    ],
)
def test_errors_leave_the_model_as_it_was(batches: Any, options: Any, error: Any, words: str) -> None:
    net = mlp()
    net[3].eval()
    before = state(net)
    with pytest.raises(error, match=words):
        kafnets.calibrate(net, batches, **options)
    assert_same(before, state(net))
    assert not any(each._forward_hooks for each in net.modules())


def test_a_model_that_fails_afterwards_is_changed_back() -> None:
    net = Failing()
    before = state(net)
    with pytest.raises(RuntimeError, match="out of memory"):
        kafnets.calibrate(net, [X, X])
    assert_same(before, state(net))


def test_models_that_cannot_be_calibrated() -> None:
    with pytest.raises(ValueError, match="model must contain a KAF, KAF2D or EdgewiseKAF, got a Linear"):
        kafnets.calibrate(nn.Linear(6, 2), X)
    with pytest.raises(TypeError, match=r"model must be a torch\.nn\.Module, got function"):
        kafnets.calibrate(normal, X)  # type: ignore[arg-type]
    tied = nn.Sequential(KAF(6), nn.Linear(6, 6), KAF(6))
    tied[2].alpha = tied[0].alpha
    with pytest.raises(ValueError, match="layers '0' and '2' share their coefficients"):
        kafnets.calibrate(tied, X)
    parametrized = KAF(6)
    nn.utils.parametrize.register_parametrization(parametrized, "alpha", nn.Identity())
    with pytest.raises(ValueError, match="under a parametrization"):
        kafnets.calibrate(parametrized, X)
