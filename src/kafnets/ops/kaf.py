r"""KAFs: :math:`\sum_i \alpha_{n,i} \, \kappa(s, d_i)` for each channel n.

Only activations and coefficients are kept for the backward pass. The native and Triton kernels take Gaussians
on a grid; everything else, and any device without them, takes the formulas of :mod:`kafnets.arrays`, a block of
rows at a time so that what a block needs stays in the processor's cache.
"""

import functools
from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor

from kafnets.arrays import formulas
from kafnets.arrays.library import Library
from kafnets.expansion import Dictionary, Expansion
from kafnets.kernels import Gaussian
from kafnets.ops.formula import FORMULAS, Formula, Settings
from kafnets.ops.layout import in_layout_of

# Values of the widest tensors in a block: on a processor few enough to stay in its cache, and enough for a
# call to be worth its cost. Elsewhere a call costs more.
BLOCK_ON_CPU = 2**16
BLOCK_ELSEWHERE = 2**22

# Beyond these, in units of gamma times the squared spacing, the constants of the fused kernels leave the range
# of float32.
SMALLEST_A, LARGEST_A = 1e-12, 1e12


class TorchLibrary(Library):
    """torch with the few names of NumPy that it has not."""

    def __init__(self) -> None:
        super().__init__(torch)

    def transpose(self, x: Tensor, axes: tuple[int, ...]) -> Tensor:
        """The axes in another order."""
        return x.permute(axes)

    def repeat(self, x: Tensor, count: int, axis: int) -> Tensor:
        """Each value ``count`` times."""
        return x.repeat_interleave(count, axis)

    def shape(self, x: Tensor) -> torch.Size:
        """The size of each axis."""
        return x.shape

    def multiply_add(self, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        return torch.addcmul(c, a, b)

    def slope(self, function: Callable[[Tensor], Tensor], s: Tensor) -> Tensor:
        with torch.enable_grad():
            leaf = s.detach().requires_grad_()
            return torch.autograd.grad(function(leaf).sum(), leaf)[0]


TORCH = TorchLibrary()


class ExpansionFormula(Formula):
    """What KAFs and 2D-KAFs share. A learned bandwidth is one more coefficient of each function, the last."""

    kinds: ClassVar[tuple[str, str | None]]
    """The native kernels for a fixed bandwidth, and for learned ones."""
    refusal = (
        "it is for the Gaussian kernel on an equispaced dictionary with a moderate gamma, which may be "
        "learned for KAF on the CPU only"
    )

    def __init__(self, expansion: Expansion) -> None:
        self.expansion = expansion
        self.inputs = expansion.dimensions
        self.learned = bool(expansion.learn_gamma)
        dictionary, gamma = expansion.dictionary, expansion.gamma
        if not expansion.factored:
            return
        assert dictionary.spacing is not None
        assert gamma is not None
        first, spacing = dictionary.values[0], dictionary.spacing
        if self.learned:
            self.kernel, self.settings = self.kinds[1], (first, spacing, 0.0)
        elif SMALLEST_A <= gamma * spacing**2 <= LARGEST_A:
            self.kernel, self.settings = self.kinds[0], (first, spacing, gamma)
            self.has_triton = True

    def table(self, alpha: Tensor, gamma: Tensor | None) -> Tensor:
        """Coefficients, and a learned bandwidth ``()`` or ``(N,)``, as one table."""
        if gamma is None:
            return alpha
        return torch.cat([alpha.flatten(1), gamma.to(alpha.dtype).expand(len(alpha)).unsqueeze(1)], 1)

    def _parts(self, table: Tensor) -> tuple[Tensor, Tensor | None]:
        if not self.learned:
            return table, None
        return table[:, :-1].unflatten(1, self.expansion.shape), table[:, -1]

    def _elements(self, s: Tensor) -> Tensor:
        return torch.tensor(self.expansion.dictionary.values, dtype=s.dtype, device=s.device)

    def plain(self, s: Tensor, table: Tensor, dim: int) -> Tensor:
        axis = dim % s.dim()
        result = self._plain(s.movedim(axis, s.dim() - 1), *self._parts(table))
        return in_layout_of(s, result.movedim(s.dim() - 1, axis))

    def _plain(self, s: Tensor, alpha: Tensor, gamma: Tensor | None) -> Tensor:
        """Channels last. A tensor D times the input (D * D in two dimensions) is made."""
        raise NotImplementedError

    def _exactly(self, s: Tensor) -> torch.dtype:
        """The factored form needs more digits than its result has."""
        exact = self.expansion.factored and not self.learned and s.device.type != "mps"
        return torch.float64 if exact else s.dtype

    def value(self, s: Tensor, table: Tensor, dim: int) -> Tensor:
        rows, dtype = s.movedim(dim, -1), self._exactly(s)
        alpha, gamma = self._parts(table.to(dtype))
        expansion = self.expansion if gamma is None else self.expansion.with_gamma(gamma)
        blocks = [
            formulas.value(TORCH, expansion, block.to(dtype), alpha).to(s.dtype) for block in _blocks(rows)
        ]
        result = torch.cat(blocks).reshape(*rows.shape[:-1], len(alpha))
        return in_layout_of(s, result.movedim(-1, dim))

    def gradients(
        self, upstream: Tensor, s: Tensor, table: Tensor, dim: int, wanted: tuple[bool, bool]
    ) -> tuple[Tensor | None, Tensor | None]:
        rows, dtype = s.movedim(dim, -1), self._exactly(s)
        alpha, gamma = self._parts(table.to(dtype))
        expansion = self.expansion if gamma is None else self.expansion.with_gamma(gamma)
        by_s, by_table = [], torch.zeros(table.shape, dtype=torch.float64, device=_summing(table))
        for block, u in zip(_blocks(rows), _blocks(upstream.movedim(dim, -1), self.inputs), strict=True):
            block, u = block.to(dtype), u.to(dtype)
            if wanted[0]:
                slopes = formulas.slope(TORCH, expansion, block, alpha)
                by_s.append(formulas.by_input(TORCH, u, slopes).to(s.dtype))
            if wanted[1]:
                found = formulas.by_coefficients(TORCH, expansion, u, block)
                if gamma is not None:
                    by_gamma = (u * formulas.by_gamma(TORCH, expansion, block, alpha)).sum(0)
                    found = torch.cat([found.flatten(1), by_gamma.unsqueeze(1)], 1)
                by_table += found.to(by_table.device)
        by_input = (
            in_layout_of(s, torch.cat(by_s).reshape(rows.shape).movedim(-1, dim)) if wanted[0] else None
        )
        return by_input, by_table.to(table.device, table.dtype) if wanted[1] else None


class KAFFormula(ExpansionFormula):
    """One function per channel."""

    kinds = ("kaf", "kaf_by_bandwidth")

    def _plain(self, s: Tensor, alpha: Tensor, gamma: Tensor | None) -> Tensor:
        kernel: Any = self.expansion.kernel
        if gamma is not None:
            kernel = kernel.with_gamma(gamma.unsqueeze(-1))
        return (alpha * kernel.value(TORCH, s.unsqueeze(-1), self._elements(s))).sum(-1)


def _blocks(rows: Tensor, inputs: int = 1) -> tuple[Tensor, ...]:
    """``(..., N)`` as ``(R, N)``, cut so that each block stays small; of outputs where ``inputs`` are paired."""
    flat = rows.reshape(-1, rows.shape[-1])
    size = BLOCK_ON_CPU if rows.device.type == "cpu" else BLOCK_ELSEWHERE
    return flat.split(max(1, size // max(1, rows.shape[-1] * inputs)))


def _summing(table: Tensor) -> torch.device:
    """Where float64 can be added up."""
    return torch.device("cpu") if table.device.type == "mps" else table.device


@functools.lru_cache(maxsize=256)
def from_settings(
    cls: type[ExpansionFormula], dimensions: int, size: int, settings: Settings, learned: bool
) -> ExpansionFormula:
    """The formula of a Gaussian on a grid, from what its native kernel is told."""
    first, spacing, gamma = settings
    dictionary = Dictionary(tuple(first + spacing * k for k in range(size)))
    kernel = Gaussian(1.0, "neuron") if learned else Gaussian(gamma)
    return cls(Expansion(kernel, dictionary, dimensions))


FORMULAS["kaf"] = lambda settings, shape: from_settings(KAFFormula, 1, shape[1], settings, False)
FORMULAS["kaf_by_bandwidth"] = lambda settings, shape: from_settings(
    KAFFormula, 1, shape[1] - 1, settings, True
)
