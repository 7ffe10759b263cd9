"""Starts that keep the size of activations, or of gradients, from layer to layer."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from kafnets import KAF, KAF2D, Gaussian, Kernel, Normal, Periodic, Polynomial, ReLUKernel, Ridge, Softplus
from kafnets.fixed_functions import FUNCTIONS

GAINS: list[Any] = ["forward", "backward"]
SAMPLES = 100_000
SETTINGS: list[dict[str, Any]] = [
    {},
    {"dictionary_size": 5},
    {"dictionary_size": 60, "boundary": 2.0},
    {"boundary": 0.5},
    {"boundary": 8.0},
    {"boundary": 1.0, "tails": "constant"},
    {"boundary": 1.0, "tails": "linear"},
    {"tails": "linear", "kernel": Softplus()},
    {"kernel": Gaussian(gamma=30.0)},
    {"kernel": Gaussian(learn_gamma="neuron")},
    {"kernel": Polynomial(2), "dictionary_size": 6},
    {"kernel": ReLUKernel()},
    {"kernel": ReLUKernel(), "tails": "constant"},
    {"kernel": Periodic(), "dictionary": [-2.0, -0.5, 1.0, 4.0]},
]


@dataclass(frozen=True)
class Laplacian(Kernel):
    """A user's own, without a slope."""

    def value(self, xp: Any, s: Any, d: Any) -> Any:
        return xp.exp(-xp.abs(s - d))


def moment(kaf: KAF | KAF2D, functions: int, gain: str, seed: int = 0) -> tuple[float, float]:
    """The mean square of what should be 1, over samples and functions, and the error of that mean.

    Each sample goes to one function, so that samples are independent given the functions.
    """
    generator = torch.Generator().manual_seed(seed)
    width = functions * kaf.inputs
    s = torch.randn(SAMPLES // functions, width, generator=generator, dtype=torch.float64).requires_grad_()
    output = kaf(s)
    if gain == "forward":
        squares = output.square()
    else:
        (slopes,) = torch.autograd.grad(output.sum(), s)
        squares = slopes.square().unflatten(1, (functions, kaf.inputs)).sum(dim=2)
    # The functions differ: their means are the sample.
    spread = squares.mean(dim=0).std() / functions**0.5 if functions > 1 else squares.std() / len(s) ** 0.5
    return squares.mean().item(), spread.item()


@pytest.mark.parametrize("gain", GAINS)
@pytest.mark.parametrize("options", SETTINGS, ids=repr)
def test_normal_keeps_the_second_moment(options: dict[str, Any], gain: Any) -> None:
    generator = torch.Generator().manual_seed(1)
    kaf = KAF(1000, init=Normal(gain=gain), dtype=torch.float64, generator=generator, **options)
    mean, error = moment(kaf, 1000, gain)
    assert abs(mean - 1) < 4 * error
    assert error < 0.1


@pytest.mark.parametrize("gain", GAINS)
@pytest.mark.parametrize("options", SETTINGS, ids=repr)
def test_ridge_keeps_the_second_moment(options: dict[str, Any], gain: Any) -> None:
    kaf = KAF(1, init=Ridge("elu", gain=gain), dtype=torch.float64, **options)
    mean, error = moment(kaf, 1, gain)
    assert abs(mean - 1) < 4 * error
    assert error < 0.05
    plain = KAF(1, init=Ridge("elu"), dtype=torch.float64, **options).alpha
    scale = (kaf.alpha * plain).sum() / plain.square().sum()
    assert scale > 0
    torch.testing.assert_close(kaf.alpha, scale * plain)


@pytest.mark.parametrize("gain", GAINS)
@pytest.mark.parametrize(
    "options",
    [{}, {"dictionary_size": 4, "boundary": 1.5}, {"kernel": Periodic()}, {"kernel": Polynomial(1)}],
    ids=repr,
)
def test_pairs(options: dict[str, Any], gain: Any) -> None:
    generator = torch.Generator().manual_seed(1)
    kaf = KAF2D(2000, init=Normal(gain=gain), dtype=torch.float64, generator=generator, **options)
    mean, error = moment(kaf, 1000, gain)
    assert abs(mean - 1) < 4 * error
    assert error < 0.1
    kaf = KAF2D(2, init=Ridge("tanh", gain=gain), dtype=torch.float64, **options)
    mean, error = moment(kaf, 1, gain)
    assert abs(mean - 1) < 4 * error + 1e-6  # a plane has the same slope everywhere


@pytest.mark.parametrize("base", sorted(FUNCTIONS))
@pytest.mark.parametrize("gain", GAINS)
def test_a_base_counts(base: str, gain: Any) -> None:
    z = torch.linspace(-9, 9, 200_001, dtype=torch.float64).requires_grad_()
    alone = KAF(1, base=base, dim=-1, dtype=torch.float64)(z.unsqueeze(1)).squeeze(1)
    if gain == "backward":
        (alone,) = torch.autograd.grad(alone.sum(), z)
    density = torch.exp(-z.detach().square() / 2) / np.sqrt(2 * np.pi)
    own = torch.trapezoid(alone.detach().square() * density, z.detach()).item()
    generator = torch.Generator().manual_seed(2)
    kaf = KAF(1000, base=base, init=Normal(gain=gain), dtype=torch.float64, generator=generator)
    if own > 1 + 1e-6:
        assert kaf.alpha.abs().max() == 0
    else:
        mean, error = moment(kaf, 1000, gain)
        assert abs(mean - 1) < 4 * error + 1e-3


def test_std_is_ignored_beside_gain() -> None:
    def drawn(init: Normal) -> Tensor:
        return KAF(3, init=init, generator=torch.Generator().manual_seed(0)).alpha

    assert torch.equal(drawn(Normal(0.1, gain="forward")), drawn(Normal(gain="forward")))
    assert not torch.equal(drawn(Normal(gain="backward")), drawn(Normal(gain="forward")))


def test_long_dictionaries() -> None:
    generator = torch.Generator().manual_seed(0)
    kaf = KAF(100, dictionary_size=3000, init=Normal(gain="forward"), generator=generator)
    z = torch.randn(1000, 100, generator=generator)
    squares = kaf(z).square().mean(dim=0)
    assert abs(squares.mean().item() - 1) < 4 * squares.std().item() / 10


def test_mistakes() -> None:
    for start in (Normal, lambda gain: Ridge("elu", gain=gain)):
        with pytest.raises(ValueError, match="gain must be 'forward', 'backward' or None, got 'both'"):
            start(gain="both")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"gain='forward' of Ridge .* base='silu'.*Normal\(gain"):
        KAF(2, base="silu", init=Ridge("elu", gain="forward"))
    KAF(2, kernel=Laplacian(), init=Normal(gain="forward"))
    for init in (Normal(gain="backward"), Ridge("elu", gain="backward")):
        with pytest.raises(ValueError, match="gain='backward' needs the slope of the kernel Laplacian"):
            KAF(2, kernel=Laplacian(), init=init)
    with pytest.raises(ValueError, match=r"gain='forward' cannot be met: .* mean square of values is 0"):
        KAF(2, init=Ridge(torch.zeros_like, gain="forward"))
    with pytest.raises(ValueError, match="gain='backward' cannot be met"):
        KAF(2, dictionary=[100.0, 101.0], kernel=Gaussian(1.0), init=Normal(gain="backward"))
