"""Weighted sums of powers and of Hermite functions."""

from functools import partial
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from kafnets.checks import check_integer
from kafnets.nn.activation import ByChannel, TorchSource
from kafnets.ops import hermite_sum, power_sum
from kafnets.registry import Facts, register
from kafnets.starts import Function, check_function, values_of

_facts = partial(
    Facts,
    "polynomials",
    parameters="degree + 1",
    smooth=True,
    local="no",
    regularization="yes",
    plottable=True,
    hyperparameter="degree",
)


class _Sum(ByChannel):
    """Coefficients ``(num_features, degree + 1)`` that start as the least-squares fit of a known function."""

    mixing_parameters = ("coefficients",)
    largest_degree: ClassVar[int] = 60  # beyond, float32 does not hold the terms
    _shown = ("degree",)

    def __init__(
        self,
        num_features: int = 1,
        *,
        groups: int | None = None,
        degree: int = 3,
        init: Function = "tanh",
        boundary: float = 3.0,
        dim: int = 1,
        inplace: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(num_features, dim, groups)
        check_integer("degree", degree)
        if degree > self.largest_degree:
            raise ValueError(f"degree must be at most {self.largest_degree}, got {degree}")
        check_function(init)
        if not boundary > 0:
            raise ValueError(f"boundary must be positive, got {boundary}")
        self.degree = degree
        self.init = init
        self.boundary = boundary
        self.coefficients = nn.Parameter(torch.empty(self.groups, degree + 1, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset the parameters."""
        if self.coefficients.is_meta:
            return
        places = np.linspace(-self.boundary, self.boundary, 201)
        solution = np.linalg.lstsq(
            self._terms(places), values_of(self.init, [places], TorchSource(), "init"), rcond=None
        )[0]
        with torch.no_grad():
            self.coefficients.copy_(torch.from_numpy(solution).expand_as(self.coefficients))

    def _terms(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        raise NotImplementedError


@register("paf")
class PAF(_Sum):
    r"""A polynomial, :math:`g(s) = \sum_{i=0}^P a_i s^i`.

    Starts as the least-squares fit of a known function on :math:`\pm` ``boundary``: the original began with
    an approximated sigmoid. Beware of large activations, which it takes to the power of P.

    Args:
        num_features: N, the number of channels along ``dim``; 1: one function for any number of them.
        groups: the number of functions, each shared by N / groups neighboring channels. None: N.
        degree: P.
        init: what to start as: the name of a fixed function, or a function of a float64 tensor.
        boundary: where to fit it.
        dim: the channel axis.
        inplace: accepted and ignored.
        device: where the parameters live.
        dtype: their type.

    Attributes:
        coefficients: the :math:`a_i`, a parameter ``(num_features, degree + 1)``.
    """

    facts: ClassVar[Facts] = _facts("Piazza et al., 1992", "Σ_i a_i s^i")

    def activate(self, s: Tensor, dim: int) -> Tensor:
        return power_sum(s, self.coefficients, dim=dim)

    def _terms(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.vander(places, self.degree + 1, increasing=True)


@register("hermite")
class Hermite(_Sum):
    r"""A sum of Hermite functions, :math:`g(s) = \sum_{k=0}^P a_k \psi_k(s)`.

    .. math:: \psi_k(s) = (2^k k! \sqrt\pi)^{-1/2} \, H_k(s) \, e^{-s^2 / 2}

    They are orthonormal and vanish far from 0, so that the output stays bounded; like a KAF, it is linear in
    its coefficients. Starts as the least-squares fit of a known function on :math:`\pm` ``boundary``.

    Args:
        num_features: N, the number of channels along ``dim``; 1: one function for any number of them.
        groups: the number of functions, each shared by N / groups neighboring channels. None: N.
        degree: P.
        init: what to start as: the name of a fixed function, or a function of a float64 tensor.
        boundary: where to fit it.
        dim: the channel axis.
        inplace: accepted and ignored.
        device: where the parameters live.
        dtype: their type.

    Attributes:
        coefficients: the :math:`a_k`, a parameter ``(num_features, degree + 1)``.
    """

    facts: ClassVar[Facts] = _facts("Siniscalchi et al., 2013", "Σ_k a_k H_k(s) exp(-s²/2), normalized")

    def __init__(
        self,
        num_features: int = 1,
        *,
        groups: int | None = None,
        degree: int = 7,
        init: Function = "tanh",
        boundary: float = 3.0,
        dim: int = 1,
        inplace: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            num_features,
            groups=groups,
            degree=degree,
            init=init,
            boundary=boundary,
            dim=dim,
            device=device,
            dtype=dtype,
        )

    def activate(self, s: Tensor, dim: int) -> Tensor:
        return hermite_sum(s, self.coefficients, dim=dim)

    def _terms(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        functions = [np.pi**-0.25 * np.exp(-(places**2) / 2)]
        for k in range(self.degree):
            before = functions[k - 1] if k else 0.0
            functions.append(np.sqrt(2 / (k + 1)) * places * functions[k] - np.sqrt(k / (k + 1)) * before)
        return np.stack(functions, axis=-1)
