"""Activations with noise."""

import torch

from kafnets import NoisyHardSigmoid, NoisyHardTanh


def test_there_is_noise_only_where_the_function_saturates() -> None:
    s = torch.linspace(-4, 4, 801, dtype=torch.float64)[:, None]
    for module, edge in (
        (NoisyHardTanh(1, dtype=torch.float64), 1.0),
        (NoisyHardSigmoid(1, dtype=torch.float64), 2.0),
    ):
        first, second = module(s), module(s)
        inside = s.abs() < edge
        torch.testing.assert_close(first[inside], second[inside], rtol=0, atol=0)
        outside = s.abs() > edge + 0.1
        assert (first[outside] != second[outside]).all()


def test_alpha_one_has_no_noise() -> None:
    module, s = NoisyHardTanh(1, alpha=1.0), torch.linspace(-4, 4, 81)[:, None]
    torch.testing.assert_close(module(s), s.clamp(-1, 1))
