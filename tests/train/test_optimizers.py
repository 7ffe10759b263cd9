"""Steps without torch's Python around them are torch's, to the last bit."""

import copy

import pytest
import torch
from torch import nn

from kafnets.networks import mlp
from kafnets.train.optimizers import Steps, optimizer_for
from kafnets.train.settings import Settings


def _loss(model: nn.Module, seed: int) -> torch.Tensor:
    x = torch.randn(7, 3, generator=torch.Generator().manual_seed(seed))
    return model(x).square().mean()


@pytest.mark.parametrize("name", ["Adam", "AdamW"])
def test_steps_are_the_optimizers_own(name: str) -> None:
    ours = mlp(3, (5, 4), 2, "kaf", generator=torch.Generator().manual_seed(0))
    theirs = copy.deepcopy(ours)
    settings = Settings(optimizer=name, weight_decay=0.1, activation_lr=0.5)
    optimizers = [optimizer_for(model, settings, rows=100) for model in (ours, theirs)]
    steps = Steps(optimizers[0])
    for number in range(12):
        if number == 6:  # a parameter without gradients, and one that begins anew
            for model, optimizer in zip((ours, theirs), optimizers, strict=True):
                model[0].bias.requires_grad_(False)
                optimizer.state.pop(dict(model.named_parameters())["1.alpha"])
                optimizer.param_groups[0]["weight_decay"] = 0.05
            steps.begin()
        if number == 9:
            for model in (ours, theirs):
                model[0].bias.requires_grad_(True)
        for group in (group for optimizer in optimizers for group in optimizer.param_groups):
            group["lr"] *= 0.9
        steps.zero_grad()
        optimizers[1].zero_grad()
        for model in (ours, theirs):
            _loss(model, number).backward()
        steps.step()
        optimizers[1].step()
    states = [optimizer.state_dict()["state"] for optimizer in optimizers]
    for own, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(own, other)
    for number, state in states[1].items():
        assert all(torch.equal(value, states[0][number][key]) for key, value in state.items())


def test_other_optimizers_make_their_own_steps() -> None:
    model = nn.Linear(3, 1)
    before = model.weight.detach().clone()
    steps = Steps(torch.optim.SGD(model.parameters(), lr=0.5))
    for number in range(2):
        steps.zero_grad()
        _loss(model, number).backward()
        assert model.weight.grad is not None
        expected = model.weight.detach() - 0.5 * model.weight.grad
        steps.step()
        assert torch.equal(model.weight, expected)
    assert not torch.equal(model.weight, before)
