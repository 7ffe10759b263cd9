"""Symbolic tracing by torch.fx: our modules are leaves of the graph, as torch's own are."""

import functools

import pytest
import torch
from torch import Tensor, nn

import kafnets
from tests.zoo.cases import NAMES, STOCHASTIC, activations, build


def check(network: nn.Module, x: Tensor) -> None:
    graph = torch.fx.symbolic_trace(network)
    torch.testing.assert_close(graph(x), network(x), rtol=0, atol=0)
    graph.graph.lint()


def test_a_network_of_kafs() -> None:
    network = nn.Sequential(
        nn.Linear(5, 6),
        kafnets.KAF(6),
        nn.Linear(6, 8),
        kafnets.KAF2D(8),
        kafnets.EdgewiseKAF(4, 3),
        kafnets.KAF(),
        kafnets.KAF(3, groups=1, kernel=kafnets.Gaussian(learn_gamma=True)),
    )
    check(network, torch.randn(7, 5))
    graph = torch.fx.symbolic_trace(network)
    assert [node.op for node in graph.graph.nodes].count("call_module") == 7


@pytest.mark.parametrize("name", NAMES)
def test_every_activation(name: str) -> None:
    check(nn.Sequential(build(name)), activations(name, 5))


@pytest.mark.parametrize("name", STOCHASTIC)
def test_noise_is_not_traced_away(name: str) -> None:
    network = nn.Sequential(build(name)).train()
    graph, x = torch.fx.symbolic_trace(network), activations(name, 5)
    assert not torch.equal(graph(x), graph(x))
    torch.testing.assert_close(graph.eval()(x), network.eval()(x), rtol=0, atol=0)


@pytest.mark.parametrize("name", ["kaf", "apl", "maxout", "network_in_network"])
def test_a_network_that_uses_one_twice_and_branches(name: str) -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            own = {"in_features": 6} if name == "maxout" else {}
            self.inner = nn.ModuleDict({"activation": kafnets.create(name, 6, **own)})

        def forward(self, x: Tensor) -> Tensor:
            first: Tensor = self.inner["activation"](x)
            second: Tensor = self.inner["activation"](2 * x)
            return first + second

    check(Twice(), torch.randn(7, 6))


@pytest.mark.parametrize("name", ["maxout", "soft_maxout", "lp_maxout", "lp_unit"])
def test_layers_with_convolutions(name: str) -> None:
    convolution = functools.partial(nn.Conv2d, kernel_size=3, padding=1)
    layer = kafnets.create(name, 5, in_features=3, linear=convolution)
    check(nn.Sequential(layer, kafnets.KAF(5)), torch.randn(2, 3, 6, 6))
