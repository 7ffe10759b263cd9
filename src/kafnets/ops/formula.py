"""What a formula is: a function of an activation and of its channel's coefficients.

KAFs, hinges, powers, Hermite functions and cubics are formulas alike. Each has a file of its own, with its
plain form, its derivative in little memory, and the name and settings of its native kernel; how it runs is
decided in :mod:`kafnets.ops.dispatch`, for all of them.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar

import torch
from torch import Tensor

Settings = tuple[float, float, float, float, float]
"""What a native kernel is told beyond sizes; each reads the numbers its own way, see csrc/."""


class Formula:
    """A function with a table of coefficients ``(N, ...)`` for the N functions along the channel axis."""

    kernel: str | None = None
    """The name of its native kernel, which is also that of the formula as a torch operator."""
    settings: Settings = (0.0, 0.0, 0.0, 0.0, 0.0)
    """What that kernel is told."""
    inputs: int = 1
    """Channels that one function takes."""
    terms: int | None = None
    """Coefficients that one activation meets; None: all of its channel's."""
    learned: bool = False
    """Whether the last coefficient is a bandwidth."""
    may_be_its_base: bool = False
    """Whether coefficients of 0 leave a fixed function, :meth:`base_of`."""
    has_triton: bool = False
    """Whether there is a Triton kernel too."""
    refusal: ClassVar[str | None] = None
    """What fused kernels are for, to be told where they are asked for in vain. None: another way is taken."""

    def base_of(self, s: Tensor) -> Tensor:
        """What the formula is with coefficients of 0."""
        raise NotImplementedError

    def slope(self) -> "Formula | None":
        """Its derivative by ``s``, as a formula of the same table with a native kernel; None without one."""
        return None

    def plain(self, s: Tensor, table: Tensor, dim: int) -> Tensor:
        """In torch's own differentiable operators."""
        raise NotImplementedError

    def value(self, s: Tensor, table: Tensor, dim: int) -> Tensor:
        """Without tensors much larger than ``s``."""
        return self.plain(s, table, dim)

    def gradients(
        self, upstream: Tensor, s: Tensor, table: Tensor, dim: int, wanted: tuple[bool, bool]
    ) -> tuple[Tensor | None, Tensor | None]:
        """With respect to ``s`` and to the table, likewise; None where not wanted, if that saves work."""
        raise NotImplementedError


Make = Callable[[Settings, torch.Size], Formula]
FORMULAS: dict[str, Make] = {}
"""By the name of a native kernel: makes the formula from settings and the table's shape."""


def columns(table: Tensor, s: Tensor, dim: int) -> Sequence[Tensor]:
    """The coefficients one by one, each shaped such that it meets the channels of ``s``."""
    shape = [1] * s.dim()
    shape[dim] = -1
    return [column.reshape(shape) for column in table.unbind(1)]


def over_channels(value: Tensor, dim: int) -> Tensor:
    """The sum over all axes but that of the channels, as a column of the table's gradient."""
    axes = [axis for axis in range(value.dim()) if axis != dim % value.dim()]
    return value.sum(axes) if axes else value


def nan_in_slopes(s: Tensor, inputs: int = 1) -> Tensor:
    """The same values; but derivatives of what is computed from NaN become NaN, whatever autograd says.

    One NaN among ``inputs`` neighbors that a function takes makes all of them NaN.
    """
    apart = s.unflatten(-1, (-1, inputs))
    missing = apart.isnan().any(-1, keepdim=True)
    return (apart * torch.where(missing, torch.nan, 1.0).to(s.dtype)).flatten(-2)
