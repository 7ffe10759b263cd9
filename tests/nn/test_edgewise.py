"""The layer with a function for each connection, and its network."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

import kafnets
from tests import oracle
from tests.oracle import outside


@pytest.mark.parametrize("base", [None, "silu", "tanh"])
@pytest.mark.parametrize("kernel", [None, kafnets.Gaussian(2.0), kafnets.Softplus(), kafnets.Polynomial(2)])
def test_agrees_with_the_oracle(kernel: kafnets.Kernel | None, base: str | None) -> None:
    layer = kafnets.EdgewiseKAF(4, 3, dictionary_size=5, kernel=kernel, base=base, dtype=torch.float64)
    x = torch.randn(6, 2, 4, dtype=torch.float64, requires_grad=True)
    upstream = torch.randn(6, 2, 3, dtype=torch.float64)
    alpha, weight, bias = (each.detach().numpy() for each in (layer.alpha, layer.weight, layer.bias))
    rows, d, formula = x.detach().numpy(), layer.dictionary.numpy(), oracle.twin(layer.kernel)
    fixed, slope = outside.base(base or "identity", rows)
    expected = oracle.edgewise_kaf(rows, alpha, d, formula) + fixed @ weight.T + bias
    np.testing.assert_allclose(layer(x).detach().numpy(), expected, rtol=1e-12, atol=1e-12)
    layer(x).backward(upstream)
    gradients = oracle.edgewise_kaf_gradients(rows, alpha, d, formula, upstream.numpy())
    assert x.grad is not None
    assert layer.alpha.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), gradients.s + slope * (upstream.numpy() @ weight), rtol=1e-10)
    np.testing.assert_allclose(layer.alpha.grad.numpy(), gradients.alpha, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("base", [None, "silu"])
def test_an_output_is_the_sum_of_its_functions(base: str | None) -> None:
    layer = kafnets.EdgewiseKAF(4, 3, base=base, dtype=torch.float64)
    places = torch.linspace(-2, 2, 5, dtype=torch.float64)
    functions = layer.functions(places)
    assert functions.shape == (3, 4, 5)
    together = layer(places[:, None].expand(-1, 4))
    torch.testing.assert_close(functions.sum(1).T + layer.bias, together)
    with pytest.raises(ValueError, match=r"s must have one axis.*\(5, 4\)"):
        layer.functions(torch.zeros(5, 4))


def test_the_network_learns_what_no_sum_of_functions_can() -> None:
    generator = torch.Generator().manual_seed(0)
    network = kafnets.edgewise_mlp(2, (8,), 1, generator=generator)
    again = kafnets.edgewise_mlp(2, (8,), 1, generator=torch.Generator().manual_seed(0))
    assert all(map(torch.equal, network.parameters(), again.parameters()))
    x = 2 * torch.rand(512, 2, generator=generator) - 1
    target = x[:, :1] * x[:, 1:]
    optimizer = torch.optim.Adam(kafnets.param_groups(network, weight_decay=0.0), lr=1e-2)
    for _ in range(200):
        optimizer.zero_grad()
        loss = (network(x) - target).square().mean()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1 * target.var().item()


def test_parameters_are_counted_as_documented() -> None:
    layer = kafnets.EdgewiseKAF(48, 32, dictionary_size=8)
    assert sum(each.numel() for each in layer.parameters()) == 48 * 32 * 9 + 32
    assert "48, 32, dictionary_size=8" in repr(layer)


def test_mistakes_are_named() -> None:
    layer = kafnets.EdgewiseKAF(4, 3)
    with pytest.raises(ValueError, match=r"in_features=4, but the input of shape \(2, 5\) has 5"):
        layer(torch.zeros(2, 5))
    with pytest.raises(TypeError, match="floating-point"):
        layer(torch.zeros(2, 4, dtype=torch.int64))
    with pytest.raises(ValueError, match="in_features must be an integer ≥ 1, got 0"):
        kafnets.EdgewiseKAF(0, 3)
    with pytest.raises(ValueError, match="fixed gamma"):
        kafnets.EdgewiseKAF(4, 3, kernel=kafnets.Gaussian(learn_gamma=True))


def test_weights_for_another_base_are_refused() -> None:
    plain, other = kafnets.EdgewiseKAF(4, 3), kafnets.EdgewiseKAF(4, 3, base="silu")
    for one, two in ((plain, other), (other, plain)):
        with pytest.raises(RuntimeError, match="base"):
            one.load_state_dict(two.state_dict())
    assert "base='silu'" in repr(other)
    with pytest.raises(ValueError, match="base 'sillu' is not known: did you mean 'silu'"):
        kafnets.EdgewiseKAF(4, 3, base="sillu")


def test_narrow_layers_are_not_normalized() -> None:
    """Two numbers behind layer normalization are 1 and -1, whatever they were."""
    narrow, wide = kafnets.edgewise_mlp(3, (2,), 1), kafnets.edgewise_mlp(3, (32, 4), 1)
    assert [type(each).__name__ for each in narrow] == ["EdgewiseKAF", "EdgewiseKAF"]
    assert [type(each).__name__ for each in wide] == [
        "EdgewiseKAF",
        "LayerNorm",
        "EdgewiseKAF",
        "EdgewiseKAF",
    ]


@pytest.mark.parametrize("change", [kafnets.calibrate, lambda net, x: kafnets.refine(net, 12)])
def test_a_changed_dictionary_keeps_the_base(
    change: Callable[[torch.nn.Module, torch.Tensor], object],
) -> None:
    network = kafnets.edgewise_mlp(2, (3,), 1, generator=torch.Generator().manual_seed(0)).double()
    x = 2 * torch.rand(300, 2, dtype=torch.float64) - 1
    before = network(x)
    change(network, x)
    assert all("silu" in repr(each) for each in network)
    assert (network(x) - before).abs().max() < 0.3 * before.std()
