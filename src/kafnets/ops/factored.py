r"""The Gaussian expansion on an equispaced dictionary, factored, in plain torch.

With spacing :math:`\Delta`, :math:`z = (s - c) / \Delta` counted from a centre element c and
:math:`a = \gamma \Delta^2`, the term of the element m places from the centre is

.. math:: e^{-a (z - m)^2} = e^{-a z^2} \, r^m \, e^{-a m^2}, \qquad r = e^{2 a z}

so that a sum over D elements is a polynomial in r and one in 1 / r: three exponentials and D
multiply-adds in place of D exponentials. The factors leave the range of floating-point numbers where
the dictionary is long or the kernel narrow; then it is cut into segments, each with its own centre.
Computed in float64 for results in float32: powers of r magnify rounding errors.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from kafnets.ops.grid import Grid

# In units of 1 / sqrt(a): exp(-REACH ** 2) is a normal number, and exp(2 * REACH * EXTENT) does not overflow.
REACH = 26.4
EXTENT = 13.2


@dataclass(frozen=True)
class _Segment:
    begin: int
    end: int
    centre: int


def kaf(s: Tensor, alpha: Tensor, grid: Grid, gamma: Tensor) -> Tensor:
    """``(..., N)`` with alpha ``(N, D)`` and gamma ``()`` or ``(N,)``, in float64."""
    result = torch.zeros_like(s)
    a = gamma * grid.spacing**2
    for segment in _segments(grid, gamma):
        envelope, up, down = _factors(s, segment, grid, a)
        beta = alpha[:, segment.begin : segment.end] * _weights(segment, a)
        middle = segment.centre - segment.begin
        above = beta[:, -1]
        for k in range(beta.shape[1] - 2, middle - 1, -1):
            above = torch.addcmul(beta[:, k], above, up)
        polynomial = above
        if middle:
            below = beta[:, 0]
            for k in range(1, middle):
                below = torch.addcmul(beta[:, k], below, down)
            polynomial = torch.addcmul(polynomial, below, down)
        result = torch.addcmul(result, envelope, polynomial)
    return result


def kaf2d(s: Tensor, alpha: Tensor, grid: Grid, gamma: Tensor) -> Tensor:
    """``(..., 2 P)`` with alpha ``(P, D, D)`` and gamma ``()`` or ``(P,)``, in float64."""
    first, second = (_kernel_values(part, grid, gamma) for part in s.unflatten(-1, (-1, 2)).unbind(-1))
    return torch.einsum("...pi,pij,...pj->...p", first, alpha, second)


def _kernel_values(s: Tensor, grid: Grid, gamma: Tensor) -> Tensor:
    """All terms ``(..., N, D)``, by repeated multiplication from each segment's centre."""
    a = gamma * grid.spacing**2
    values = []
    for segment in _segments(grid, gamma):
        envelope, up, down = _factors(s, segment, grid, a)
        powers = [envelope.expand_as(s)]
        for _ in range(segment.begin, segment.centre):
            powers.insert(0, powers[0] * down)
        for _ in range(segment.centre + 1, segment.end):
            powers.append(powers[-1] * up)
        values.append(torch.stack(powers, dim=-1) * _weights(segment, a))
    return torch.cat(values, dim=-1)


def _segments(grid: Grid, gamma: Tensor) -> list[_Segment]:
    widest = float(gamma.detach().max()) * grid.spacing**2
    half = int(min(EXTENT / math.sqrt(widest), grid.size))
    count = math.ceil(grid.size / (2 * half + 1))
    ends = [grid.size * i // count for i in range(count + 1)]
    return [_Segment(begin, end, begin + (end - begin) // 2) for begin, end in pairwise(ends)]


def _factors(s: Tensor, segment: _Segment, grid: Grid, a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    centre = grid.first + segment.centre * grid.spacing
    z = (s - centre) / grid.spacing
    reach = (REACH / a.detach().sqrt()).expand_as(s)
    outside = z.abs() > reach
    z = torch.where(outside, 0.0, z)
    envelope = torch.where(outside, 0.0, torch.exp(-a * z.square()))
    return envelope, torch.exp(2 * a * z), torch.exp(-2 * a * z)


def _weights(segment: _Segment, a: Tensor) -> Tensor:
    """``exp(-a m^2)``: ``(size,)``, or ``(N, size)`` with a bandwidth for each neuron."""
    m = torch.arange(segment.begin, segment.end, device=a.device, dtype=a.dtype) - segment.centre
    return torch.exp(-a.unsqueeze(-1) * m.square())
