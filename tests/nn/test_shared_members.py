"""Members that share weights, compared to networks of their own."""

from typing import Any

import pytest
import torch
from numpy.testing import assert_allclose
from torch import Tensor, nn

import kafnets
from kafnets.nn import Averaged, MemberLinear, SharedMembers

MEMBERS, INPUTS, WIDTH, OUTPUTS = 4, 5, 6, 3


def network(activation: str = "kaf", **options: Any) -> nn.Module:
    """With scales, biases and coefficients that differ between members."""
    generator = torch.Generator().manual_seed(0)
    made = kafnets.shared_mlp(
        INPUTS, (WIDTH, WIDTH), OUTPUTS, activation, members=MEMBERS, link="softmax", generator=generator,
        dtype=torch.float64, **options,
    )  # fmt: skip
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return made


def member(shared: nn.Module, number: int) -> nn.Sequential:
    """One of them, as an ordinary network."""
    layers: list[nn.Module] = []
    for layer in shared.get_submodule("network"):  # type: ignore[attr-defined]
        if isinstance(layer, MemberLinear):
            one: nn.Module = nn.Linear(layer.in_features, layer.out_features, dtype=torch.float64)
            scale = layer.scale.unflatten(0, (MEMBERS, -1))[number]
            one.weight = nn.Parameter(layer.weight * scale)
            one.bias = nn.Parameter(layer.bias.unflatten(0, (MEMBERS, -1))[number])
        else:
            one = kafnets.KAF(WIDTH, dtype=torch.float64)
            own = {
                name: value.unflatten(0, (MEMBERS, -1))[number]
                if value.dim() and len(value) == MEMBERS * WIDTH
                else value
                for name, value in layer.state_dict().items()
            }
            one.load_state_dict(own)
        layers.append(one)
    return nn.Sequential(*layers)


@pytest.fixture
def rows() -> Tensor:
    return torch.randn(11, INPUTS, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_members_are_networks_whose_predictions_are_averaged(rows: Tensor) -> None:
    shared = network()
    alone = Averaged([member(shared, number) for number in range(MEMBERS)], "softmax")
    assert_allclose(shared.eval()(rows).detach(), alone.eval()(rows).detach(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("passes", [1, 2, 3, 4])
@pytest.mark.parametrize("count", [1, 2, 7, 11])
def test_each_row_is_given_to_so_many_different_members(rows: Tensor, passes: int, count: int) -> None:
    shared = network(passes=passes)
    outputs = shared.train()(rows[:count])
    assert outputs.shape == (passes, count, OUTPUTS)
    each = torch.stack([member(shared, number)(rows[:count]) for number in range(MEMBERS)])
    is_of = (outputs[:, None] - each[None]).abs().amax(-1) < 1e-9  # pass, member, row
    assert (is_of.sum(1) == 1).all()
    if count >= MEMBERS:  # of fewer rows, a member may see one twice
        assert (is_of.sum(0) <= 1).all()
        assert is_of.any(2).any(0).all(), "each member is trained"


def test_all_passes_give_every_member_every_row(rows: Tensor) -> None:
    shared = network(passes=MEMBERS)
    each = torch.stack([member(shared, number)(rows) for number in range(MEMBERS)])
    assert_allclose(shared.train()(rows).detach(), each.detach(), rtol=1e-10, atol=1e-12)


def test_gradients_reach_all_parameters(rows: Tensor) -> None:
    shared = network()
    shared.train()(rows).square().mean().backward()
    assert all(each.grad is not None and each.grad.abs().sum() > 0 for each in shared.parameters())


def test_members_start_from_different_functions_and_the_seed_decides_them(rows: Tensor) -> None:
    first, again = (
        kafnets.shared_mlp(INPUTS, (8,), 1, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
        for _ in range(2)
    )
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True))
    scale = first.get_parameter("network.0.scale")
    assert set(scale.tolist()) == {-1.0, 1.0}
    assert first.get_parameter("network.2.scale").eq(1).all()


@pytest.mark.parametrize("activation", ["relu", "prelu", "kaf2d", "swiglu", "maxout"])
def test_activations_of_single_and_of_neighboring_neurons_work(activation: str, rows: Tensor) -> None:
    shared = network(activation)
    assert shared.eval()(rows).shape == (11, OUTPUTS)


def test_activations_that_mix_members_are_refused() -> None:
    with pytest.raises(ValueError, match="'crelu' mixes the neurons of members"):
        kafnets.shared_mlp(5, (8,), 1, "crelu")


def test_an_embedding_comes_first_once_for_all(rows: Tensor) -> None:
    first = kafnets.nn.PeriodicEmbedding(INPUTS, dtype=torch.float64)
    shared = kafnets.shared_mlp(first.out_features, (8,), 1, first=first, dtype=torch.float64)
    assert shared.train()(rows).shape == (2, 11, 1)
    assert shared.eval()(rows).shape == (11, 1)


def test_biases_are_drawn_for_each_member(rows: Tensor) -> None:
    shared = kafnets.shared_mlp(INPUTS, (8, 8), 1, members=3, dtype=torch.float64)
    assert kafnets.initialize_biases(shared, rows) == ["network.0", "network.2"]
    biases = shared.get_parameter("network.0.bias").unflatten(0, (3, -1))
    assert not torch.equal(biases[0], biases[1])


def test_scales_are_not_decayed() -> None:
    shared = network()
    groups = {group["name"]: group["params"] for group in kafnets.param_groups(shared, weight_decay=0.1)}
    assert [each.shape for each in groups["weights"]] == [(6, 5), (6, 6), (3, 6)]


def test_too_many_passes_are_told() -> None:
    with pytest.raises(ValueError, match="passes must be at most the number of members, 2, got 3"):
        SharedMembers(nn.Identity(), 2, "identity", passes=3)
