"""Gated units: of two neighboring channels, the second controls how much of the first passes."""

from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from kafnets.nn.activation import Activation
from kafnets.nn.kaf import KAF
from kafnets.registry import Facts, register

_facts = partial(Facts, "gated", smooth=True, plottable=True, arity=2)


class _Gated(Activation):
    """N channels become N / 2."""

    inputs: ClassVar[int] = 2

    @property
    def out_features(self) -> int:
        """Half the number of channels."""
        return max(1, self.num_features // 2)

    def gate(self, s: Tensor) -> Tensor:
        """What the first channels are multiplied by."""
        raise NotImplementedError

    def compute(self, s: Tensor, dim: int) -> Tensor:
        axis = dim % s.dim()
        if s.shape[axis] % 2:
            raise ValueError(
                f"input must have an even number of channels along dim={dim}, got {s.shape[axis]}"
            )
        exact = s.to(torch.promote_types(s.dtype, torch.float32))
        passing, gating = exact.unflatten(axis, (-1, 2)).unbind(axis + 1)
        return (passing * self.gate(gating)).to(s.dtype)

    def compute_shared(self, input: Tensor) -> Tensor:
        return self.compute(input, self.dim)


@register("glu")
class GLU(_Gated):
    r"""A gated linear unit, :math:`g(s_1, s_2) = s_1 \, \delta(s_2)` with the sigmoid :math:`\delta`.

    Neighboring channels form pairs, as in 2D-KAFs, so N channels become N / 2. (``nn.GLU`` uses the second
    half of the channels as gates, which differs only in their order.)

    Args:
        num_features: N, the number of channels along ``dim``, which must be even; 1: any number of them.
    """

    facts: ClassVar[Facts] = _facts("Dauphin et al., 2017", "s₁ sigmoid(s₂)")

    def __init__(self, num_features: int = 1, *, dim: int = 1, inplace: bool = False) -> None:
        super().__init__(num_features, dim)

    def gate(self, s: Tensor) -> Tensor:
        return torch.sigmoid(s)


@register("swiglu")
class SwiGLU(GLU):
    r"""A gated unit with Swish as its gate, :math:`g(s_1, s_2) = s_1 s_2 \, \delta(s_2)`.

    It is used in most current language models. Neighboring channels form pairs, as in 2D-KAFs, so N channels
    become N / 2.

    Args:
        num_features: N, the number of channels along ``dim``, which must be even; 1: any number of them.
    """

    facts: ClassVar[Facts] = _facts("Shazeer, 2020", "s₁ swish(s₂)")

    def gate(self, s: Tensor) -> Tensor:
        return functional.silu(s)


@register("kaf_glu")
class KAFGLU(_Gated):
    r"""A gated unit whose gate is a KAF.

    .. math:: g(s_1, s_2) = s_1 (s_2 \, \delta(s_2) + \sum_i \alpha_i \kappa(s_2, d_i))

    The gate is a KAF with a base, so that it initially equals a SwiGLU. Neighboring channels form pairs, as
    in 2D-KAFs, so N channels become N / 2.

    Args:
        num_features: N, the number of channels along ``dim``, which must be even; 1: any number of them.
        base: the name of the initial function of the gates: "silu", "sigmoid", or any that
            :class:`kafnets.Base` takes.
        dictionary_size: D, of the KAF. None: 20.
    """

    facts: ClassVar[Facts] = _facts(
        "this package; Shazeer, 2020",
        "s₁ (swish(s₂) + Σ_i α_i κ(s₂, d_i))",
        "dictionary_size / 2",
        local="yes",
        regularization="yes",
        hyperparameter="dictionary_size",
    )

    def __init__(
        self,
        num_features: int = 1,
        *,
        base: str = "silu",
        dictionary_size: int | None = None,
        dim: int = 1,
        inplace: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(num_features, dim)
        options: dict[str, Any] = {"device": device, "dtype": dtype, "dictionary_size": dictionary_size}
        self.kaf = KAF(self.groups, base=base, dim=dim, **options)

    @property
    def dictionary_size(self) -> int:
        """D, the number of dictionary elements of the gates."""
        return self.kaf.dictionary_size

    def gate(self, s: Tensor) -> Tensor:
        gate: Tensor = self.kaf(s)
        return gate
