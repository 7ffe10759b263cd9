"""Biases drawn from data."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import kafnets
from kafnets import KAF, initialize_biases


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def rows(*shape: int) -> Tensor:
    """Far from the origin, as features that nobody has scaled."""
    return 4.0 + torch.randn(*shape, generator=generator(1))


def seen(model: nn.Module, inputs: Tensor) -> list[Tensor]:
    """What goes into each KAF, a column per neuron."""
    found: list[Tensor] = []

    def note(module: Any, given: tuple[Tensor]) -> None:
        found.append(given[0].movedim(module.dim, -1).flatten(0, -2))

    handles = [each.register_forward_pre_hook(note) for each in model.modules() if isinstance(each, KAF)]
    with torch.no_grad():
        model.eval()(inputs)
    for handle in handles:
        handle.remove()
    return found


def outside(model: nn.Module, inputs: Tensor) -> float:
    return torch.cat([each.flatten() for each in seen(model, inputs)]).abs().gt(3).double().mean().item()


def sequential() -> nn.Module:
    return nn.Sequential(
        nn.Conv1d(3, 16, 3), KAF(16), nn.Dropout(0.5), nn.Conv1d(16, 16, 3, bias=False), KAF(16), nn.Flatten()
    )


@pytest.mark.parametrize("kind", ["mlp", "cnn", "sequential"])
def test_activations_come_into_the_dictionary(kind: str) -> None:
    if kind == "mlp":
        model, inputs = kafnets.mlp(20, (64, 64), 3, weights="lecun", generator=generator()), rows(400, 20)
        expected = ["0", "2"]
    elif kind == "cnn":
        model = kafnets.cnn(3, 8, 2, 3, filters=16, kernel_size=3, weights="lecun", generator=generator())
        inputs, expected = rows(50, 3, 8, 8), ["0", "4"]
    else:
        torch.manual_seed(0)
        model, inputs, expected = sequential(), rows(60, 3, 9), ["0"]  # type: ignore[assignment]
    before = outside(model, inputs)
    assert initialize_biases(model, inputs, generator=generator()) == expected
    # Zero padding shifts borders of images, which no bias can mend.
    assert outside(model, inputs) < 0.6 * before
    first = seen(model, inputs)[0]
    medians, spread = first.median(dim=0).values, first.std(dim=0)
    assert medians.abs().median() < spread.median()
    if kind == "mlp":
        for column in seen(model, inputs):
            assert (column.median(dim=0).values.abs() < 2.5 * column.std(dim=0)).all()
            assert (column.min(dim=0).values < 0).all()
            assert (column.max(dim=0).values > 0).all()  # a convex mix: data lies on both sides


def test_the_mix_is_convex_and_counts_the_old_bias() -> None:
    model = nn.Sequential(nn.Linear(2, 5), KAF(5))
    inputs = rows(1, 2)
    initialize_biases(model, inputs, generator=generator())
    torch.testing.assert_close(seen(model, inputs)[0], torch.zeros(1, 5), rtol=0, atol=1e-5)
    single = nn.Sequential(nn.Linear(2, 5), KAF(5))
    data = rows(30, 2)
    initialize_biases(single, data, members=1, generator=generator())
    assert (seen(single, data)[0].abs().min(dim=0).values < 1e-5).all()  # each neuron has one row at 0


def test_what_stands_between_and_what_is_shared() -> None:
    shared = nn.Linear(6, 6)
    model = nn.Sequential(
        nn.Linear(6, 6), nn.BatchNorm1d(6), KAF(6), shared, KAF(6), shared, KAF(6), nn.Linear(6, 6), nn.ReLU()
    )
    inputs = rows(40, 6)
    assert initialize_biases(model, inputs) == ["3"]
    assert all(module.training for module in model.modules())
    normalization = model[1]
    assert isinstance(normalization, nn.BatchNorm1d)
    assert normalization.num_batches_tracked == 0
    assert (normalization.running_mean == 0).all()  # type: ignore[union-attr]


def test_the_generator_decides() -> None:
    models = [kafnets.mlp(5, (8, 8), 1, generator=generator()) for _ in range(3)]
    state = torch.get_rng_state()
    for model, seed in zip(models, (3, 3, 4), strict=True):
        initialize_biases(model, rows(20, 5), generator=generator(seed))
    assert torch.equal(state, torch.get_rng_state())
    first, same, other = (model[2].bias for model in models)
    assert isinstance(first, Tensor)
    assert torch.equal(first, same)  # type: ignore[arg-type]
    assert not torch.equal(first, other)  # type: ignore[arg-type]


def test_mistakes_leave_the_model_as_it_was() -> None:
    model = kafnets.mlp(5, (8, 8), 1)
    second = model[2]
    assert isinstance(second, nn.Linear)
    with torch.no_grad():
        second.weight[0, 0] = torch.inf
    before = [parameter.clone() for parameter in model.parameters()]
    data = rows(20, 5)
    broken = data.clone()
    broken[3, 1] = torch.nan
    for inputs, message in (
        (data, "pre-activations of layer '2' are not finite"),
        (data[:0], r"inputs must hold at least one row, got shape \(0, 5\)"),
        (broken, "inputs must be finite, got 1 values"),
    ):
        with pytest.raises(ValueError, match=message):
            initialize_biases(model, inputs)
    with pytest.raises(RuntimeError, match="shapes"):
        initialize_biases(model, rows(20, 4))
    with pytest.raises(TypeError, match="inputs must be a tensor"):
        initialize_biases(model, [[1.0]])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="members must be an integer"):
        initialize_biases(model, data, members=0)
    with pytest.raises(ValueError, match="nothing to initialize"):
        initialize_biases(nn.Sequential(nn.Linear(5, 4), nn.ReLU()), data)
    for parameter, old in zip(model.parameters(), before, strict=True):
        assert torch.equal(parameter, old)
    for module in model.modules():
        assert not module._forward_hooks
        assert not module._forward_pre_hooks
