"""The entry points: they settle dtype, channel axis and memory layout, then choose what runs."""

from collections.abc import Callable

import torch
from torch import Tensor

from kafnets.kernels import Gamma, Kernel
from kafnets.ops import composite
from kafnets.ops.layout import in_layout_of


def kaf(
    input: Tensor, alpha: Tensor, dictionary: Tensor, *, kernel: Kernel, gamma: Gamma, dim: int
) -> Tensor:
    r"""A kernel expansion for each channel: :math:`\sum_i \alpha_{n,i} \, \kappa(s, d_i)`.

    Args:
        input: any shape, with N channels along ``dim``.
        alpha: ``(N, D)``.
        dictionary: ``(D,)``, strictly increasing.
        kernel: the kernel.
        gamma: its bandwidth, a number or a tensor ``()`` or ``(N,)``; None for kernels without.
        dim: the channel axis.

    Returns:
        The input's shape, dtype and memory layout. Half precision is computed in float32.
    """
    return _run(composite.kaf, input, alpha, dictionary, kernel, gamma, dim)


def kaf2d(
    input: Tensor, alpha: Tensor, dictionary: Tensor, *, kernel: Kernel, gamma: Gamma, dim: int
) -> Tensor:
    """As :func:`kaf` for pairs of neighbours: ``alpha`` is ``(P, D, D)``, 2 P channels become P."""
    return _run(composite.kaf2d, input, alpha, dictionary, kernel, gamma, dim)


def _run(
    expansion: Callable[[Tensor, Tensor, Tensor, Kernel, Gamma], Tensor],
    input: Tensor,
    alpha: Tensor,
    dictionary: Tensor,
    kernel: Kernel,
    gamma: Gamma,
    dim: int,
) -> Tensor:
    dtype = _computing_dtype(input, alpha)
    s = input.to(dtype).movedim(dim, -1)
    gamma = gamma.to(dtype) if isinstance(gamma, Tensor) else gamma
    result = expansion(s, alpha.to(dtype), dictionary.to(dtype), kernel, gamma)
    return in_layout_of(input, result.movedim(-1, dim)).to(input.dtype)


def _computing_dtype(input: Tensor, alpha: Tensor) -> torch.dtype:
    if not input.is_floating_point():
        raise TypeError(
            f"input must be a floating-point tensor, got {input.dtype}: convert it, for example with .float()"
        )
    return torch.promote_types(torch.promote_types(input.dtype, alpha.dtype), torch.float32)
