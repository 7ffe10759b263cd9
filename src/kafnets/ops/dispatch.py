"""The entry points, and the one place where it is decided how they run."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from kafnets.kernels import Gamma, Gaussian, Kernel
from kafnets.ops import backends, composite, cpu, fused, library, portable
from kafnets.ops.bandwidths import kaf_by_bandwidth
from kafnets.ops.grid import Grid
from kafnets.ops.layout import along_dim
from kafnets.ops.transforms import needs_plain_formula


def kaf(
    input: Tensor,
    alpha: Tensor,
    dictionary: Tensor,
    *,
    kernel: Kernel,
    gamma: Gamma,
    dim: int,
    grid: Grid | None = None,
    fusable: bool = False,
) -> Tensor:
    r"""A kernel expansion for each channel: :math:`\sum_i \alpha_{n,i} \, \kappa(s, d_i)`.

    Args:
        input: any shape, with N channels along ``dim``.
        alpha: ``(N, D)``.
        dictionary: ``(D,)``, strictly increasing.
        kernel: the kernel.
        gamma: its bandwidth, a number or a tensor ``()`` or ``(N,)``; None for kernels without.
        dim: the channel axis.
        grid: the dictionary again, if it is equispaced.
        fusable: what :func:`can_be_fused` says of kernel, gamma and grid; opens the way to the fused kernels.

    Returns:
        The input's shape, dtype and memory layout. Half precision is computed in float32.
    """
    return _expand(_ONE, input, alpha, dictionary, kernel, gamma, dim, grid, fusable)


def kaf2d(
    input: Tensor,
    alpha: Tensor,
    dictionary: Tensor,
    *,
    kernel: Kernel,
    gamma: Gamma,
    dim: int,
    grid: Grid | None = None,
    fusable: bool = False,
) -> Tensor:
    """As :func:`kaf` for pairs of neighbours: ``alpha`` is ``(P, D, D)``, 2 P channels become P."""
    return _expand(_TWO, input, alpha, dictionary, kernel, gamma, dim, grid, fusable)


def can_be_fused(kernel: Kernel, gamma: Gamma, grid: Grid | None) -> bool:
    """Whether fused kernels exist: for the Gaussian with a fixed, moderate gamma on an equispaced grid.

    To be asked once for a module, not for every call, which at small batches costs as much as the work.
    """
    return (
        type(kernel) is Gaussian
        and type(gamma) is float
        and grid is not None
        and cpu.can_represent(grid, gamma)
    )


class _Expansion(NamedTuple):
    composite: Callable[..., Tensor]
    portable: Callable[..., Tensor]


_ONE = _Expansion(composite.kaf, portable.kaf)
_TWO = _Expansion(composite.kaf2d, portable.kaf2d)


def _expand(
    expansion: _Expansion,
    input: Tensor,
    alpha: Tensor,
    dictionary: Tensor,
    kernel: Kernel,
    gamma: Gamma,
    dim: int,
    grid: Grid | None,
    fusable: bool,
) -> Tensor:
    if not input.is_floating_point():
        raise TypeError(
            f"input must be a floating-point tensor, got {input.dtype}: convert it, for example with .float()"
        )
    if alpha.is_cpu is not input.is_cpu and alpha.device != input.device:
        raise ValueError(
            f"input is on {input.device} but the coefficients are on {alpha.device}: move one of them"
        )
    learned = not fusable and expansion is _ONE and _is_learned(kernel, gamma, grid)
    how = _choose(input, alpha, fusable, learned)
    if how == "composite":
        return along_dim(expansion.composite, input, alpha, dictionary, kernel, gamma, dim)
    if how == "portable":
        return along_dim(expansion.portable, input, alpha, dictionary, kernel, gamma, dim, grid)
    assert grid is not None
    if how == "by bandwidth":
        assert isinstance(gamma, Tensor)
        return kaf_by_bandwidth(input, alpha, gamma, grid, dim=dim)
    assert type(gamma) is float
    if how == "cpu":
        assert cpu.kernels is not None
        return fused.run(input, alpha, grid, gamma, dim, cpu.kernels)
    if how == "operator":
        return library.expand(input, alpha, grid.first, grid.spacing, gamma, dim)
    from kafnets.ops.triton import TritonRunner

    return fused.run(input, alpha, grid, gamma, dim, TritonRunner())


def _choose(input: Tensor, alpha: Tensor, fusable: bool, learned: bool) -> str:
    """The backend's name; "operator" for the fused kernels behind a torch operator.

    "by bandwidth" is the native kernel for ``learned`` bandwidths, which are a tensor.
    """
    asked_for = backends.asked_for()
    if asked_for == "composite":
        return "composite"
    if torch.compiler.is_compiling():
        # What has no fused kernel, the compiler fuses. An exported program should run without this package.
        opaque = fusable and _kernels_for(input) is not None and not torch.compiler.is_exporting()
        return "operator" if opaque and asked_for != "portable" else "composite"
    if needs_plain_formula(input, alpha):
        return "composite"
    if torch._C._len_torch_dispatch_stack():  # someone watches operators, so there must be one to see
        return "operator" if fusable and _kernels_for(input) is not None else "composite"
    if learned and asked_for in ("auto", "cpu") and _kernels_for(input) == "cpu":
        return "by bandwidth"
    if asked_for == "auto":
        return _fastest(input) if fusable else "portable"
    if asked_for == "portable":
        return "portable"
    obstacle = backends.obstacle_to_fusing(asked_for, input)
    if not fusable:
        obstacle = (
            "it is for the Gaussian kernel on an equispaced dictionary with a moderate gamma, which may be "
            "learned for KAF on the CPU only"
        )
    if obstacle:
        raise RuntimeError(f"backend {asked_for!r} cannot run this: {obstacle}")
    return asked_for


def _is_learned(kernel: Kernel, gamma: Gamma, grid: Grid | None) -> bool:
    return type(kernel) is Gaussian and isinstance(gamma, Tensor) and grid is not None


def _fastest(input: Tensor) -> str:
    kernels = _kernels_for(input)
    if kernels is None and input.is_cpu:
        backends.warn_once_without_native_kernels()
    return kernels or "portable"


def _kernels_for(input: Tensor) -> str | None:
    """The fused kernels that its device has."""
    if input.is_cpu:
        return "cpu" if cpu.kernels is not None else None
    return "triton" if input.is_cuda and backends.triton_obstacle() is None else None
