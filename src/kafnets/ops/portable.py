"""The expansions on any device, with any kernel, in little memory.

Rows are worked on a block at a time and once more in the backward pass, so that nothing but the input
is kept: what a block needs stays in the processor's cache. Gaussian expansions on an equispaced
dictionary take the factored form in float32, all others the composite one. Second derivatives, which need the
graph of the first, come from the composite form.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from kafnets.kernels import Gamma, Gaussian, Kernel
from kafnets.ops import composite, factored
from kafnets.ops.grid import Grid

Formula = Callable[[Tensor, Tensor, Tensor | None], Tensor]
"""From activations, alpha and a gamma tensor to the result."""

# Values of the widest tensor in a block: on a processor few enough to stay in its cache, and enough for a
# call to be worth its cost. Elsewhere a call costs more.
BLOCK_ON_CPU = 2**21
BLOCK_ELSEWHERE = 2**25


def kaf(
    s: Tensor, alpha: Tensor, dictionary: Tensor, kernel: Kernel, gamma: Gamma, grid: Grid | None
) -> Tensor:
    """As :func:`kafnets.ops.composite.kaf`; ``grid`` describes the dictionary if it is equispaced."""
    return _run(composite.kaf, factored.kaf, s, alpha, dictionary, kernel, gamma, grid)


def kaf2d(
    s: Tensor, alpha: Tensor, dictionary: Tensor, kernel: Kernel, gamma: Gamma, grid: Grid | None
) -> Tensor:
    """As :func:`kafnets.ops.composite.kaf2d`."""
    return _run(composite.kaf2d, factored.kaf2d, s, alpha, dictionary, kernel, gamma, grid)


def _run(
    plain: Callable[..., Tensor],
    fast: Callable[..., Tensor],
    s: Tensor,
    alpha: Tensor,
    dictionary: Tensor,
    kernel: Kernel,
    gamma: Gamma,
    grid: Grid | None,
) -> Tensor:
    # Where the bandwidth is a number, it becomes a tensor that needs no gradient.
    learned = gamma if isinstance(gamma, Tensor) else None

    def exact(s: Tensor, alpha: Tensor, learned: Tensor | None) -> Tensor:
        return plain(s, alpha, dictionary, kernel, gamma if learned is None else learned)

    formula: Formula = exact
    # The factored form needs more digits than its result has.
    if isinstance(kernel, Gaussian) and grid is not None and s.dtype == torch.float32 and _has_float64(s):

        def in_float64(s: Tensor, alpha: Tensor, learned: Tensor | None) -> Tensor:
            assert gamma is not None
            bandwidth = torch.as_tensor(
                gamma if learned is None else learned, dtype=torch.float64, device=s.device
            )
            return fast(s.double(), alpha.double(), grid, bandwidth).to(s.dtype)

        formula = in_float64
    result: Tensor = _Recomputed.apply(s, alpha, learned, formula, exact)  # type: ignore[no-untyped-call]
    return result


def _has_float64(s: Tensor) -> bool:
    return s.device.type != "mps"


class _Recomputed(torch.autograd.Function):
    """Applies a formula block by block, and differentiates it block by block."""

    @staticmethod
    def forward(
        ctx: Any, s: Tensor, alpha: Tensor, gamma: Tensor | None, formula: Formula, exact: Formula
    ) -> Tensor:
        ctx.save_for_backward(s, alpha, gamma)
        ctx.formula, ctx.exact = formula, exact
        return torch.cat([formula(block, alpha, gamma) for block in _blocks(s, alpha)]).reshape(
            *s.shape[:-1], alpha.shape[0]
        )

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        s, alpha, gamma = ctx.saved_tensors
        (u,) = upstream
        wanted = ctx.needs_input_grad[:3]
        if torch.is_grad_enabled():  # the derivative itself will be differentiated
            inputs = [v for v, want in zip((s, alpha, gamma), wanted, strict=True) if want]
            found = iter(torch.autograd.grad(ctx.exact(s, alpha, gamma), inputs, u, create_graph=True))
            return (*(next(found) if want else None for want in wanted), None, None)
        by_s, sums = (
            [],
            [
                torch.zeros_like(p, dtype=torch.float64) if w else None
                for p, w in zip((alpha, gamma), wanted[1:], strict=True)
            ],
        )
        for block, u_block in zip(_blocks(s, alpha), _blocks(u, alpha), strict=True):
            with torch.enable_grad():
                values = [
                    None if v is None else v.detach().requires_grad_(w)
                    for v, w in zip((block, alpha, gamma), wanted, strict=True)
                ]
                result = ctx.formula(*values)
            inputs = [v for v, want in zip(values, wanted, strict=True) if want]
            found = iter(torch.autograd.grad(result, inputs, u_block))
            if wanted[0]:
                by_s.append(next(found))
            for total in sums:
                if total is not None:
                    total += next(found)
        return (
            torch.cat(by_s).reshape(s.shape) if wanted[0] else None,
            None if sums[0] is None else sums[0].to(alpha.dtype),
            None if sums[1] is None else sums[1].to(gamma.dtype),
            None,
            None,
        )


def _blocks(rows: Tensor, alpha: Tensor) -> tuple[Tensor, ...]:
    """``rows`` as ``(R, N)``, cut so that each block's widest tensor stays small."""
    flat = rows.reshape(-1, rows.shape[-1])
    size = BLOCK_ON_CPU if rows.device.type == "cpu" else BLOCK_ELSEWHERE
    count = max(1, size // alpha.numel())
    return flat.split(count)
