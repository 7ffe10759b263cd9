r"""KAFs: :math:`\sum_i \alpha_{n,i} \, \kappa(s, d_i)` for each channel n.

Only activations and coefficients are kept for the backward pass. The native and Triton kernels take Gaussians
on a grid; everything else, and any device without them, takes the formulas of :mod:`kafnets.arrays`, a block
of rows at a time so that what a block needs stays in the processor's cache.
"""

import dataclasses
import functools
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from kafnets.arrays import kaf
from kafnets.expansion import TAILS, Dictionary, Expansion
from kafnets.fixed_functions import BASE_FORMS, Base
from kafnets.kernels import Gaussian
from kafnets.ops.fixed_functions import TORCH_FUNCTIONS
from kafnets.ops.formula import FORMULAS, Formula, Settings, nan_in_slopes
from kafnets.ops.kaf_slopes import slope_of
from kafnets.ops.layout import in_layout_of
from kafnets.ops.library import TORCH

# Values of the widest tensors in a block: on a processor few enough to stay in its cache, and enough for a
# call to be worth its cost. Elsewhere a call costs more.
BLOCK_ON_CPU = 2**16
BLOCK_ELSEWHERE = 2**22


class Parts(NamedTuple):
    """The columns of a table: coefficients, the weight of a base, a learned bandwidth."""

    alpha: Tensor
    weight: Tensor | None
    gamma: Tensor | None


class ExpansionFormula(Formula):
    """What KAFs and 2D-KAFs share. Weights of a base and learned bandwidths are further coefficients."""

    kinds: ClassVar[tuple[str, str | None]]
    """The native kernels for a fixed bandwidth, and for learned ones."""
    refusal = (
        "it supports only the Gaussian kernel on an equispaced dictionary with a moderate gamma, which can "
        "be learned for KAF on the CPU only, without tails or a base"
    )

    def __init__(self, expansion: Expansion) -> None:
        self.expansion = expansion
        self.inputs = expansion.dimensions
        self.learned = bool(expansion.learn_gamma)
        self.weighted = expansion.base is not None and expansion.base.learned
        self.may_be_its_base = expansion.base is not None and not self.weighted
        dictionary, gamma = expansion.dictionary, expansion.gamma
        if not expansion.factored:
            return
        assert dictionary.spacing is not None
        assert gamma is not None
        first, spacing = dictionary.values[0], dictionary.spacing
        tails, base = float(TAILS.index(expansion.tails)), _base_code(expansion.base)
        if self.learned:
            if tails == base == 0:
                self.kernel, self.settings = self.kinds[1], (first, spacing, 0.0, 0.0, 0.0)
        elif expansion.fusible:
            self.kernel = self.kinds[0]
            self.settings = (first, spacing, gamma, tails, base)
            self.has_triton = True

    def table(self, alpha: Tensor, weight: Tensor | None, gamma: Tensor | None) -> Tensor:
        """Coefficients, weights ``(N,)`` of a base, and a learned bandwidth ``()`` or ``(N,)``, as one."""
        more = [each for each in (weight, gamma) if each is not None]
        if not more:
            return alpha
        columns = [each.to(alpha.dtype).expand(len(alpha)).unsqueeze(1) for each in more]
        return torch.cat([alpha.flatten(1), *columns], 1)

    def parts(self, table: Tensor) -> Parts:
        """The columns of a table."""
        more = self.weighted + self.learned
        if not more:
            return Parts(table, None, None)
        alpha = table[:, :-more].reshape(len(table), *self.expansion.shape)
        return Parts(
            alpha, table[:, -more] if self.weighted else None, table[:, -1] if self.learned else None
        )

    def base_of(self, s: Tensor, weight: Tensor | None = None) -> Tensor:
        """What the sum is added to, channels last if there are weights."""
        base = self.expansion.base
        assert base is not None
        value: Tensor = base.combine(s, TORCH_FUNCTIONS[base.function](s), weight)
        return value

    def plain(self, s: Tensor, table: Tensor, dim: int) -> Tensor:
        axis, last = dim % s.dim(), s.dim() - 1  # counted from 0, as older exporters want them
        rows, parts = nan_in_slopes(s.movedim(axis, last), self.inputs), self.parts(table)
        result = self._plain(rows, parts.alpha, parts.gamma)
        if self.expansion.base is not None:
            result = result + self.base_of(rows, parts.weight)
        return in_layout_of(s, result.movedim(last, axis))

    def base_alone(self, s: Tensor, table: Tensor, dim: int) -> Tensor:
        """What the sum of kernels is added to, in torch's own operators."""
        base = self.base_of(s.movedim(dim, -1), self.parts(table).weight)
        return in_layout_of(s, base.movedim(-1, dim))

    def _plain(self, s: Tensor, alpha: Tensor, gamma: Tensor | None) -> Tensor:
        """The sum, channels last. A tensor D times the input (D * D in two dimensions) is made."""
        raise NotImplementedError

    def _exactly(self, s: Tensor) -> torch.dtype:
        """The factored form needs more digits than its result has."""
        exact = self.expansion.factored and not self.learned and s.device.type != "mps"
        return torch.float64 if exact else s.dtype

    def value(self, s: Tensor, table: Tensor, dim: int) -> Tensor:
        rows, dtype = s.movedim(dim, -1), self._exactly(s)
        alpha, weight, gamma = self.parts(table.to(dtype))
        expansion = self.expansion if gamma is None else self.expansion.with_gamma(gamma)
        blocks = []
        for block in _blocks(rows):
            exact = block.to(dtype)
            total = kaf.value(TORCH, expansion, exact, alpha)
            if expansion.base is not None:
                total = total + self.base_of(exact, weight)
            blocks.append(total.to(s.dtype))
        result = torch.cat(blocks).reshape(*rows.shape[:-1], len(alpha))
        return in_layout_of(s, result.movedim(-1, dim))

    def gradients(
        self, upstream: Tensor, s: Tensor, table: Tensor, dim: int, wanted: tuple[bool, bool]
    ) -> tuple[Tensor | None, Tensor | None]:
        rows, dtype = s.movedim(dim, -1), self._exactly(s)
        parts = self.parts(table.to(dtype))
        by_s, by_table = [], torch.zeros(table.shape, dtype=torch.float64, device=_summing(table))
        for block, u in zip(_blocks(rows), _blocks(upstream.movedim(dim, -1), self.inputs), strict=True):
            block, u = block.to(dtype), u.to(dtype)
            if wanted[0]:
                by_s.append(self._by_input(u, block, parts).to(s.dtype))
            if wanted[1]:
                by_table += self._by_table(u, block, parts).to(by_table.device)
        by_input = (
            in_layout_of(s, torch.cat(by_s).reshape(rows.shape).movedim(-1, dim)) if wanted[0] else None
        )
        return by_input, by_table.to(table.device, table.dtype) if wanted[1] else None

    def _by_input(self, u: Tensor, s: Tensor, parts: Parts) -> Tensor:
        expansion = self.expansion if parts.gamma is None else self.expansion.with_gamma(parts.gamma)
        slopes = kaf.slope(TORCH, expansion, s, parts.alpha)
        if expansion.base is not None:
            slopes = slopes + TORCH.slope(lambda moved: self.base_of(moved, parts.weight), s)
        return kaf.by_input(TORCH, u, slopes)

    def _by_table(self, u: Tensor, s: Tensor, parts: Parts) -> Tensor:
        expansion = self.expansion if parts.gamma is None else self.expansion.with_gamma(parts.gamma)
        columns = [kaf.by_coefficients(TORCH, expansion, u, s)]
        if parts.weight is not None:
            assert expansion.base is not None
            by_weight = expansion.base.by_weight(s, TORCH_FUNCTIONS[expansion.base.function](s))
            columns.append((u * by_weight).sum(0).unsqueeze(1))
        if parts.gamma is not None:
            columns.append((u * kaf.by_gamma(TORCH, expansion, s, parts.alpha)).sum(0).unsqueeze(1))
        return columns[0] if len(columns) == 1 else torch.cat([each.flatten(1) for each in columns], 1)


class KAFFormula(ExpansionFormula):
    """One function per channel."""

    kinds = ("kaf", "kaf_by_bandwidth")

    def slope(self) -> Formula | None:
        return None if self.kernel is None else slope_of(self.expansion, 1)

    @functools.cached_property
    def without_base(self) -> "KAFFormula":
        """The sum of kernels."""
        return KAFFormula(dataclasses.replace(self.expansion, base=None))

    def _plain(self, s: Tensor, alpha: Tensor, gamma: Tensor | None) -> Tensor:
        return (alpha * terms(self.expansion, s, None if gamma is None else gamma.unsqueeze(-1))).sum(-1)


def terms(expansion: Expansion, s: Tensor, gamma: Tensor | None = None) -> Tensor:
    """What each element contributes at each activation: ``(..., D)``, tails included; differentiable."""
    kernel: Any = expansion.kernel
    if gamma is not None:
        kernel = kernel.with_gamma(gamma)
    elements = TORCH.array(expansion.dictionary.values, s)
    first, last = expansion.dictionary.values[0], expansion.dictionary.values[-1]
    inside = s if expansion.tails == "zero" else s.clamp(first, last)
    values: Tensor = kernel.value(TORCH, inside.unsqueeze(-1), elements)
    if expansion.tails != "linear":
        return values
    beyond = (s - inside).unsqueeze(-1)
    # Finite inputs only: an infinite one would meet slopes of 0.
    return values + beyond * kernel.slope(TORCH, inside.unsqueeze(-1), elements)


NATIVE_BASES = (
    "identity",
    "relu",
    "leaky_relu",
    "sigmoid",
    "tanh",
    "silu",
    "elu",
    "selu",
    "mish",
    "softplus",
    "gelu",
)
"""As csrc/bases.h counts them, from 1."""


def _base_code(base: Base | None) -> float:
    """What the native kernel is told of a base."""
    if base is None:
        return 0.0
    name = "silu" if base.function == "swish" else base.function
    return 1.0 + NATIVE_BASES.index(name) + 100.0 * BASE_FORMS.index(base.form)


def _base_of_code(code: float) -> Base | None:
    if not code:
        return None
    form, number = divmod(int(code), 100)
    return Base(NATIVE_BASES[number - 1], BASE_FORMS[form])


def _blocks(rows: Tensor, inputs: int = 1) -> tuple[Tensor, ...]:
    """``(..., N)`` as ``(R, N)``, cut into small blocks; of outputs where ``inputs`` are paired."""
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
    """The formula of a Gaussian on a grid, from what its native kernel is told.

    ``size`` must be a number, which a compiler's symbol for one is not: it cannot be looked up.
    """
    first, spacing, gamma, tails, code = settings
    base = _base_of_code(code)
    elements = size - 1 if learned or (base is not None and base.learned) else size
    dictionary = Dictionary(tuple(first + spacing * k for k in range(elements)))
    kernel = Gaussian(1.0, "neuron") if learned else Gaussian(gamma)
    return cls(Expansion(kernel, dictionary, dimensions, TAILS[int(tails)], base))


FORMULAS["kaf"] = lambda settings, shape: from_settings(KAFFormula, 1, int(shape[1]), settings, False)
FORMULAS["kaf_by_bandwidth"] = lambda settings, shape: from_settings(
    KAFFormula, 1, int(shape[1]), settings, True
)
