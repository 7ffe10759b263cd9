"""Kernel activation functions."""

from typing import Any, ClassVar, TypedDict

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from kafnets.expansion import Expansion, Tails
from kafnets.fixed_functions import Base
from kafnets.kernels import Kernel
from kafnets.nn.activation import Activation, TorchSource
from kafnets.nn.dictionary import DictionaryModule
from kafnets.ops.dispatch import apply
from kafnets.ops.kaf2d import formula_of
from kafnets.registry import Facts, register
from kafnets.starts import Init, draw_blocks, resolve_init

LARGEST_GAMMA = 1e30
"""Of learned bandwidths: an infinite one would meet distances of 0 and give NaN."""


class KAFOptions(TypedDict, total=False):
    """The options that modules containing KAFs pass on to them."""

    groups: int | None
    dictionary_size: int | None
    boundary: float
    kernel: Kernel | None
    tails: Tails
    dictionary: ArrayLike | Tensor | None
    init: Init


class KernelActivation(DictionaryModule, Activation):
    """Base class of KAF and 2D-KAF, with their arguments and parameters."""

    mixing_parameters: ClassVar[tuple[str, ...]] = ("alpha",)
    undecayed_parameters: ClassVar[tuple[str, ...]] = ("base_weight", "log_gamma")
    # Coefficients that follow a function alternate in sign and are much larger than their sum.
    keeps_float32: ClassVar[tuple[str, ...]] = ("alpha", "base_weight", "log_gamma")
    base_weight: nn.Parameter | None
    log_gamma: nn.Parameter | None

    def __init__(
        self,
        num_features: int = 1,
        *,
        groups: int | None = None,
        dictionary_size: int | None = None,
        boundary: float = 3.0,
        kernel: Kernel | None = None,
        tails: Tails = "zero",
        base: Base | str | None = None,
        init: Init = None,
        dim: int = 1,
        dictionary: ArrayLike | Tensor | None = None,
        inplace: bool = False,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(num_features, dim, groups)
        if dtype is not None and not (isinstance(dtype, torch.dtype) and dtype.is_floating_point):
            raise TypeError(f"dtype must be a floating-point type, such as torch.float32, got {dtype!r}")
        expansion = Expansion.of(
            self.inputs,
            dictionary_size=dictionary_size,
            boundary=boundary,
            dictionary=dictionary,
            kernel=kernel,
            tails=tails,
            base=base,
        )
        self.init = resolve_init(init, self.groups, expansion)
        options: dict[str, Any] = {
            "device": device,
            "dtype": torch.promote_types(dtype or torch.get_default_dtype(), torch.float32),
        }
        self.alpha = nn.Parameter(torch.empty(self.groups, *expansion.shape, **options))
        self._stand_on(expansion, device)
        for name, first in expansion.further_parameters(self.groups).items():
            empty = None if first is None else nn.Parameter(torch.empty(first.shape, **options))
            self.register_parameter(name, empty)
        self._formula = formula_of(expansion)
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Reset the parameters: coefficients by ``init``, bandwidth and dictionary as constructed."""
        source = TorchSource(self.alpha, generator)
        with torch.no_grad():
            for where, block in draw_blocks(self.init, self.groups, self.expansion, source):
                values = block if isinstance(block, Tensor) else torch.from_numpy(np.array(block))
                self.alpha[where] = values.to(self.alpha)
            for name, first in self.expansion.further_parameters(self.groups).items():
                if first is not None:
                    getattr(self, name).copy_(torch.from_numpy(first))
        self._restore_dictionary()

    def stand_on(self, expansion: Expansion, alpha: Tensor | None = None) -> None:
        super().stand_on(expansion, alpha)
        self._formula = formula_of(expansion)

    @property
    def gamma(self) -> Tensor | float | None:
        """The bandwidth: a number if fixed, a tensor if learned, None for kernels without one."""
        if self.log_gamma is None:
            return self.expansion.gamma
        exact = self.log_gamma.to(torch.promote_types(self.log_gamma.dtype, torch.float32))
        return exact.exp().clamp(max=LARGEST_GAMMA)

    def compute(self, s: Tensor, dim: int) -> Tensor:
        # Asking a module for its attributes shows at small batches, as calls do. Under a parametrization the
        # parameter is somewhere else.
        alpha = self._parameters.get("alpha")
        whole = alpha is not None and not (self._formula.learned or self._formula.weighted)
        table: Tensor = alpha if whole else self.table()  # type: ignore[assignment]
        if table.is_cpu is not s.is_cpu and table.device != s.device:
            raise ValueError(
                f"input is on {s.device} but the coefficients are on {table.device}: move one of them"
            )
        return apply(self._formula, s, table, dim)

    def table(self) -> Tensor:
        """What the formula takes: coefficients, and weights of a base and learned bandwidths if any."""
        if not (self._formula.learned or self._formula.weighted):
            return self.alpha
        gamma = self.gamma if self._formula.learned else None
        return self._formula.table(self.alpha, self.base_weight, gamma)  # type: ignore[arg-type]

    def extra_repr(self) -> str:
        dictionary, gamma = self.expansion.dictionary, self.expansion.gamma
        bandwidth = "" if gamma is None else f", gamma={gamma:.4g}"
        if self.log_gamma is not None:
            bandwidth += " at first"
        return (
            f"{self._width}, dictionary_size={dictionary.size} in [{dictionary.values[0]:g}, "
            f"{dictionary.values[-1]:g}], kernel={type(self.kernel).__name__}{bandwidth}{self._outside}, "
            f"dim={self.dim}"
        )

    @property
    def _outside(self) -> str:
        """Tails and base, for ``repr``."""
        tails, base = self.expansion.tails, self.expansion.base
        shown = "" if tails == "zero" else f", tails={tails!r}"
        if base is not None:
            shown += f", base={base.function!r}" if base.form == "fixed" else f", base={base!r}"
        return shown


@register("kaf")
class KAF(KernelActivation):
    r"""Kernel activation function: each channel learns its own :math:`g(s) = \sum_i \alpha_i \kappa(s, d_i)`.

    Use it as you would ``nn.PReLU(num_features)``:

    >>> net = nn.Sequential(nn.Linear(18, 300), kafnets.KAF(300), nn.Linear(300, 1))
    >>> net(torch.randn(5, 18)).shape
    torch.Size([5, 1])

    Shape: input ``(B, N)``, ``(B, N, L)``, ``(B, N, H, W)``, ... with ``dim=1``; ``(..., N)`` with
    ``dim=-1``. The output has the input's shape, dtype and memory layout; half precision is
    computed in float32. The defaults are the paper's; those of the authors' published code are
    ``KAF(n, boundary=4.0, kernel=Gaussian(divisor=8.0), init=Normal(0.8))``, with 1e-4 for ``Ridge``'s eps.

    Args:
        num_features: N, the number of channels along ``dim``. ``KAF()`` is one function for any number of
            channels, as ``nn.PReLU()`` is, for libraries that create activations without a width.
        groups: the number of functions, each shared by N / groups neighboring channels. None: one per
            channel.
        dictionary_size: D, the number of dictionary elements, equispaced. None: 20.
        boundary: the dictionary extends from ``-boundary`` to ``boundary``.
        kernel: None: ``Gaussian()`` with the paper's rule of thumb for its bandwidth.
        tails: the function outside the dictionary. "zero", as in the paper: the sum of kernels, which tends
            to 0 for the Gaussian; "constant": the value at the edge; "linear": a line with the value and
            slope there.
        base: a fixed function that the sum is added to, by name ("silu", "mish", "elu", ...), or a
            :class:`kafnets.Base` for one with a learned weight. The KAF is then initialized as that function:
            the default of ``init`` is 0.
        init: initial coefficients. None: ``Normal()``, the paper's. A name such as ``"tanh"`` means
            ``Ridge("tanh")``. A sequence gives one initializer per function:
            ``[Ridge("tanh")] * 32 + [Normal()] * 32``.
        dim: the channel axis.
        dictionary: strictly increasing values instead of the equispaced ones; ``dictionary_size`` and
            ``boundary`` are then ignored.
        inplace: accepted and ignored, for libraries that pass it to every activation.
        generator: for random initial values; None: torch's default one.
        device: of the parameters.
        dtype: of the parameters; float32 or higher, also after ``.half()`` or ``.to(torch.bfloat16)``, since
            half precision would change the function.

    Attributes:
        alpha: the mixing coefficients, a parameter ``(groups, dictionary_size)``.
        dictionary: a buffer ``(dictionary_size,)``.
        base_weight: the learned weights of a base, ``(groups,)``, if it has them, else None.
        log_gamma: the logarithm of a learned bandwidth, ``()`` or ``(groups,)``, else None.
        expansion: kernel and dictionary, a :class:`kafnets.Expansion`.
    """

    facts = Facts(
        family="expansions",
        source="Scardapane et al., 2017",
        formula="Σ_i α_i κ(s, d_i)",
        parameters="dictionary_size",
        smooth=True,
        local="yes",
        regularization="yes",
        plottable=True,
        hyperparameter="dictionary_size",
    )
