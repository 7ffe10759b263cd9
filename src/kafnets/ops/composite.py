"""The expansions as plain torch formulas: any device, any dtype, any kernel, any derivative.

Memory and time grow with the dictionary: a tensor D times the input (D * D in two dimensions) is
built and kept for the backward pass. Activations come channels last.
"""

import torch
from torch import Tensor

from kafnets.kernels import Gamma, Kernel


def kaf(s: Tensor, alpha: Tensor, dictionary: Tensor, kernel: Kernel, gamma: Gamma) -> Tensor:
    """``(..., N)`` with alpha ``(N, D)`` to ``(..., N)``; gamma is ``()`` or ``(N,)`` if a tensor."""
    if isinstance(gamma, Tensor):
        gamma = gamma.unsqueeze(-1)
    if not kernel.unbounded:
        return (alpha * kernel.value(s.unsqueeze(-1), dictionary, gamma)).sum(-1)
    infinite = s.isinf()
    finite = torch.where(infinite, 0.0, s).unsqueeze(-1)
    result = (alpha * kernel.value(finite, dictionary, gamma)).sum(-1)
    limit = kernel.at_infinity(torch.where(infinite, s, 1.0), alpha, dictionary)
    return torch.where(infinite, limit, result)


def kaf2d(s: Tensor, alpha: Tensor, dictionary: Tensor, kernel: Kernel, gamma: Gamma) -> Tensor:
    """``(..., 2 P)`` with alpha ``(P, D, D)`` to ``(..., P)``; gamma is ``()`` or ``(P,)`` if a tensor."""
    if isinstance(gamma, Tensor):
        gamma = gamma.unsqueeze(-1).unsqueeze(-1)
    s1, s2 = s.unflatten(-1, (-1, 2)).unbind(-1)
    if not kernel.unbounded:
        return _sum_over_grid(s1, s2, alpha, dictionary, kernel, gamma)
    infinite = s1.isinf() | s2.isinf()
    result = _sum_over_grid(
        torch.where(infinite, 0.0, s1), torch.where(infinite, 0.0, s2), alpha, dictionary, kernel, gamma
    )
    limit = kernel.at_infinity2d(
        torch.where(infinite, s1, 1.0), torch.where(infinite, s2, 1.0), alpha, dictionary
    )
    return torch.where(infinite, limit, result)


def _sum_over_grid(
    s1: Tensor, s2: Tensor, alpha: Tensor, dictionary: Tensor, kernel: Kernel, gamma: Gamma
) -> Tensor:
    first, second = s1[..., None, None], s2[..., None, None]
    values = kernel.value2d(first, second, dictionary[:, None], dictionary, gamma)
    return (alpha * values).sum((-1, -2))
