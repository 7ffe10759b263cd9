"""Spline activation functions."""

from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from kafnets import reference
from kafnets.nn.activation import ByChannel, check_whole
from kafnets.ops import piecewise_cubic
from kafnets.reference.activations import Basis
from kafnets.registry import Facts, register
from kafnets.zoo.starts import Start, check_start, values_at


@register("saf")
class SAF(ByChannel):
    r"""A cubic spline through learned knots, :math:`g(s) = \mathbf{u}^T \mathbf{B} \, \mathbf{q}_k`.

    T knots are equispaced on :math:`\pm` ``boundary``. In the interval behind knot k, u is the share of it
    that lies left of s, :math:`\mathbf{u} = (u^3, u^2, u, 1)`, and :math:`\mathbf{q}_k` the four knots around
    it (the paper counts them from k, which would shift the curve by one knot). Beyond the last knots the
    curve goes on straight, with a continuous derivative.

    Weight decay would pull the curve to 0, so its knots do not decay: add ``distance_from_start()``, or
    :func:`kafnets.distance_from_start` of a whole model, to the loss instead.

    Args:
        num_features: N, the number of channels along ``dim``.
        knots: T.
        boundary: where the last knots are.
        basis: ``"catmull_rom"``, which passes through its knots, or ``"b_spline"``, which is smoother.
        init: what to start as: the name of a fixed function, or a function of a float64 tensor. Both bases
            start with a curve that passes through it at the knots.
        dim: the channel axis.
        device: where the parameters live.
        dtype: their type.

    Attributes:
        q: the knots' values, a parameter ``(num_features, knots)``.
        start: a buffer ``(knots,)``, what ``q`` was at first.
    """

    facts: ClassVar[Facts] = Facts(
        family="splines",
        source="Scardapane et al., 2016",
        formula="cubic spline through learned knots",
        parameters="knots",
        smooth=True,
        local="yes",
        regularization="own",
        plottable=True,
        hyperparameter="knots",
    )
    undecayed_parameters = ("q",)
    _shown = ("knots", "basis")

    start: Tensor
    _polynomials: Tensor

    def __init__(
        self,
        num_features: int,
        *,
        knots: int = 21,
        boundary: float = 2.0,
        basis: Basis = "catmull_rom",
        init: Start = "tanh",
        dim: int = 1,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(num_features, dim)
        check_whole("knots", knots, least=2)
        check_start(init)
        if not boundary > 0:
            raise ValueError(f"boundary must be positive, got {boundary}")
        if basis not in ("catmull_rom", "b_spline"):
            raise ValueError(f"basis must be 'catmull_rom' or 'b_spline', got {basis!r}")
        self.knots = knots
        self.boundary = boundary
        self.basis = basis
        self.init = init
        self.q = nn.Parameter(torch.empty(num_features, knots, device=device, dtype=dtype))
        self.register_buffer("start", torch.empty(knots, device=device, dtype=dtype))
        # Whole numbers, which no dtype rounds.
        matrix = torch.tensor(_polynomials_of_knots(knots, basis).tolist(), device=device, dtype=dtype)
        self.register_buffer("_polynomials", matrix, persistent=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start again."""
        if self.q.is_meta:
            return
        values = values_at(self.init, reference.equispaced(self.knots, self.boundary))
        start = reference.activations.interpolating_knots(values, self.basis)
        with torch.no_grad():
            self.start.copy_(torch.from_numpy(start))
            self.q.copy_(self.start)

    def distance_from_start(self) -> Tensor:
        """The sum of squares of what has been learned, to be made small."""
        return (self.q - self.start).square().sum()

    def activate(self, s: Tensor) -> Tensor:
        pieces = self.q.to(s.dtype) @ self._polynomials.to(s.dtype) * (1 / _DIVISORS[self.basis])
        spacing = 2 * self.boundary / (self.knots - 1)
        return piecewise_cubic(
            s, pieces.unflatten(1, (-1, 4)), first=-self.boundary, spacing=spacing, dim=self.dim
        )


_DIVISORS = {"catmull_rom": 2, "b_spline": 6}


def _polynomials_of_knots(knots: int, basis: Basis) -> NDArray[np.float64]:
    """The linear map from the knots to the polynomials of all pieces, times the basis's divisor.

    ``(knots, (knots + 1) * 4)``, lowest power first: left of the grid, its intervals, right of it.
    """
    divisor = _DIVISORS[basis]
    # With a knot more at both ends, on the line through the last two.
    extended = np.eye(knots + 2, knots, k=-1)
    extended[0, :2] = 2, -1
    extended[-1, -2:] = -1, 2
    from_span = np.rint(reference.activations.spline_basis(basis)[::-1] * divisor)
    pieces = np.zeros((knots + 1, 4, knots))
    for k in range(knots - 1):
        pieces[k + 1] = from_span @ extended[k : k + 4]
    pieces[0, 0, 0] = pieces[-1, 0, -1] = divisor
    pieces[0, 1, :2] = pieces[-1, 1, -2:] = -divisor, divisor
    return pieces.reshape(-1, knots).T
