"""Fixed activations."""

import torch
from torch import nn

import kafnets


def test_they_are_torchs_own() -> None:
    for name, kind in {"tanh": nn.Tanh, "selu": nn.SELU, "swish": nn.SiLU, "relu": nn.ReLU}.items():
        assert isinstance(kafnets.create(name, 3), kind)


def test_selus_constants_keep_mean_0_and_variance_1() -> None:
    """By quadrature; with the paper's constants, the wrong way round, neither would hold."""
    s = torch.linspace(-12, 12, 2_000_001, dtype=torch.float64)
    density = torch.exp(-s * s / 2) / (2 * torch.pi) ** 0.5
    values = kafnets.create("selu", 1)(s)
    step = s[1] - s[0]
    mean = (values * density).sum() * step
    assert mean.abs() < 1e-7
    assert ((values**2 * density).sum() * step - 1).abs() < 1e-7


def test_softplus_keeps_its_last_digits_in_float64() -> None:
    s = torch.tensor([20.0, 25.0, 30.0], dtype=torch.float64)
    beyond = kafnets.create("softplus", 1)(s) - s
    torch.testing.assert_close(beyond, torch.log1p(torch.exp(-s)), rtol=1e-4, atol=4e-15)
