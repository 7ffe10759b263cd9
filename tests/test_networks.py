"""The network builders."""

import copy
import functools

import pytest
import torch
from torch import nn

import kafnets

PAPERS_TABLE_2 = [
    ("relu", 5, 367201),
    ("elu", 5, 367201),
    ("selu", 5, 367201),
    ("prelu", 5, 368701),
    ("maxout", 1, 17401),
    ("maxout", 2, 288301),
    ("apl", 1, 7801),
    ("apl", 2, 99901),
    ("kaf", 1, 12001),
    ("kaf", 2, 108301),
    ("kaf2d", 1, 20851),
    ("kaf2d", 2, 81151),
]


@pytest.mark.parametrize(("name", "layers", "parameters"), PAPERS_TABLE_2)
def test_parameter_counts_of_the_papers_table_2(name: str, layers: int, parameters: int) -> None:
    network = kafnets.mlp(18, (300,) * layers, 1, name)
    assert sum(parameter.numel() for parameter in network.parameters()) == parameters


@pytest.mark.parametrize("name", kafnets.names())
def test_every_activation_fits(name: str) -> None:
    assert kafnets.mlp(5, (12, 12), 3, name)(torch.randn(4, 7, 5)).shape == (4, 7, 3)
    network = kafnets.cnn(3, (9, 12), 3, 5, name, filters=6)
    assert network(torch.randn(2, 3, 9, 12)).shape == (2, 5)


@pytest.mark.parametrize("name", kafnets.names())
def test_a_generator_decides_everything(name: str) -> None:
    before = torch.get_rng_state()
    first, second = (
        kafnets.mlp(5, (6, 6), 1, name, generator=torch.Generator().manual_seed(3)).state_dict()
        for _ in range(2)
    )
    assert all(torch.equal(first[key], second[key]) for key in first)
    third = kafnets.mlp(5, (6, 6), 1, name, generator=torch.Generator().manual_seed(4)).state_dict()
    if name != "network_in_network":
        assert torch.equal(torch.get_rng_state(), before)
    assert any(not torch.equal(first[key], third[key]) for key in first)


def test_weights_start_as_he_says() -> None:
    network = kafnets.mlp(600, (500,), 1, "relu")
    linear = network[0]
    assert isinstance(linear, nn.Linear)
    bound = (6 / 600) ** 0.5
    assert 0.99 * bound < linear.weight.abs().max().item() <= bound
    assert not linear.bias.any()
    maxout = kafnets.mlp(600, (100,), 1, "maxout")[0]
    assert isinstance(maxout, kafnets.Maxout)
    assert 0.99 * bound < next(maxout.parameters()).abs().max().item() <= bound


def test_weights_start_as_lecun_says() -> None:
    generator = torch.Generator().manual_seed(0)
    for network in (
        kafnets.mlp(200, (300,), 2, "kaf", weights="lecun", generator=generator),
        kafnets.cnn(8, 4, 1, 2, "kaf", weights="lecun", generator=generator),
    ):
        weight = network[0].weight
        assert isinstance(weight, torch.Tensor)
        bound = (3 / weight[0].numel()) ** 0.5
        assert 0.98 * bound < weight.abs().max() <= bound
    with pytest.raises(ValueError, match="weights must be 'he' or 'lecun', got 'glorot'"):
        kafnets.mlp(2, (3,), 1, weights="glorot")  # type: ignore[arg-type]


def test_the_papers_convolutional_network() -> None:
    network = kafnets.cnn(modules=5, activation="elu")
    kinds = [type(layer).__name__ for layer in network]
    assert kinds == ["Conv2d", "ELU", "MaxPool2d", "Dropout"] * 5 + ["Flatten", "Linear"]
    convolution, last = network[0], network[-1]
    assert isinstance(convolution, nn.Conv2d)
    assert (convolution.out_channels, convolution.kernel_size) == (150, (5, 5))
    assert isinstance(last, nn.Linear)
    assert last.in_features == 150  # 32 pixels halve five times
    halves = kafnets.cnn(modules=2, activation="kaf2d")
    assert isinstance(halves[4], nn.Conv2d)
    assert halves[4].in_channels == 75


@pytest.mark.parametrize("name", ["elu", "kaf", "kaf2d"])
def test_convolutional_networks_compute_with_channels_last(name: str) -> None:
    generator = torch.Generator().manual_seed(0)
    network = kafnets.cnn(3, 8, 2, 4, name, filters=6, dropout=0.0, generator=generator).double()
    images = torch.randn(5, 3, 8, 8, generator=generator, dtype=torch.float64)
    inner = network[:3](images)
    assert inner.is_contiguous(memory_format=torch.channels_last)
    assert not inner.is_contiguous()
    plain = copy.deepcopy(network).to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
    assert plain[:3](images).is_contiguous()
    for each in (network, plain):
        each(images).square().sum().backward()
    torch.testing.assert_close(network(images), plain(images))
    for one, two in zip(network.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one.grad, two.grad, rtol=1e-9, atol=1e-10)
    network.load_state_dict(plain.state_dict())
    assert network[:3](images).is_contiguous(memory_format=torch.channels_last)


def test_dropout() -> None:
    network = kafnets.mlp(18, (10,) * 5, 1, "relu", dropout=(0, 0, 0, 0.5, 0.5))
    assert [type(layer).__name__ for layer in network].count("Dropout") == 2
    assert isinstance(network[-2], nn.Dropout)
    alpha = kafnets.mlp(18, (10, 10), 1, "selu", dropout=0.5)
    assert [type(layer).__name__ for layer in alpha].count("AlphaDropout") == 2
    assert isinstance(kafnets.mlp(18, (10,), 1, nn.SELU, dropout=0.5)[-2], nn.AlphaDropout)
    with pytest.raises(ValueError, match="one for each of the 2 hidden layers, got 3"):
        kafnets.mlp(18, (10, 10), 1, "relu", dropout=(0.1, 0.2, 0.3))
    with pytest.raises(ValueError, match="dropout must be from 0 to below 1, got 1"):
        kafnets.mlp(18, (10, 10), 1, "relu", dropout=1.0)


def test_factories() -> None:
    assert isinstance(kafnets.mlp(3, (4,), 1, nn.GELU)[1], nn.GELU)
    prelu = kafnets.mlp(3, (4,), 1, nn.PReLU)[1]
    assert isinstance(prelu, nn.PReLU)
    assert prelu.num_parameters == 4
    assert isinstance(kafnets.mlp(3, (4,), 1, lambda n: nn.LayerNorm(n))[1], nn.LayerNorm)
    kaf = kafnets.cnn(1, 8, 1, 2, kafnets.KAF, filters=4, dictionary_size=5)[1]
    assert isinstance(kaf, kafnets.KAF)
    assert (kaf.dim, kaf.dictionary_size) == (1, 5)
    with pytest.raises(
        TypeError, match=r"activation must be a name or a function that creates modules, got ReLU\(\)"
    ):
        kafnets.mlp(3, (4,), 1, nn.ReLU())


def test_layers_with_their_own_map_as_factories() -> None:
    assert kafnets.mlp(3, (4, 4), 1, kafnets.Maxout)(torch.randn(5, 3)).shape == (5, 1)
    bare = functools.partial(nn.Linear, bias=False)
    layer = kafnets.mlp(3, (4,), 1, "lp_unit", linear=bare)[0]
    assert isinstance(layer, kafnets.LpUnit)
    assert isinstance(layer.linear, nn.Linear)
    assert layer.linear.bias is None
    assert kafnets.mlp(3, (4,), 1, kafnets.KAF, dim=1)[1].dim == 1


def test_an_activations_own_linear_maps_are_left_alone() -> None:
    class Own(nn.Module):
        def __init__(self, num_features: int) -> None:
            super().__init__()
            self.inner = nn.Linear(num_features, num_features)
            nn.init.zeros_(self.inner.weight)

    own = kafnets.mlp(3, (4,), 1, Own)[1]
    assert isinstance(own, Own)
    assert not own.inner.weight.any()


def test_options_reach_the_activation() -> None:
    kaf = kafnets.mlp(3, (4,), 1, "kaf", dictionary_size=7, init="elu", dtype=torch.float64)[1]
    assert kaf.dictionary_size == 7
    assert kaf.alpha.dtype == torch.float64
    with pytest.raises(TypeError, match="relu: got an unexpected keyword argument 'dictionary_size'"):
        kafnets.mlp(3, (4,), 1, "relu", dictionary_size=7)


def test_arguments_are_checked() -> None:
    with pytest.raises(ValueError, match="inputs must be an integer ≥ 1, got 0"):
        kafnets.mlp(0)
    with pytest.raises(ValueError, match="hidden must be an integer ≥ 1, got -3"):
        kafnets.mlp(3, (4, -3))
    with pytest.raises(ValueError, match="kernel_size must be an odd integer, got 4"):
        kafnets.cnn(kernel_size=4)
    assert len(kafnets.mlp(3, (), 2)) == 1  # a linear model


def test_networks_can_be_built_without_memory() -> None:
    assert next(kafnets.mlp(3, (4,), 1, "saf", device="meta").parameters()).is_meta
