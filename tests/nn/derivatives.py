"""First and second derivatives of a module, against differences."""

from typing import Any

import torch
from torch import nn


def check_derivatives(module: nn.Module) -> None:
    """By input and parameters."""
    names = [name for name, _ in module.named_parameters()]

    def function(s: torch.Tensor, *parameters: torch.Tensor) -> Any:
        return torch.func.functional_call(module, dict(zip(names, parameters, strict=True)), s)

    s = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    inputs = (s, *(parameter.detach().clone().requires_grad_() for parameter in module.parameters()))
    assert torch.autograd.gradcheck(function, inputs)
    assert torch.autograd.gradgradcheck(function, inputs)
