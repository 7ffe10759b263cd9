"""The fused kernels for the CPU: loading them, and calling them on tensors.

They were built, if a compiler was there, into one module an instruction set. They take the address of
contiguous memory, seen as (batch, neurons, positions).
"""

import importlib
import math
from types import ModuleType
from typing import NamedTuple

import torch
from torch import Tensor

from kafnets.ops.grid import Grid
from kafnets.ops.layout import in_memory_order, in_written_order

INSTRUCTION_SETS = ("avx512", "avx2", "baseline")

# Beyond these the constants of the factored form leave the range of float32.
SMALLEST_A, LARGEST_A = 1e-12, 1e12

# A second thread pays for itself from about this many terms on.
TERMS_A_THREAD = 2**20


class Loaded(NamedTuple):
    """The module in use, or the reason why there is none."""

    module: ModuleType | None
    description: str


def load(instruction_set: str | None = None) -> Loaded:
    """The best module for this processor, or the one asked for."""
    capability = torch.backends.cpu.get_cpu_capability().lower()
    runnable = (
        INSTRUCTION_SETS[INSTRUCTION_SETS.index(capability) :]
        if capability in INSTRUCTION_SETS
        else ("baseline",)
    )
    if instruction_set is not None and instruction_set not in runnable:
        return Loaded(None, f"this processor cannot run {instruction_set}, only {', '.join(runnable)}")
    for name in runnable if instruction_set is None else (instruction_set,):
        try:
            return Loaded(importlib.import_module(f"kafnets.ops._cpu_{name}"), name)
        except ModuleNotFoundError:
            continue
    return Loaded(None, "the native kernels were not built: no C++ compiler was found at installation")


loaded = load()


def can_represent(grid: Grid, gamma: float) -> bool:
    """Whether the kernels' constants fit into float32."""
    return SMALLEST_A <= gamma * grid.spacing**2 <= LARGEST_A


Settings = tuple[float, float, float]
"""What a kernel is told beyond sizes; each reads the numbers its own way, see csrc/."""


class Kernels:
    """The kernels of one module."""

    KINDS = ("kaf", "kaf2d", "kaf_by_bandwidth", "hinges", "powers", "hermite", "cubics")

    def __init__(self, module: ModuleType) -> None:
        dtypes = {torch.float32: "float32", torch.float64: "float64"}
        self._forward, self._backward = (
            {
                (kind, dtype): getattr(module, f"{kind}_{direction}_{name}")
                for kind in self.KINDS
                for dtype, name in dtypes.items()
            }
            for direction in ("forward", "backward")
        )
        self._few_rows = {dtype: self._forward["kaf", dtype] for dtype in dtypes}

    def forward(self, input: Tensor, alpha: Tensor, grid: Grid, gamma: float, dim: int) -> Tensor:
        """The expansion, a 2D-KAF if alpha has three axes."""
        # A row or a few through a KAF, as when a policy acts: there is so little to compute that asking what
        # :meth:`run` asks would take longer.
        size, first, spacing = grid.size, grid.first, grid.spacing
        kernel = self._few_rows.get(dtype := input.dtype)
        if (
            kernel is not None
            and input.dim() == 2
            and (dim == -1 or dim == 1)
            and 0 < input.numel() * size < TERMS_A_THREAD
            and alpha.dim() == 2
            and alpha.dtype is dtype
            and input.is_contiguous()
            and alpha.is_contiguous()
        ):
            batch, neurons = input.shape
            result = torch.empty_like(input)
            kernel(
                input.data_ptr(), alpha.data_ptr(), result.data_ptr(), batch, neurons, 1,
                size, first, spacing, gamma, 1,
            )  # fmt: skip
            return result
        return self.run(_kind_of(alpha), input, alpha, size, (first, spacing, gamma), dim)

    def backward(
        self,
        upstream: Tensor,
        input: Tensor,
        alpha: Tensor,
        grid: Grid,
        gamma: float,
        dim: int,
        wanted: tuple[bool, bool],
    ) -> tuple[Tensor | None, Tensor | None]:
        """The gradients of input and alpha, None for those not wanted."""
        settings = (grid.first, grid.spacing, gamma)
        return self.run_back(_kind_of(alpha), upstream, input, alpha, grid.size, settings, dim, wanted)

    # Both are called once a layer and step: every look-up here shows at small batches.

    def run(self, kind: str, input: Tensor, table: Tensor, size: int, settings: Settings, dim: int) -> Tensor:
        """A kernel, in the input's dtype and memory layout.

        ``table`` holds the coefficients of each neuron, neurons first; ``size`` is what the kernel calls so.
        """
        x, axis, order = in_memory_order(_computable(input), dim)
        coefficients = _contiguous(table, x.dtype)
        batch, neurons, positions = _as_three_axes(x, axis, coefficients)
        if kind == "kaf2d":
            result = torch.empty((*x.shape[:axis], neurons, *x.shape[axis + 1 :]), dtype=x.dtype)
        else:
            result = torch.empty_like(x)
        terms = batch * positions * coefficients.numel()
        if terms:
            self._forward[kind, x.dtype](
                x.data_ptr(), coefficients.data_ptr(), result.data_ptr(), batch, neurons, positions,
                size, *settings, _threads(terms),
            )  # fmt: skip
        return (
            result if result.dtype is input.dtype and order is None else _restore(result, order, input.dtype)
        )

    def run_back(
        self,
        kind: str,
        upstream: Tensor,
        input: Tensor,
        table: Tensor,
        size: int,
        settings: Settings,
        dim: int,
        wanted: tuple[bool, bool],
    ) -> tuple[Tensor | None, Tensor | None]:
        """The gradients of input and table, None for those not wanted."""
        x, axis, order = in_memory_order(_computable(input), dim)
        coefficients = _contiguous(table, x.dtype)
        batch, neurons, positions = _as_three_axes(x, axis, coefficients)
        u = _contiguous(upstream if order is None else upstream.permute(order), x.dtype)
        by_input = torch.empty_like(x) if wanted[0] else None
        by_table = torch.empty_like(coefficients) if wanted[1] else None
        terms = batch * positions * coefficients.numel()
        if terms:
            self._backward[kind, x.dtype](
                x.data_ptr(), coefficients.data_ptr(), u.data_ptr(),
                0 if by_input is None else by_input.data_ptr(),
                0 if by_table is None else by_table.data_ptr(),
                batch, neurons, positions, size, *settings, _threads(terms),
            )  # fmt: skip
        elif by_table is not None:
            by_table.zero_()
        return (
            None if by_input is None else _restore(by_input, order, input.dtype),
            None if by_table is None else _restore(by_table, None, table.dtype),
        )


def _kind_of(alpha: Tensor) -> str:
    return "kaf" if alpha.dim() == 2 else "kaf2d"


def _contiguous(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    if tensor.dtype is not dtype:
        tensor = tensor.to(dtype)
    return tensor if tensor.is_contiguous() else tensor.contiguous()


def _restore(result: Tensor, order: list[int] | None, dtype: torch.dtype) -> Tensor:
    result = in_written_order(result, order)
    return result if result.dtype is dtype else result.to(dtype)


def _computable(input: Tensor) -> Tensor:
    """Half precision is computed in float32."""
    return input if input.dtype is torch.float32 or input.dtype is torch.float64 else input.float()


def _as_three_axes(x: Tensor, axis: int, alpha: Tensor) -> tuple[int, int, int]:
    shape = x.shape
    if len(shape) == 2 and axis == 1:
        return shape[0], alpha.shape[0], 1
    return math.prod(shape[:axis]), alpha.shape[0], math.prod(shape[axis + 1 :])


def _threads(terms: int) -> int:
    if terms < 2 * TERMS_A_THREAD:
        return 1
    return min(torch.get_num_threads(), terms // TERMS_A_THREAD)


kernels = Kernels(loaded.module) if loaded.module is not None else None
"""Those of the module in use."""
