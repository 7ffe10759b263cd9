"""Pruned models are smaller and compute the same; what cannot be pruned is named."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import kafnets


def outputs(model: nn.Module, x: Tensor) -> Tensor:
    with torch.no_grad():
        result: Tensor = model.eval()(x)
    return result


def check(model: nn.Module, smaller: Any, x: Tensor, tolerance: float) -> None:
    """The report is what can be measured, and the model as given is a model still."""
    change = (outputs(smaller, x).double() - outputs(model, x).double()).abs()
    assert change.max() <= tolerance
    torch.testing.assert_close(change.max().item(), smaller.pruning.output_largest, rtol=1e-6, atol=1e-9)
    counts = [sum(each.numel() for each in which.parameters()) for which in (model, smaller)]
    assert counts == [smaller.pruning.parameters_before, smaller.pruning.parameters_after]


def network(*hidden: int, activation: str = "kaf", **options: Any) -> tuple[Any, Tensor]:
    torch.manual_seed(0)
    return kafnets.mlp(4, hidden, 2, activation, **options), torch.randn(300, 4)


def test_constant_neurons_go_into_the_next_bias() -> None:
    model, x = network(8, 6)
    with torch.no_grad():
        model[1].alpha[[0, 5]] = 0
        model[0].weight[3] = 0  # a constant other than 0
        model[0].bias[3] = 0.7
        model[3].alpha[2:] = 0
    smaller: Any = kafnets.prune(model, x, 1e-5)
    check(model, smaller, x, 1e-5)
    assert [(each.before, each.after, each.constant) for each in smaller.pruning.layers] == [
        (8, 5, 3),
        (6, 2, 4),
    ]
    assert str(smaller[0]) == "Linear(in_features=4, out_features=5, bias=True)"
    assert str(smaller[2]) == "Linear(in_features=5, out_features=2, bias=True)"
    assert smaller[1].alpha.shape == (5, 20)
    assert torch.equal(smaller[0].weight, model[0].weight[[1, 2, 4, 6, 7]])
    assert model[1].alpha.shape == (8, 20)
    smaller(x).sum().backward()
    assert smaller[1].alpha.grad.shape == (5, 20)
    again = kafnets.mlp(4, (5, 2), 2, "kaf")
    again.load_state_dict(smaller.state_dict())
    assert torch.equal(outputs(again, x), outputs(smaller, x))
    assert "1: 8 neurons, now 5 (3 constant, 0 merged)" in str(smaller.pruning)


def test_linear_neurons_are_merged_where_that_is_exact() -> None:
    """Of ten linear neurons on four inputs, four say everything."""
    model, x = network(12, base="identity")
    with torch.no_grad():
        model[1].alpha[10:].normal_(0, 2)
    smaller: Any = kafnets.prune(model, x, 1e-4)
    check(model, smaller, x, 1e-4)
    assert (smaller.pruning.layers[0].merged, smaller.pruning.layers[0].after) == (6, 6)
    fresh = torch.randn(200, 4)
    torch.testing.assert_close(outputs(smaller, fresh), outputs(model, fresh), atol=1e-3, rtol=0)


def test_a_linear_layer_becomes_one_map_with_the_next() -> None:
    model, x = network(12, 5, base=kafnets.Base("identity", "weighted"))
    with torch.no_grad():
        model[1].base_weight.uniform_(0.5, 2)
        model[3].alpha.normal_(0, 2)
    smaller: Any = kafnets.prune(model, x, 1e-4)
    check(model, smaller, x, 1e-4)
    assert smaller.pruning.layers[0].collapsed
    assert str(smaller[2]) == "Linear(in_features=4, out_features=5, bias=True)"
    assert isinstance(smaller[0], nn.Identity)
    assert isinstance(smaller[1], nn.Identity)


def test_linear_pairs() -> None:
    model, x = network(8, activation="kaf2d")
    model[1] = kafnets.KAF2D(
        8, dim=-1, kernel=kafnets.Polynomial(1), init=kafnets.Ridge(lambda s, t: 2 * s - t + 1)
    )
    smaller: Any = kafnets.prune(model, x, 1e-3)
    check(model, smaller, x, 1e-3)
    assert smaller.pruning.layers[0].collapsed


def test_coefficients_that_do_not_matter() -> None:
    model, x = network(6)
    with torch.no_grad():
        model[0].weight *= 0.05  # all inputs are near 0, and no element far from there matters
        model[1].alpha[:, 9] = 1e-9
    smaller: Any = kafnets.prune(model, x, 1e-3)
    check(model, smaller, x, 1e-3)
    layer = smaller.pruning.layers[0]
    assert layer.elements_before == 20
    assert 2 < layer.elements_after < 16
    assert smaller[1].alpha.shape == (layer.after, layer.elements_after)
    assert layer.zeros == (smaller[1].alpha == 0).sum() > 0
    assert smaller[1].expansion.dictionary.spacing is not None


def test_pairs() -> None:
    model, x = network(8, 6, activation="kaf2d")
    with torch.no_grad():
        model[1].alpha[[0, 2]] = 0
    smaller: Any = kafnets.prune(model, x, 1e-4)
    check(model, smaller, x, 1e-4)
    assert [(each.before, each.after) for each in smaller.pruning.layers] == [(4, 2), (3, 3)]
    assert torch.equal(smaller[0].weight, model[0].weight[[2, 3, 6, 7]])
    assert (smaller[1].num_features, smaller[2].in_features) == (4, 2)


@pytest.mark.parametrize("padding", [0, 1])
def test_images(padding: int) -> None:
    torch.manual_seed(0)
    model: Any = nn.Sequential(
        *(nn.Conv2d(1, 6, 3, padding=padding), nn.BatchNorm2d(6), kafnets.KAF(6), nn.MaxPool2d(2)),
        *(nn.Conv2d(6, 5, 2, padding=padding, bias=False), kafnets.KAF(5), nn.BatchNorm2d(5), nn.Dropout()),
        *(nn.Flatten(), nn.LazyLinear(7), nn.ReLU(), nn.Linear(7, 2)),
    )
    x = torch.randn(40, 1, 8, 8)
    model(x)  # statistics of normalization, and the width of the dense layer
    with torch.no_grad():
        model[2].alpha[3:] = 0
        model[5].alpha[1] = 0
        model[9].bias[4] = -100
    on = (outputs(model[:11], x) > 0).any(0)
    assert not on[4]
    smaller: Any = kafnets.prune(model, x, 1e-4)
    check(model, smaller, x, 1e-4)
    layers = smaller.pruning.layers
    assert [(each.before, each.after) for each in layers[:2]] == [(6, 3), (5, 4)]
    assert layers[2].constant == (~on).sum()
    assert (smaller[0].out_channels, smaller[1].num_features, smaller[4].in_channels) == (3, 3, 3)
    assert (smaller[6].num_features, smaller[9].in_features) == (4, model[9].in_features // 5 * 4)


def test_one_function_for_all_channels() -> None:
    torch.manual_seed(0)
    model: Any = nn.Sequential(nn.Linear(4, 8), kafnets.KAF(dim=-1), nn.Linear(8, 2))
    x = torch.randn(100, 4)
    with torch.no_grad():
        model[0].weight[:3] = 0
    smaller: Any = kafnets.prune(model, x, 1e-5)
    check(model, smaller, x, 1e-5)
    assert smaller[0].out_features == 5


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.kaf, self.second = nn.Linear(4, 4), kafnets.KAF(4, dim=-1), nn.Linear(4, 4)
        self.inner, self.outer, self.head = kafnets.KAF(4, dim=-1), kafnets.KAF(4, dim=-1), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.kaf(self.first(x))
        result: Tensor = self.head(self.outer(x + self.inner(self.second(x))))
        return result


def test_residual_branches_are_refused_by_name() -> None:
    x = torch.randn(50, 4)
    with pytest.raises(ValueError, match=r"kaf: the output of kaf goes to 2 places, as in residual") as error:
        kafnets.prune(Residual(), x)
    assert "inner: its output goes to add, a residual branch, not to a linear map" in str(error.value)
    assert "outer: its input comes from add, not from a linear map" in str(error.value)
    both = nn.Sequential(nn.Linear(4, 3), kafnets.KAF(3, dim=-1), nn.Linear(3, 4), Residual())
    with torch.no_grad():
        both[1].alpha[0] = 0  # type: ignore[operator]
    smaller: Any = kafnets.prune(both, x, 1e-5)
    check(both, smaller, x, 1e-5)
    assert smaller[0].out_features == 2
    assert [each.split(":")[0] for each in smaller.pruning.refused] == ["3.kaf", "3.inner", "3.outer"]


def test_mistakes() -> None:
    model, x = network(6)
    with pytest.raises(ValueError, match="tolerance must be a positive finite number, got 0"):
        kafnets.prune(model, x, 0)
    with pytest.raises(TypeError, match=r"model must be a torch\.nn\.Module, got str"):
        kafnets.prune("model", x)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no layer that can be pruned: it has no activations between"):
        kafnets.prune(nn.Linear(4, 2), x)
    shared = kafnets.KAF(4, dim=-1)
    twice = nn.Sequential(nn.Linear(4, 4), shared, nn.Linear(4, 4), shared, nn.Linear(4, 1))
    with pytest.raises(ValueError, match=r"1: '1' is used more than once; 1: '1' is used"):
        kafnets.prune(twice, x)
    others = nn.Sequential(nn.Linear(4, 4), kafnets.SAF(4, dim=-1), nn.Linear(4, 1))
    with pytest.raises(ValueError, match="1: neurons cannot be removed from a SAF"):
        kafnets.prune(others, x)
    groups = nn.Sequential(nn.Linear(4, 4), kafnets.KAF(4, groups=2, dim=-1), nn.Linear(4, 1))
    with pytest.raises(ValueError, match="1: groups of its neurons share functions"):
        kafnets.prune(groups, x)


@pytest.mark.parametrize("group", [False, True])
def test_proximal_steps_are_exact(group: bool) -> None:
    """What they give is where the subgradient of the proximal problem contains 0."""
    model = kafnets.mlp(3, (5,), 1, "kaf")
    alpha: Any = model[1].alpha
    optimizer = torch.optim.SGD([alpha], lr=0.5)
    kafnets.proximal(optimizer, model, 1.2, group=group)
    alpha.grad = torch.zeros_like(alpha)
    before = alpha.detach().double().numpy().copy()
    optimizer.step()
    after = alpha.detach().double().numpy()
    size = 0.5 * 1.2
    for old, new in zip(before, after, strict=True):
        if group:
            norm = np.linalg.norm(new)
            assert np.abs(new - old + size * new / max(norm, 1e-300)).max() < 1e-6 or norm == 0
            assert norm > 0 or np.linalg.norm(old) <= size + 1e-6
        else:
            on = new != 0
            assert np.abs(new - old + size * np.sign(new))[on].max(initial=0) < 1e-6
            assert (np.abs(old[~on]) <= size + 1e-6).all()
    assert (after == 0).any() or group


def test_proximal_mistakes() -> None:
    model, other = kafnets.mlp(3, (5,), 1, "kaf"), kafnets.mlp(3, (5,), 1, "kaf")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(ValueError, match="strength must be a finite number ≥ 0, got -1"):
        kafnets.proximal(optimizer, model, -1)
    with pytest.raises(ValueError, match="optimizer must hold mixing coefficients of model, got none"):
        kafnets.proximal(optimizer, other, 1)
    with pytest.raises(TypeError, match=r"optimizer must be a torch\.optim\.Optimizer, got str"):
        kafnets.proximal("adam", model, 1)  # type: ignore[arg-type]
    hook = kafnets.proximal(optimizer, model, 1e6)
    hook.remove()
    model(torch.randn(2, 3)).sum().backward()
    optimizer.step()
    assert (model[1].alpha != 0).all()  # type: ignore[union-attr]
