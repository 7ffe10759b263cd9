"""What each element contributes at each activation, as one tensor, for layers that mix it by a matrix."""

from typing import Any

import torch
from torch import Tensor

from kafnets.expansion import Expansion
from kafnets.kernels import Gaussian
from kafnets.ops import backends, native
from kafnets.ops.dispatch import needs_plain_formula
from kafnets.ops.formula import nan_in_slopes
from kafnets.ops.kaf import terms
from kafnets.ops.recorded import is_batched


def kernel_values(expansion: Expansion, s: Tensor) -> Tensor:
    """``(..., D)``, tails included; differentiable. A native kernel computes Gaussians without tails."""
    if _is_native(expansion, s):
        values: Tensor = _KernelValues.apply(s, expansion)  # type: ignore[no-untyped-call]
        return values
    return terms(expansion, nan_in_slopes(s))


def _is_native(expansion: Expansion, s: Tensor) -> bool:
    if (
        native.kernels is None
        or backends.asked not in ("auto", "cpu")
        or not s.is_cpu
        or not native.kernels.has_values(s.dtype)
        or type(expansion.kernel) is not Gaussian
        or expansion.tails != "zero"
    ):
        return False
    # A compiler fuses the plain form, and whoever watches operators should see some.
    return not (
        torch.compiler.is_compiling() or needs_plain_formula(s) or torch._C._len_torch_dispatch_stack()
    )


class _KernelValues(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, s: Tensor, expansion: Expansion) -> Tensor:
        assert native.kernels is not None
        values = native.kernels.values(s, expansion.dictionary.values, expansion.gamma)
        ctx.expansion = expansion
        ctx.save_for_backward(s, values)
        return values

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None]:
        s, values = ctx.saved_tensors
        again = torch.is_grad_enabled()
        if again or is_batched(upstream):
            with torch.enable_grad():
                own = s.view_as(s) if s.requires_grad else s.detach().requires_grad_()
                plain = terms(ctx.expansion, nan_in_slopes(own))
            return torch.autograd.grad(plain, own, upstream, create_graph=again)[0], None
        assert native.kernels is not None
        return (
            native.kernels.gradients_of_values(
                s, ctx.expansion.dictionary.values, ctx.expansion.gamma, values, upstream
            ),
            None,
        )
