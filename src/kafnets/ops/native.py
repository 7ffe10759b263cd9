"""The fused kernels for the CPU: loading them, and calling them on tensors.

They were built, if a compiler was there, into one module per instruction set. They take the address of
contiguous memory, seen as (batch, neurons, positions).
"""

import importlib
import math
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NamedTuple

import torch
from torch import Tensor

from kafnets.ops.formula import Formula
from kafnets.ops.layout import in_memory_order, in_written_order

INTERFACE = 3
"""What kernels are given and what it means; csrc/module.cpp has the same number."""

INSTRUCTION_SETS = ("avx512", "avx2", "baseline")

# A second thread pays for itself from about this many terms on.
TERMS_PER_THREAD = 2**20


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
            module = importlib.import_module(f"kafnets.ops._cpu_{name}")
        except ModuleNotFoundError:
            continue
        if getattr(module, "interface", None) != INTERFACE:
            return Loaded(None, "the native kernels were built from other sources: install kafnets again")
        return Loaded(module, name)
    return Loaded(None, "the native kernels were not built: no C++ compiler was found at installation")


loaded = load()


class Kernels:
    """The kernels of one module."""

    KINDS = (
        "kaf", "kaf2d", "kaf_by_bandwidth", "hinges", "powers", "hermite", "cubics", "bells",
        "kaf_slopes", "kaf_slopes_by_bandwidth", "baked",
    )  # fmt: skip

    def __init__(self, module: ModuleType) -> None:
        dtypes = {torch.float32: "float32", torch.float64: "float64"}

        def functions(direction: str) -> dict[tuple[str | None, torch.dtype], Any]:
            return {
                (kind, dtype): getattr(module, f"{kind}_{direction}_{name}")
                for kind in self.KINDS
                for dtype, name in dtypes.items()
                if hasattr(module, f"{kind}_{direction}_{name}")
            }

        self._forward, self._backward = functions("forward"), functions("backward")
        self._values: dict[torch.dtype, Any]
        self._gradients_of_values: dict[torch.dtype, Any]
        self._values, self._gradients_of_values = (
            {dtype: getattr(module, f"kernel_values_{direction}_{name}") for dtype, name in dtypes.items()}
            for direction in ("forward", "backward")
        )
        self._is_zero = {dtype: getattr(module, f"is_zero_{name}") for dtype, name in dtypes.items()}

    def has(self, formula: Formula | None) -> bool:
        """Whether there is a kernel: modules built from older sources lack newer ones."""
        return formula is not None and (formula.kernel, torch.float32) in self._forward

    # Both are called once per layer and step: every look-up here shows at small batches.

    def forward(self, formula: Formula, s: Tensor, table: Tensor, dim: int) -> Tensor:
        """A formula, in the input's dtype and memory layout."""
        if formula.may_be_its_base and self._is_base(s, table):
            base = formula.base_of(s)
            return base.clone() if base is s else base
        if _few_rows(formula, s, table, dim):
            batch, neurons = s.shape
            result = torch.empty_like(s)
            self._forward[formula.kernel, s.dtype](
                s.data_ptr(), table.data_ptr(), result.data_ptr(), batch, neurons, 1,
                table.shape[1], *formula.settings, 1,
            )  # fmt: skip
            return result
        x, axis, order = in_memory_order(_readable(s), dim)
        coefficients = _contiguous(table, x.dtype)
        batch, neurons, positions = _as_three_axes(x, axis, coefficients)
        if formula.inputs == 1:
            result = torch.empty_like(x)
        else:
            result = torch.empty((*x.shape[:axis], neurons, *x.shape[axis + 1 :]), dtype=x.dtype)
        met = coefficients.numel() if formula.terms is None else neurons * formula.terms
        terms = batch * positions * met
        if terms:
            self._forward[formula.kernel, x.dtype](
                x.data_ptr(), coefficients.data_ptr(), result.data_ptr(), batch, neurons, positions,
                table.shape[-1], *formula.settings, _threads(terms),
            )  # fmt: skip
        return result if result.dtype is s.dtype and order is None else _restore(result, order, s.dtype)

    def _is_base(self, s: Tensor, table: Tensor) -> bool:
        """Whether nothing is added to a base: then torch's own function gives it, to the last bit."""
        if table.dtype not in self._is_zero or s.dtype != table.dtype or not table.is_contiguous():
            return False
        rows, length = table.shape
        return self._is_zero[table.dtype](table.data_ptr(), rows, length, length)

    def backward(
        self,
        formula: Formula,
        upstream: Tensor,
        s: Tensor,
        table: Tensor,
        dim: int,
        wanted: tuple[bool, bool],
    ) -> tuple[Tensor | None, Tensor | None]:
        """The gradients of input and table, None for those not wanted."""
        if (
            wanted == (True, True)
            and _few_rows(formula, s, table, dim)
            and upstream.dtype is s.dtype
            and upstream.is_contiguous()
            and not upstream.is_neg()
            and upstream.data_ptr() != 0
        ):
            batch, neurons = s.shape
            found = torch.empty_like(s), torch.empty_like(table)
            self._backward[formula.kernel, s.dtype](
                s.data_ptr(), table.data_ptr(), upstream.data_ptr(), found[0].data_ptr(), found[1].data_ptr(),
                batch, neurons, 1, table.shape[1], *formula.settings, _threads(batch * table.numel()),
            )  # fmt: skip
            return found
        x, axis, order = in_memory_order(_readable(s), dim)
        coefficients = _contiguous(table, x.dtype)
        batch, neurons, positions = _as_three_axes(x, axis, coefficients)
        u = _contiguous(upstream if order is None else upstream.permute(order), x.dtype)
        by_input = torch.empty_like(x) if wanted[0] else None
        by_table = torch.empty_like(coefficients) if wanted[1] else None
        terms = batch * positions * coefficients.numel()
        if terms:
            self._backward[formula.kernel, x.dtype](
                x.data_ptr(), coefficients.data_ptr(), u.data_ptr(),
                0 if by_input is None else by_input.data_ptr(),
                0 if by_table is None else by_table.data_ptr(),
                batch, neurons, positions, table.shape[-1], *formula.settings, _threads(terms),
            )  # fmt: skip
        elif by_table is not None:
            by_table.zero_()
        return (
            None if by_input is None else _restore(by_input, order, s.dtype),
            None if by_table is None else _restore(by_table, None, table.dtype),
        )

    def has_values(self, dtype: torch.dtype) -> bool:
        """Whether :meth:`values` takes this type of number."""
        return dtype in self._values

    def values(self, s: Tensor, elements: Sequence[float], gamma: float | None) -> Tensor:
        """The Gaussians around each element: ``(*s.shape, D)``."""
        x, places = _contiguous(s, s.dtype), torch.tensor(elements, dtype=s.dtype)
        result = x.new_empty(*x.shape, len(elements))
        if result.numel():
            self._values[x.dtype](
                x.data_ptr(), x.numel(), places.data_ptr(), len(elements), gamma,
                result.data_ptr(), _threads(result.numel()),
            )  # fmt: skip
        return result

    def gradients_of_values(
        self, s: Tensor, elements: Sequence[float], gamma: float | None, values: Tensor, upstream: Tensor
    ) -> Tensor:
        """The gradient of the input of :meth:`values`, whose result they were."""
        x, u, places = (
            _contiguous(s, s.dtype),
            _contiguous(upstream, s.dtype),
            torch.tensor(elements, dtype=s.dtype),
        )
        result = torch.empty_like(x)
        if u.numel():
            self._gradients_of_values[x.dtype](
                x.data_ptr(), x.numel(), places.data_ptr(), len(elements), gamma,
                values.data_ptr(), u.data_ptr(), result.data_ptr(), _threads(u.numel()),
            )  # fmt: skip
        return result


def _few_rows(formula: Formula, s: Tensor, table: Tensor, dim: int) -> bool:
    """Whether there is so little to compute, of what lies ready, that asking all else would take longer."""
    return (
        s.dim() == 2
        and (dim == -1 or dim == 1)
        and formula.inputs == 1
        and 0 < s.shape[0] * table.numel() < TERMS_PER_THREAD
        and table.dtype is s.dtype
        and (s.dtype is torch.float32 or s.dtype is torch.float64)
        and s.is_contiguous()
        and table.is_contiguous()
        and not s.is_neg()
        and not table.is_neg()
        and s.data_ptr() != 0  # zeros may have no memory
        and table.data_ptr() != 0
    )


def _contiguous(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    if tensor.dtype is not dtype:
        tensor = tensor.to(dtype)
    return _resolved(tensor if tensor.is_contiguous() else tensor.contiguous())


def _resolved(tensor: Tensor) -> Tensor:
    """With the values it stands for in memory: views can be negated, and zeros have no memory."""
    if tensor.is_neg():
        tensor = tensor.resolve_neg()
    return tensor.clone() if tensor._is_zerotensor() else tensor


def _restore(result: Tensor, order: list[int] | None, dtype: torch.dtype) -> Tensor:
    result = in_written_order(result, order)
    return result if result.dtype is dtype else result.to(dtype)


def _readable(s: Tensor) -> Tensor:
    """As the kernels read it. Half precision is computed in float32."""
    return _resolved(s if s.dtype is torch.float32 or s.dtype is torch.float64 else s.float())


def _as_three_axes(x: Tensor, axis: int, alpha: Tensor) -> tuple[int, int, int]:
    shape = x.shape
    if len(shape) == 2 and axis == 1:
        return shape[0], alpha.shape[0], 1
    return math.prod(shape[:axis]), alpha.shape[0], math.prod(shape[axis + 1 :])


def _threads(terms: int) -> int:
    if terms < 2 * TERMS_PER_THREAD:
        return 1
    return min(torch.get_num_threads(), terms // TERMS_PER_THREAD)


kernels = Kernels(loaded.module) if loaded.module is not None else None
"""Those of the module in use."""
