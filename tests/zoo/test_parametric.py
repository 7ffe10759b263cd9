"""Parametric activations: starts, constraints, torch's own."""

import pytest
import torch
from torch import nn

from kafnets import APL, PAF, PELU, BetaSwish, GeneralizedTanh, PReLU, SReLU, penalty


def test_starts() -> None:
    s = torch.linspace(-4, 4, 101, dtype=torch.float64)[:, None].expand(-1, 3)
    torch.testing.assert_close(PELU(3, dtype=torch.float64)(s), nn.functional.elu(s))
    torch.testing.assert_close(BetaSwish(3, dtype=torch.float64)(s), nn.functional.silu(s))
    torch.testing.assert_close(SReLU(3, dtype=torch.float64)(s), nn.functional.leaky_relu(s, 0.2))
    torch.testing.assert_close(PReLU(3, dtype=torch.float64)(s), nn.functional.leaky_relu(s, 0.25))
    tanh = GeneralizedTanh(1000, generator=torch.Generator().manual_seed(0))
    assert 0.5 <= tanh.a.min().item() < 0.6 < 1.4 < tanh.a.max().item() <= 1.5
    assert 1.0 <= tanh.b.min().item() < 1.1 < 2.9 < tanh.b.max().item() <= 3.0


@pytest.mark.parametrize("kind", [PELU, GeneralizedTanh])
def test_positive_parameters_stay_positive(kind: type[PELU | GeneralizedTanh]) -> None:
    module = kind(4)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.5)
    s = torch.linspace(-3, 3, 32).view(8, 4)
    for _ in range(50):  # pulls the amplitudes to 0
        optimizer.zero_grad()
        module(s).square().mean().backward()
        optimizer.step()
        values = (module.alpha, module.beta) if isinstance(module, PELU) else (module.a, module.b)
        assert all((value > 0).all() for value in values)


def test_penalties_other_than_l2_leave_apl_and_pelu_alone() -> None:
    model = nn.Sequential(PELU(3), APL(3), PAF(3))
    own = sum(parameter.square().sum() for parameter in model.parameters())
    torch.testing.assert_close(penalty(model, p=2), own)
    torch.testing.assert_close(penalty(model, p=1), penalty(model[2], p=1))
    torch.testing.assert_close(penalty(model, p=2, group=True), penalty(model[2], p=2, group=True))


def test_prelu_is_torchs() -> None:
    ours, theirs = PReLU(5), nn.PReLU(5)
    x = torch.randn(2, 5, 3, 4)
    torch.testing.assert_close(ours(x), theirs(x), rtol=0, atol=0)


def test_srelu_is_continuous_where_its_ends_have_changed_places() -> None:
    srelu = SReLU(1, dtype=torch.float64)
    with torch.no_grad():
        srelu.t_left.fill_(1.0)
        srelu.t_right.fill_(-1.0)
        srelu.a_right.fill_(3.0)
    s = torch.linspace(-3, 3, 60001, dtype=torch.float64)[:, None]
    assert srelu(s).diff(dim=0).abs().max() < 1e-3
