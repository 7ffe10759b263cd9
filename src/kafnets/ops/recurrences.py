"""Sums over functions that follow from the two before: powers, Hermite functions."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from kafnets.ops.recomputed import over_channels, recomputed


def power_sum(s: Tensor, coefficients: Tensor) -> Tensor:
    r""":math:`\sum_k a_k s^k`. ``coefficients``: first axis over k, the others broadcast with ``s``."""
    return recomputed(_Expansion(_Powers()), s, coefficients)


def hermite_sum(s: Tensor, coefficients: Tensor) -> Tensor:
    r""":math:`\sum_k a_k \psi_k(s)` over orthonormal Hermite functions, otherwise as :func:`power_sum`."""
    return recomputed(_Expansion(_Hermite()), s, coefficients)


@dataclass(frozen=True)
class _Powers:
    def first(self, s: Tensor) -> tuple[Tensor, Tensor]:
        """The function number 0 and its derivative."""
        return torch.ones_like(s), torch.zeros_like(s)

    def factors(self, k: int) -> tuple[float, float]:
        """A and C in f_{k+1} = A s f_k - C f_{k-1}."""
        return 1.0, 0.0


@dataclass(frozen=True)
class _Hermite:
    def first(self, s: Tensor) -> tuple[Tensor, Tensor]:
        bell = torch.exp(s * s * -0.5) * math.pi**-0.25
        return bell, -s * bell

    def factors(self, k: int) -> tuple[float, float]:
        return math.sqrt(2 / (k + 1)), math.sqrt(k / (k + 1))


@dataclass(frozen=True)
class _Expansion:
    family: _Powers | _Hermite

    def value(self, s: Tensor, coefficients: Tensor) -> Tensor:
        if isinstance(self.family, _Powers):  # Horner's rule: one operation a power
            result = coefficients[-1].expand_as(s)
            for coefficient in coefficients.flip(0)[1:].unbind():
                result = torch.addcmul(coefficient, result, s)
            return result
        total = torch.zeros_like(s)
        for coefficient, term in zip(coefficients.unbind(), self._terms(s, len(coefficients)), strict=True):
            total = torch.addcmul(total, coefficient, term)
        return total

    def gradients(self, upstream: Tensor, s: Tensor, coefficients: Tensor) -> tuple[Tensor, ...]:
        of_coefficients = torch.empty_like(coefficients)
        slope = torch.zeros_like(s)
        for k, (term, derivative) in enumerate(self._terms_and_derivatives(s, len(coefficients))):
            of_coefficients[k] = over_channels(upstream * term, coefficients[k])
            slope = torch.addcmul(slope, coefficients[k], derivative)
        return upstream * slope, of_coefficients

    def _terms(self, s: Tensor, count: int) -> Iterator[Tensor]:
        before, term = torch.zeros_like(s), self.family.first(s)[0]
        for k in range(count):
            yield term
            a, c = self.family.factors(k)
            before, term = term, torch.addcmul(before * -c, term, s, value=a)

    def _terms_and_derivatives(self, s: Tensor, count: int) -> Iterator[tuple[Tensor, Tensor]]:
        term, derivative = self.family.first(s)
        before, derivative_before = torch.zeros_like(s), torch.zeros_like(s)
        for k in range(count):
            yield term, derivative
            a, c = self.family.factors(k)
            later = torch.addcmul(before * -c, term, s, value=a)
            later_derivative = torch.addcmul(derivative_before * -c, derivative, s, value=a).add(
                term, alpha=a
            )
            before, term = term, later
            derivative_before, derivative = derivative, later_derivative
