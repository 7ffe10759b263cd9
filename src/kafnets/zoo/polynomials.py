"""Weighted sums of powers and of Hermite functions."""

from functools import partial
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from kafnets.checks import check_integer
from kafnets.nn.activation import ByChannel, TorchSource
from kafnets.ops import apply, hermite_sum
from kafnets.ops.formula import Formula
from kafnets.ops.powers import Powers
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

    Initialized as the least-squares fit of a known function on :math:`\pm` ``boundary``, as the original was
    with a sigmoid. Large inputs lead to very large outputs, which grow with the P-th power.

    Args:
        degree: P.
        init: the initial function: the name of a fixed function, or a function of a float64 tensor.
        boundary: the fit is on [-boundary, boundary].

    Attributes:
        coefficients: the :math:`a_i`, a parameter ``(num_features, degree + 1)``.
    """

    facts: ClassVar[Facts] = _facts("Piazza et al., 1992", "Σ_i a_i s^i")

    def exact_formula(self) -> tuple[Formula, Tensor]:
        return Powers(), self.coefficients

    def activate(self, s: Tensor, dim: int) -> Tensor:
        formula, coefficients = self.exact_formula()
        return apply(formula, s, coefficients, dim)

    def _terms(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.vander(places, self.degree + 1, increasing=True)


@register("hermite")
class Hermite(_Sum):
    r"""A sum of Hermite functions, :math:`g(s) = \sum_{k=0}^P a_k \psi_k(s)`.

    .. math:: \psi_k(s) = (2^k k! \sqrt\pi)^{-1/2} \, H_k(s) \, e^{-s^2 / 2}

    They are orthonormal and vanish far from 0, so that the output is bounded; like a KAF, it is linear in its
    coefficients. Initialized as the least-squares fit of a known function on :math:`\pm` ``boundary``.

    Args:
        degree: P.
        init: the initial function: the name of a fixed function, or a function of a float64 tensor.
        boundary: the fit is on [-boundary, boundary].

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


@register("rational")
class Rational(ByChannel):
    r"""A quotient of polynomials.

    .. math:: g(s) = (a_0 + a_1 s + \ldots + a_5 s^5) / (1 + |b_1 s + \ldots + b_4 s^4|)

    Neighboring channels share a function, in 8 groups, as in the Kolmogorov-Arnold transformer. It is
    initialized as the Padé approximant of Swish, times a factor that preserves the variance: the mean square
    for standard normal inputs is 1/2, as He's initialization of the builders' weights assumes. Weight decay
    does not apply.

    Args:
        groups: the number of functions, each shared by N / groups neighboring channels. None: 8, or the
            largest smaller number that divides N.

    Attributes:
        numerator: the :math:`a_i`, a parameter ``(groups, 6)``.
        denominator: the :math:`b_i`, ``(groups, 4)``.
    """

    facts: ClassVar[Facts] = Facts(
        "polynomials",
        source="Yang and Wang, 2024",
        formula="Σ a_i s^i / (1 + |Σ b_i s^i|)",
        parameters="10 * groups / num_features",
        smooth=False,
        local="no",
        regularization="no",
        plottable=True,
    )
    undecayed_parameters = ("numerator", "denominator")
    SWISH: ClassVar = ((0.0, 1 / 2, 1 / 4, 3 / 56, 1 / 168, 1 / 3360), (0.0, 3 / 28, 0.0, 1 / 1680))
    """From s / 2 (1 + tanh(s / 2)) and the approximant of tanh with the degrees 3 and 4."""
    GAIN: ClassVar[float] = 1.1854963344068428
    """By which the mean square becomes 1/2."""

    def __init__(
        self,
        num_features: int = 1,
        *,
        groups: int | None = None,
        dim: int = 1,
        inplace: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        if groups is None and isinstance(num_features, int) and num_features > 0:
            groups = max(count for count in range(1, 9) if num_features % count == 0)
        super().__init__(num_features, dim, groups)
        self.numerator = nn.Parameter(torch.empty(self.groups, 6, device=device, dtype=dtype))
        self.denominator = nn.Parameter(torch.empty(self.groups, 4, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset the parameters."""
        numerator, denominator = (self.numerator.new_tensor(each) for each in self.SWISH)
        with torch.no_grad():
            self.numerator.copy_((self.GAIN * numerator).expand_as(self.numerator))
            self.denominator.copy_(denominator.expand_as(self.denominator))

    def activate(self, s: Tensor, dim: int) -> Tensor:
        above, below = (self.along(each.T, s, dim) for each in (self.numerator, self.denominator))
        return _horner(above, s) / (1 + (_horner(below, s) * s).abs())


def _horner(coefficients: Tensor, s: Tensor) -> Tensor:
    result = coefficients[-1].expand_as(s)
    for coefficient in coefficients.flip(0)[1:]:
        result = result * s + coefficient
    return result
