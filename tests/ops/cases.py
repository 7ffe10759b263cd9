"""What the tests of the native kernels share."""

from typing import Any

import torch
from torch import Tensor

from kafnets import Dictionary, Expansion, Gaussian
from kafnets.ops import formula_of, native
from kafnets.ops.kaf import ExpansionFormula
from tests import oracle
from tests.nn.agreement import expect_kaf, expect_kaf2d

RUNNABLE = [name for name in native.INSTRUCTION_SETS if native.load(name).module is not None]

GAMMA = 361 / 216
"""The rule of thumb for 20 elements in [-3, 3]."""


def gaussian(size: int, gamma: float, dimensions: int = 1) -> ExpansionFormula:
    """The formula of a Gaussian expansion on [-3, 3]."""
    return formula_of(Expansion(Gaussian(gamma), Dictionary.equispaced(size, 3.0), dimensions))


def check(kernels: native.Kernels, s: Tensor, alpha: Tensor, gamma: float, dim: int = 1) -> None:
    """Output and gradients equal the oracle."""
    formula = gaussian(alpha.shape[-1], gamma, alpha.dim() - 1)
    result = kernels.forward(formula, s, alpha, dim)
    upstream = torch.randn(result.shape, dtype=torch.float64).to(s.dtype)
    by_s, by_alpha = kernels.backward(formula, upstream, s, alpha, dim, (True, True))
    expect: Any = expect_kaf if alpha.dim() == 2 else expect_kaf2d
    expected = expect(
        s.double().movedim(dim, -1).numpy(),
        alpha.double().numpy(),
        oracle.equispaced(alpha.shape[-1], 3.0),
        oracle.Gaussian(gamma),
        upstream.double().movedim(dim, -1).numpy(),
        s.dtype,
    )
    assert by_s is not None
    assert by_alpha is not None
    expected[0].check(result.movedim(dim, -1), "output")
    expected[1].check(by_s.movedim(dim, -1), "input gradient")
    expected[2].check(by_alpha, "coefficient gradient")
    only_s, nothing = kernels.backward(formula, upstream, s, alpha, dim, (True, False))
    assert nothing is None
    torch.testing.assert_close(only_s, by_s, rtol=0, atol=0)
    nothing, only_alpha = kernels.backward(formula, upstream, s, alpha, dim, (False, True))
    assert nothing is None
    torch.testing.assert_close(only_alpha, by_alpha, rtol=0, atol=0)
