"""Whole training steps, of networks with fixed and with learned activations."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

Build = Callable[[int], nn.Module]
"""An activation for so many neurons."""


def adam_step(build: Build, hidden_layers: int = 2, batch: int = 100) -> Callable[[], None]:
    """The paper's SUSY network: 18 inputs, layers of 300, one output."""
    net = _network(18, 300, hidden_layers, build)
    optimizer = torch.optim.Adam(net.parameters())
    s, target = torch.randn(batch, 18), torch.rand(batch, 1).round()

    def run() -> None:
        optimizer.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(net(s), target).backward()
        optimizer.step()

    return run


def physics_step(build: Build, points: int = 1000) -> Callable[[], None]:
    """A network u(x, t) that learns an equation with u, its first and its second derivatives (Burgers')."""
    net = _network(2, 50, 3, build)
    optimizer = torch.optim.Adam(net.parameters())
    places = torch.rand(points, 2).requires_grad_()

    def run() -> None:
        optimizer.zero_grad()
        u = net(places)
        first = _slopes(u, places)
        second = _slopes(first[:, :1], places)
        residual = first[:, 1:] + u * first[:, :1] - 0.01 * second[:, :1]
        residual.square().mean().backward()
        places.grad = None
        optimizer.step()

    return run


def _network(inputs: int, width: int, hidden_layers: int, build: Build) -> nn.Module:
    layers: list[nn.Module] = []
    for layer in range(hidden_layers):
        layers += [nn.Linear(width if layer else inputs, width), build(width)]
    return nn.Sequential(*layers, nn.Linear(width, 1))


def _slopes(values: Tensor, places: Tensor) -> Tensor:
    """By each input; all that is found can be differentiated again."""
    return torch.autograd.grad(values.sum(), places, create_graph=True)[0]
