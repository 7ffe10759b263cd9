"""The choice of the implementation."""

import functools
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from kafnets.coexistence import obstacle_to_triton
from kafnets.ops import native
from kafnets.ops.formula import Formula

NAMES = ("auto", "cpu", "triton", "portable", "composite")

asked = "auto"
"""The name given to :func:`set_backend`."""


@dataclass(frozen=True)
class Backend:
    """An implementation, and the reason for its choice."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


def backend(device: torch.device | str = "cpu") -> Backend:
    """The implementation of a Gaussian KAF with a fixed bandwidth on an equispaced dictionary, and the
    reason.

    On the CPU, it also computes KAFs with a learned bandwidth. Other learned bandwidths, other kernels and
    dictionaries that are not equispaced use the portable implementation, or the composite one under function
    transforms (``torch.func``, forward mode); ``torch.export`` always uses the composite one.

    >>> print(kafnets.backend())  # doctest: +SKIP
    cpu: native kernels for avx512
    """
    if asked != "auto":
        return Backend(asked, "selected with set_backend or use_backend")
    kind = torch.device(device).type
    if kind == "cpu" and native.loaded.module is not None:
        return Backend("cpu", f"native kernels for {native.loaded.description}")
    if kind == "cuda" and triton_obstacle() is None:
        return Backend("triton", "Triton is installed")
    reasons = {"cpu": native.loaded.description, "cuda": triton_obstacle()}
    return Backend("portable", reasons.get(kind) or f"there are no fused kernels for {kind} devices")


def set_backend(name: str) -> None:
    """Select an implementation globally; ``"auto"`` chooses the fastest one again.

    >>> kafnets.set_backend("portable")
    >>> kafnets.backend().name
    'portable'
    >>> kafnets.set_backend("auto")

    Args:
        name: ``"cpu"`` (native kernels), ``"triton"`` (CUDA devices), ``"portable"`` (plain torch, little
            memory), ``"composite"`` (plain torch, the plain formula) or ``"auto"``.

    Raises:
        RuntimeError: immediately if it cannot run here, or later if it cannot handle its inputs.
    """
    global asked
    if name not in NAMES:
        raise ValueError(f"backend must be one of {', '.join(map(repr, NAMES))}, got {name!r}")
    obstacle = {
        "cpu": None if native.loaded.module else native.loaded.description,
        "triton": triton_obstacle(),
    }
    if obstacle.get(name):
        raise RuntimeError(f"backend {name!r} cannot run here: {obstacle[name]}")
    asked = name


@contextmanager
def use_backend(name: str) -> Iterator[None]:
    """:func:`set_backend` within a ``with`` block.

    >>> with kafnets.use_backend("composite"):
    ...     kafnets.backend().name
    'composite'
    """
    before = asked
    set_backend(name)
    try:
        yield
    finally:
        set_backend(before)


def triton_obstacle() -> str | None:
    """Why Triton cannot be used, None if it can."""
    return obstacle_to_triton()


class Runner(Protocol):
    """An implementation of formulas."""

    def forward(self, formula: Formula, s: Tensor, table: Tensor, dim: int) -> Tensor:
        """The result, in the input's dtype and memory layout."""

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


def fused_runner(formula: Formula, s: Tensor) -> Runner | None:
    """The fused kernels for a formula on the input's device; None where there are none."""
    if s.is_cpu:
        return native.kernels if formula.kernel is not None else None
    if s.is_cuda and formula.has_triton and triton_obstacle() is None:
        return triton_runner()
    return None


def triton_runner() -> Runner:
    """The Triton kernels."""
    from kafnets.ops.triton import TRITON

    return TRITON


@functools.cache
def warn_once_without_native_kernels() -> None:
    """Warn that native kernels would be faster, once per process."""
    warnings.warn(
        "kafnets uses its portable backend, which is several times slower than its native kernels: "
        f"{native.loaded.description}. Reinstall with a C++ compiler present, or silence this with "
        "kafnets.set_backend('portable')",
        stacklevel=2,
    )


def obstacle_to_fusing(name: str, input: Tensor) -> str | None:
    """Why the fused kernels of that name cannot take this input, None if they can."""
    wanted = "cpu" if name == "cpu" else "cuda"
    # Triton's interpreter, which its tests use, runs on the processor.
    interpreted = name == "triton" and os.environ.get("TRITON_INTERPRET") == "1"
    if input.device.type == wanted or interpreted:
        return None
    return f"the input is on {input.device}"
