"""Deep networks start with activations and gradients of one size, and train."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

import kafnets
from kafnets import Normal, Ridge

DEPTH, WIDTH = 50, 64
KEEP_BOTH: list[Any] = [
    {"init": Normal(gain="backward")},
    {"init": Normal(gain="backward"), "tails": "linear"},
    {"init": Ridge("elu", gain="forward")},
    {"init": Ridge("elu", gain="backward")},
    {"init": Ridge("elu", gain="backward"), "tails": "linear"},
]


def digits(rows: int = 256) -> tuple[Tensor, Tensor]:
    found = load_digits()
    images = torch.tensor(found.images[:rows], dtype=torch.float32)
    return (images - images.mean()) / images.std(), torch.tensor(found.target[:rows])


def plain(seed: int = 0, **options: Any) -> nn.Sequential:
    generator = torch.Generator().manual_seed(seed)
    return kafnets.mlp(64, (WIDTH,) * DEPTH, 10, "kaf", weights="lecun", generator=generator, **options)


def spans(model: nn.Sequential, seed: int) -> tuple[float, float]:
    """Largest over smallest norm, of outputs and of gradients, over all layers."""
    generator = torch.Generator().manual_seed(100 + seed)
    x = torch.randn(256, 64, generator=generator)
    outputs = []
    for layer in model:
        x = layer(x)
        if isinstance(layer, kafnets.KAF):
            outputs.append(x)
    gradients = torch.autograd.grad(x, outputs, torch.randn(x.shape, generator=generator))
    norms = [torch.stack([each.norm() for each in tensors]) for tensors in (outputs, gradients)]
    first, second = ((each.max() / each.min()).item() for each in norms)
    return first, second


def losses(model: nn.Module, images: Tensor, target: Tensor, lr: float, steps: int = 15) -> list[float]:
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    found = []
    for _ in range(steps):
        loss = nn.functional.cross_entropy(model(images), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


@pytest.fixture(scope="module")
def example() -> ModuleType:
    path = Path(__file__).parents[1] / "examples/deep_residual.py"
    spec = importlib.util.spec_from_file_location("deep_residual", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("options", KEEP_BOTH, ids=repr)
def test_norms_of_fifty_layers(options: dict[str, Any]) -> None:
    for seed in range(3):
        activations, gradients = spans(plain(seed, **options), seed)
        assert activations < 10
        assert gradients < 10


def test_a_forward_gain_of_random_kafs_keeps_activations_only() -> None:
    """They are steep for their size: what keeps their size multiplies gradients."""
    activations, gradients = spans(plain(init=Normal(gain="forward")), 0)
    assert activations < 10
    assert gradients > 1000


def test_without_gain_gradients_explode_or_vanish() -> None:
    assert spans(plain(init=Normal()), 0)[1] > 1000
    assert spans(plain(init=Ridge("elu")), 0)[1] > 10


@pytest.mark.parametrize(
    ("init", "lr", "share"),
    [
        (Ridge("elu", gain="forward"), 3e-4, 0.5),
        (Ridge("elu", gain="backward"), 3e-4, 0.6),
        (Normal(gain="backward"), 1e-4, 0.93),  # less wiggly functions learn faster
    ],
    ids=repr,
)
def test_fifty_layers_train(init: Any, lr: float, share: float) -> None:
    images, target = digits()
    found = losses(plain(init=init), images.flatten(1), target, lr)
    assert found[-1] < share * found[0]


@pytest.mark.parametrize("gain", ["forward", "backward"])
def test_norms_of_a_residual_network_of_56_layers(example: ModuleType, gain: str) -> None:
    images, target = digits()
    model = example.deep_residual(gain=gain)
    assert sum(isinstance(each, nn.Conv2d | nn.Linear) for each in model.modules()) == 56
    for norms in example.norms(model, images.unsqueeze(1), target):
        assert len(norms) == 27
        assert max(norms) < 10 * min(norms)


def test_a_residual_network_of_56_layers_trains(example: ModuleType) -> None:
    images, target = digits(64)
    found = losses(example.deep_residual(), images.unsqueeze(1), target, lr=1e-3, steps=10)
    assert found[-1] < 0.7 * found[0]
