"""KAFs whose dictionaries are learned."""

import math
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from kafnets.expansion import Expansion
from kafnets.fixed_functions import Base
from kafnets.kernels import Gaussian
from kafnets.nn.expanding import Expanding, expansion_facts
from kafnets.ops.bells import bell_sum
from kafnets.ops.fixed_functions import TORCH_FUNCTIONS
from kafnets.registry import Facts, register
from kafnets.starts import Init


@register("learned_dictionary_kaf")
class LearnedDictionaryKAF(Expanding):
    r"""A KAF whose dictionary is learned with its coefficients.

    .. math:: g(s) = \sum_i \alpha_i \exp(-\gamma (s - d_i)^2), \quad
              d_i = d_1 + \sum_{j < i} \log(1 + e^{r_j})

    The elements stay in order by construction: each is the one before it plus a positive step. They are
    initialized equispaced, so that the function initially equals a KAF. The bandwidth is fixed.

    Args:
        shared: one dictionary for the layer instead of one per function.
        dictionary_size: D, the number of dictionary elements. None: 20.
        boundary: the dictionary initially extends from ``-boundary`` to ``boundary``.
        gamma: the bandwidth. None: the paper's rule of thumb for the initial dictionary.
        base: a fixed function that the sum is added to, by name, or a :class:`kafnets.Base` of form "fixed".
        init: initial coefficients, as in :class:`kafnets.KAF`.

    Attributes:
        alpha: the coefficients, ``(groups, dictionary_size)``.
        lowest: the first element of each dictionary, ``(groups, 1)``, or ``(1, 1)`` if shared.
        steps: the :math:`r_j`, ``(groups, dictionary_size - 1)``, or ``(1, dictionary_size - 1)``.
    """

    facts: ClassVar[Facts] = expansion_facts(
        "Scardapane et al., 2017", "Σ_i α_i κ(s, d_i), d learned", "2 * dictionary_size"
    )
    undecayed_parameters = ("lowest", "steps")
    _shown = ("dictionary_size", "shared")

    def __init__(
        self,
        num_features: int = 1,
        *,
        shared: bool = False,
        groups: int | None = None,
        dictionary_size: int | None = None,
        boundary: float = 3.0,
        gamma: float | None = None,
        base: Base | str | None = None,
        init: Init = None,
        dim: int = 1,
        inplace: bool = False,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(num_features, dim, groups)
        expansion = Expansion.of(
            dictionary_size=dictionary_size, boundary=boundary, kernel=Gaussian(gamma), base=base
        )
        if expansion.base is not None and expansion.base.learned:
            raise ValueError(f"base must have the form 'fixed', got {expansion.base.form!r}")
        self.shared = shared
        options: dict[str, Any] = {"device": device, "dtype": dtype}
        self._draw(expansion, init, options)
        own = 1 if shared else self.groups
        self.lowest = nn.Parameter(torch.empty(own, 1, **options))
        self.steps = nn.Parameter(torch.empty(own, self.dictionary_size - 1, **options))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Reset the parameters: coefficients by ``init``, and an equispaced dictionary."""
        super().reset_parameters(generator)
        spacing = self.first.dictionary.spacing
        assert spacing is not None
        nn.init.constant_(self.lowest, self.first.dictionary.values[0])
        nn.init.constant_(self.steps, spacing + math.log(-math.expm1(-spacing)))

    @property
    def gamma(self) -> float:
        """The bandwidth."""
        assert self.first.gamma is not None
        return self.first.gamma

    @property
    def dictionary(self) -> Tensor:
        """The elements in order, ``(groups, dictionary_size)``, or ``(1, dictionary_size)`` if shared."""
        steps = functional.softplus(self.steps, threshold=40.0)
        return torch.cat([self.lowest, self.lowest + steps.cumsum(1)], 1)

    def activate(self, s: Tensor, dim: int) -> Tensor:
        places = self.dictionary.to(s.dtype).expand(self.groups, -1)
        result = bell_sum(s, self.alpha.to(s.dtype), places, self.gamma, dim=dim)
        base = self.first.base
        return result if base is None else result + TORCH_FUNCTIONS[base.function](s)
