"""KAFs with several kernels."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import torch
from torch import Tensor, nn

from kafnets.expansion import Expansion, Tails
from kafnets.fixed_functions import Base
from kafnets.kernels import Gaussian, Kernel
from kafnets.nn.expanding import Expanding, expansion_facts
from kafnets.ops.dispatch import apply
from kafnets.ops.kaf2d import formula_of
from kafnets.registry import Facts, register
from kafnets.starts import Init


@dataclass(frozen=True)
class Mixture(Kernel):
    """The mean of several kernels, the initial kernel of a :class:`MultiKAF`."""

    kernels: tuple[Kernel, ...]
    refusal_2d: ClassVar[str | None] = "a mixture is for functions of one input"

    @property
    def positive_definite(self) -> bool:  # type: ignore[override]
        """Whether all of them are."""
        return all(kernel.positive_definite for kernel in self.kernels)

    def fitted(self, spacing: float | None, dimensions: int) -> Self:
        return replace(self, kernels=tuple(each.fitted(spacing, dimensions) for each in self.kernels))

    def value(self, xp: Any, s: Any, d: Any) -> Any:
        return sum(kernel.value(xp, s, d) for kernel in self.kernels) / len(self.kernels)

    def slope(self, xp: Any, s: Any, d: Any) -> Any:
        return sum(kernel.slope(xp, s, d) for kernel in self.kernels) / len(self.kernels)


@register("multi_kaf")
class MultiKAF(Expanding):
    r"""A KAF with several kernels, mixed by learned weights for each neuron (multiple kernel learning).

    .. math:: g(s) = \sum_m w_m \sum_i \alpha_i \kappa_m(s, d_i)

    Any kernels of this package, or custom ones, can be mixed. Gaussians with a fixed bandwidth are computed
    by the native kernels. The weights are initialized to be equal.

    Args:
        kernels: the kernels to mix, two or more. None: three Gaussians, with a quarter of the rule of thumb's
            bandwidth, with that bandwidth, and with four times as much.
        weights: "simplex" keeps the weights of each neuron positive with a sum of 1, as a softmax of what is
            stored; "free" lets them take any values.
        dictionary_size: D, the number of dictionary elements, equispaced. None: 20.
        boundary: the dictionary extends from ``-boundary`` to ``boundary``.
        tails: the function outside the dictionary, as in :class:`kafnets.KAF`.
        base: a fixed function that the sum is added to, by name, or a :class:`kafnets.Base` of form "fixed".
        init: initial coefficients, as in :class:`kafnets.KAF`.

    Attributes:
        alpha: the coefficients, which all kernels of a neuron share, ``(groups, dictionary_size)``.
        mixture: the weights, or their logarithms up to a constant if "simplex", ``(groups, kernels)``.
    """

    facts: ClassVar[Facts] = expansion_facts(
        "Scardapane et al., 2019", "Σ_m w_m Σ_i α_i κ_m(s, d_i)", "dictionary_size + len(kernels)"
    )
    undecayed_parameters = ("mixture",)
    _shown = ("kernels", "weights")

    def __init__(
        self,
        num_features: int = 1,
        *,
        kernels: Sequence[Kernel] | None = None,
        weights: Literal["simplex", "free"] = "simplex",
        groups: int | None = None,
        dictionary_size: int | None = None,
        boundary: float = 3.0,
        tails: Tails = "zero",
        base: Base | str | None = None,
        init: Init = None,
        dim: int = 1,
        inplace: bool = False,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(num_features, dim, groups)
        chosen = (Gaussian(divisor=24.0), Gaussian(), Gaussian(divisor=1.5)) if kernels is None else kernels
        several = isinstance(chosen, Sequence) and len(chosen) > 1
        if not several or not all(isinstance(each, Kernel) for each in chosen):
            raise ValueError(
                f"kernels must be two or more kernels, such as kafnets.Gaussian(), got {chosen!r}"
            )
        if any(getattr(each, "learn_gamma", False) for each in chosen):
            raise ValueError("kernels must have fixed bandwidths: give several Gaussians, not learn_gamma")
        if weights not in ("simplex", "free"):
            raise ValueError(f"weights must be 'simplex' or 'free', got {weights!r}")
        self.weights = weights
        expansion = Expansion.of(
            dictionary_size=dictionary_size,
            boundary=boundary,
            kernel=Mixture(tuple(chosen)),
            tails=tails,
            base=base,
        )
        if expansion.base is not None and expansion.base.learned:
            raise ValueError(f"base must have the form 'fixed', got {expansion.base.form!r}")
        options: dict[str, Any] = {"device": device, "dtype": dtype}
        self._draw(expansion, init, options)
        self.mixture = nn.Parameter(torch.empty(self.groups, len(chosen), **options))
        self._formulas = [
            formula_of(
                replace(expansion, kernel=each, base=None if k else expansion.base)
            )  # which is added once
            for k, each in enumerate(self.kernels)
        ]
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Reset the parameters: coefficients by ``init``, and equal weights."""
        super().reset_parameters(generator)
        nn.init.constant_(self.mixture, 0.0 if self.weights == "simplex" else 1 / len(self.kernels))

    @property
    def expansion(self) -> Expansion:
        """Dictionary, tails, base, and the mean of the kernels."""
        return self.first

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels, with their bandwidths."""
        assert isinstance(self.first.kernel, Mixture)
        return self.first.kernel.kernels

    @property
    def mixing_weights(self) -> Tensor:
        """The weights of each neuron's kernels, ``(groups, kernels)``."""
        return self.mixture.softmax(1) if self.weights == "simplex" else self.mixture

    def activate(self, s: Tensor, dim: int) -> Tensor:
        weights = self.mixing_weights.to(s.dtype)
        tables = self.alpha.to(s.dtype) * weights.T.unsqueeze(-1)
        parts = [apply(each, s, own, dim) for each, own in zip(self._formulas, tables, strict=True)]
        return functools.reduce(torch.add, parts)
