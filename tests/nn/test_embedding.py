"""Numerical embeddings: values, quantiles, starts, gradients."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from kafnets.nn import KAFEmbedding, PeriodicEmbedding
from kafnets.nn.averaged import Averaged
from kafnets.nn.embedding import KNOTS, spread_evenly


def made(**options: Any) -> KAFEmbedding:
    return KAFEmbedding(3, [0, 2], generator=torch.Generator().manual_seed(0), dtype=torch.float64, **options)


def gamma_of(layer: KAFEmbedding) -> float:
    gamma = layer.functions.gamma
    assert isinstance(gamma, float)
    return gamma


def rows(number: int = 400) -> torch.Tensor:
    return torch.randn(number, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def test_features_come_first_and_each_function_sees_its_feature() -> None:
    layer, inputs = made(outputs=2), rows()
    layer.learn_quantiles(inputs)
    found = layer(inputs).detach().numpy()
    assert found.shape == (400, 3 + 2 * 2)
    assert_allclose(found[:, :3], inputs)
    spread = spread_evenly(inputs[:, [0, 2]], layer.knots, 3.0).numpy()
    alpha, elements = layer.functions.alpha.detach().numpy(), layer.functions.dictionary.numpy()
    for place, (feature, function) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)]):
        distances = spread[:, feature, None] - elements
        wanted = np.exp(-gamma_of(layer) * distances**2) @ alpha[2 * feature + function]
        assert_allclose(found[:, 3 + place], wanted, rtol=1e-9, atol=1e-12)


def test_values_are_spread_by_their_quantiles() -> None:
    values = rows(1001)
    values[:, 1] = values[:, 1].round()  # ties
    layer = KAFEmbedding(3, dtype=torch.float64)
    layer.learn_quantiles(values)
    found = spread_evenly(values, layer.knots, 3.0).numpy()
    for feature in range(3):
        column = values[:, feature].numpy()
        below = (column[:, None] > column).mean(1) + (column[:, None] == column).mean(1) / 2
        assert np.abs(found[:, feature] - (6 * below - 3)).max() < 6 * 1.5 / (KNOTS - 1)


def test_what_is_beyond_all_quantiles_stays_at_the_ends() -> None:
    layer = made()
    layer.learn_quantiles(rows())
    far = torch.tensor([[1e9, 0.0, -1e9]], dtype=torch.float64)
    assert spread_evenly(far[:, [0, 2]], layer.knots, 3.0).tolist() == [[3.0, -3.0]]


def test_functions_start_as_cosines() -> None:
    layer = made(scale=0.2, dictionary_size=40, boundary=6.0)
    generator = torch.Generator().manual_seed(0)
    frequencies = torch.randn(8, 1, generator=generator, dtype=torch.float64)
    phases = torch.rand(8, 1, generator=generator, dtype=torch.float64) * 2 * math.pi
    places = torch.linspace(-3, 3, 50, dtype=torch.float64)
    found = layer.functions(places[:, None].expand(-1, 8)).detach()
    # A Gaussian takes a little from each wave, the more the higher its frequency is.
    waves = torch.cos(frequencies * places + phases) * torch.exp(-(frequencies**2) / 4 / gamma_of(layer))
    assert_allclose(found, 0.2 * waves.T, atol=1e-4)


def test_gradients_of_inputs_and_coefficients() -> None:
    layer, inputs = made(outputs=2, dictionary_size=6), rows(5).requires_grad_()
    layer.learn_quantiles(rows())
    assert torch.autograd.gradcheck(layer, (inputs,), eps=1e-7, atol=1e-5)
    layer(inputs).sum().backward()
    assert layer.functions.alpha.grad is not None
    assert layer.functions.alpha.grad.abs().min() > 0


def test_quantiles_are_saved() -> None:
    layer, other = made(), KAFEmbedding(3, [0, 2], dtype=torch.float64)
    layer.learn_quantiles(rows())
    other.load_state_dict(layer.state_dict())
    assert torch.equal(layer(rows()), other(rows()))
    assert bool(other.learned)


def test_without_columns_it_is_the_identity() -> None:
    layer, inputs = KAFEmbedding(3, []), torch.randn(4, 3)
    layer.learn_quantiles(inputs)
    assert torch.equal(layer(inputs), inputs)
    assert layer.out_features == 3


def test_periodic_formula() -> None:
    layer, inputs = PeriodicEmbedding(3, [1], outputs=2, frequencies=5, dtype=torch.float64), rows(7)
    waves = torch.cos(inputs[:, 1:2] * layer.frequencies[0] + layer.phases[0])
    assert_allclose(
        layer(inputs)[:, 3:].detach(), (waves @ layer.weight[0] + layer.bias[0]).detach(), rtol=1e-12
    )


def test_columns_that_are_not_there() -> None:
    with pytest.raises(ValueError, match="columns must be from 0 to 2, got 3"):
        KAFEmbedding(3, [0, 3])


@pytest.mark.parametrize("link", ["identity", "logistic", "softmax", "log"])
def test_predictions_are_averaged(link: Any) -> None:
    members = [torch.nn.Linear(3, 4).double() for _ in range(3)]
    inputs = rows(6)
    means: dict[str, Any] = {
        "identity": lambda outputs: outputs,
        "logistic": torch.sigmoid,
        "softmax": lambda outputs: outputs.softmax(-1),
        "log": torch.exp,
    }
    mean = means[link]
    wanted = torch.stack([mean(member(inputs)) for member in members]).mean(0)
    assert_allclose(mean(Averaged(members, link).eval()(inputs)).detach(), wanted.detach(), rtol=1e-12)


def test_averages_of_sure_members_stay_finite() -> None:
    member = torch.nn.Linear(1, 1)
    torch.nn.init.constant_(member.weight, 1e4)
    torch.nn.init.zeros_(member.bias)
    found = Averaged([member, member], "logistic").eval()(torch.tensor([[1.0], [-1.0]]))
    assert_allclose(found.detach(), [[1e4], [-1e4]])
