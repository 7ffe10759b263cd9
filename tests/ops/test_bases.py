"""The native kernels' bases at the ends of the real line."""

import math
from typing import Any

import pytest
import torch

from kafnets import Base, Dictionary, Expansion, Gaussian
from kafnets.ops import formula_of, native
from kafnets.ops.fixed_functions import TORCH_FUNCTIONS
from tests.ops.cases import GAMMA, RUNNABLE

pytestmark = pytest.mark.skipif(not RUNNABLE, reason="the native kernels were not built")

FAR = [30.0, 100.0, 1e4, 1e19, 1e30]
LEFT = {"identity": (-math.inf, 1), "leaky_relu": (-math.inf, 0.01), "tanh": (-1, 0), "elu": (-1, 0)}
LEFT["selu"] = (-1.0507009873554805 * 1.6732632423543772, 0)
RIGHT = {"tanh": (1, 0), "sigmoid": (1, 0), "selu": (math.inf, 1.0507009873554805)}
"""Values and slopes at infinity; of all others 0 and 0 on the left, infinity and 1 on the right."""


@pytest.mark.parametrize("name", TORCH_FUNCTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rows", [12, 1000])  # the second is looked up in tables
def test_far_away(kernels: native.Kernels, name: str, dtype: torch.dtype, rows: int) -> None:
    expansion = Expansion(Gaussian(GAMMA), Dictionary.equispaced(20, 3.0), base=Base(name))
    places = [*FAR, *(-each for each in FAR), math.inf, -math.inf]
    s = torch.zeros(rows, 1, dtype=dtype)
    s[: len(places), 0] = torch.tensor(places, dtype=dtype)
    alpha = torch.randn(1, 20, dtype=dtype)
    value = kernels.forward(formula_of(expansion), s, alpha, 1)
    slope, _ = kernels.backward(formula_of(expansion), torch.ones_like(s), s, alpha, 1, (True, False))
    assert slope is not None
    finite = s[: len(places) - 2].double().requires_grad_()
    base = TORCH_FUNCTIONS[name](finite)
    (by_s,) = torch.autograd.grad(base.sum(), finite)
    ends = torch.tensor([RIGHT.get(name, (math.inf, 1)), LEFT.get(name, (0, 0))], dtype=torch.float64)
    close: dict[str, Any] = {"rtol": 1e-6 if dtype is torch.float32 else 1e-14, "atol": 1e-12}
    wanted = torch.cat([base.detach()[:, 0], ends[:, 0]]), torch.cat([by_s[:, 0], ends[:, 1]])
    torch.testing.assert_close(value[: len(places), 0].double(), wanted[0], **close)
    torch.testing.assert_close(slope[: len(places), 0].double(), wanted[1], **close)
