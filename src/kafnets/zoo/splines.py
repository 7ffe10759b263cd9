"""Spline activation functions."""

from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from kafnets.checks import check_integer
from kafnets.nn.activation import ByChannel, TorchSource, full_precision
from kafnets.ops import piecewise_cubic
from kafnets.registry import Facts, register
from kafnets.starts import Function, check_function, values_of

Basis = Literal["catmull_rom", "b_spline"]

_MATRICES: dict[Basis, list[list[int]]] = {
    "catmull_rom": [[0, 2, 0, 0], [-1, 0, 1, 0], [2, -5, 4, -1], [-1, 3, -3, 1]],
    "b_spline": [[1, 4, 1, 0], [-3, 0, 3, 0], [3, -6, 3, 0], [-1, 3, -3, 1]],
}
"""From the four knots around an interval to its polynomial, lowest power first, times the basis's divisor."""
_DIVISORS: dict[Basis, int] = {"catmull_rom": 2, "b_spline": 6}


@register("saf")
class SAF(ByChannel):
    r"""A cubic spline through learned knots, :math:`g(s) = \mathbf{u}^T \mathbf{B} \, \mathbf{q}_k`.

    T knots are equispaced on :math:`\pm` ``boundary``. In the interval after knot k, u is the relative
    position of s, :math:`\mathbf{u} = (u^3, u^2, u, 1)`, and :math:`\mathbf{q}_k` the four knots around it
    (the paper counts them from k, which would shift the curve by one knot). Outside the outermost knots the
    curve is a straight line, with a continuous derivative.

    Weight decay does not apply, since it would pull the curve to 0: add ``distance_from_start()``, or
    :func:`kafnets.distance_from_start` of a whole model, to the loss instead.

    Args:
        knots: T.
        boundary: the knots extend from ``-boundary`` to ``boundary``.
        basis: ``"catmull_rom"``, which passes through its knots, or ``"b_spline"``, which is smoother.
        init: the initial function: the name of a fixed function, or a function of a float64 tensor. With
            either basis, the initial curve equals it at the knots.

    Attributes:
        q: the knots' values, a parameter ``(num_features, knots)``.
        start: a buffer ``(knots,)``, the initial values of ``q``.
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
    grid: Tensor
    _polynomials: Tensor

    def __init__(
        self,
        num_features: int = 1,
        *,
        groups: int | None = None,
        knots: int = 21,
        boundary: float = 2.0,
        basis: Basis = "catmull_rom",
        init: Function = "tanh",
        dim: int = 1,
        inplace: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(num_features, dim, groups)
        check_integer("knots", knots, least=2)
        check_function(init)
        if not boundary > 0:
            raise ValueError(f"boundary must be positive, got {boundary}")
        if basis not in ("catmull_rom", "b_spline"):
            raise ValueError(f"basis must be 'catmull_rom' or 'b_spline', got {basis!r}")
        self.knots = knots
        self.boundary = boundary
        self.basis = basis
        self.init = init
        self.q = nn.Parameter(torch.empty(self.groups, knots, device=device, dtype=dtype))
        self.register_buffer("start", torch.empty(knots, device=device, dtype=dtype))
        # What the knots mean, so that they are not loaded into a curve with another meaning.
        self.register_buffer("grid", torch.empty(2, device=device, dtype=dtype))
        pieces = 4 * (knots + 1)
        self.register_buffer(
            "_polynomials", torch.empty(knots, pieces, device=device, dtype=dtype), persistent=False
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset the parameters."""
        if self.q.is_meta:
            return
        places = np.linspace(-self.boundary, self.boundary, self.knots)
        start = _interpolating(values_of(self.init, [places], TorchSource(), "init"), self.basis)
        with torch.no_grad():
            self.start.copy_(torch.from_numpy(start))
            self.q.copy_(self.start)
        self._restore_constants()

    def _restore_constants(self) -> None:
        """Write what follows from the options, after the buffers were moved, emptied or replaced."""
        if self.grid.is_meta:
            return
        with torch.no_grad():
            self.grid.copy_(torch.tensor([self.boundary, _DIVISORS[self.basis]]))
            # Whole numbers, which no dtype rounds.
            self._polynomials.copy_(torch.from_numpy(_polynomials_of_knots(self.knots, self.basis)))

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self._restore_constants()
        return self

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
        stored = state_dict.get(prefix + "grid")
        if stored is not None and not stored.is_meta and stored.shape == (2,):
            boundary, divisor = stored.double().tolist()
            if abs(boundary - self.boundary) > 0.01 * self.boundary or divisor != _DIVISORS[self.basis]:
                basis = next((name for name, own in _DIVISORS.items() if own == divisor), "unknown")
                errors: list[str] = args[-1]
                errors.append(
                    f"{prefix}q was stored for boundary={boundary:g}, basis={basis!r}, but this module was "
                    f"built with boundary={self.boundary:g}, basis={self.basis!r}"
                )
        self._restore_constants()

    def distance_from_start(self) -> Tensor:
        """The squared distance of the knots from their initial values, for use as a penalty."""
        return (self.q - self.start).square().sum()

    def activate(self, s: Tensor, dim: int) -> Tensor:
        with full_precision(s):
            pieces = self.q.to(s.dtype) @ self._polynomials.to(s.dtype) * (1 / _DIVISORS[self.basis])
        spacing = 2 * self.boundary / (self.knots - 1)
        return piecewise_cubic(
            s, pieces.unflatten(1, (-1, 4)), first=-self.boundary, spacing=spacing, dim=dim
        )


def _interpolating(values: NDArray[np.float64], basis: Basis) -> NDArray[np.float64]:
    """The knots of a spline that passes through these values at its places.

    A Catmull-Rom spline passes through its knots. A B-spline does not: (q_{i-1} + 4 q_i + q_{i+1}) / 6 has
    to be the value, and the last knots are themselves, by the way the spline is continued.
    """
    if basis == "catmull_rom":
        return values.copy()
    count = len(values)
    matrix = (np.eye(count, k=-1) + 4 * np.eye(count) + np.eye(count, k=1)) / 6
    matrix[[0, -1]] = np.eye(count)[[0, -1]]
    return np.asarray(np.linalg.solve(matrix, values), dtype=np.float64)


def _polynomials_of_knots(knots: int, basis: Basis) -> NDArray[np.float64]:
    """The linear map from the knots to the polynomials of all pieces, times the basis's divisor.

    ``(knots, (knots + 1) * 4)``, lowest power first: left of the grid, its intervals, right of it.
    """
    divisor = _DIVISORS[basis]
    # With a knot more at both ends, on the line through the last two.
    extended = np.eye(knots + 2, knots, k=-1)
    extended[0, :2] = 2, -1
    extended[-1, -2:] = -1, 2
    from_span = np.array(_MATRICES[basis])
    pieces = np.zeros((knots + 1, 4, knots))
    for k in range(knots - 1):
        pieces[k + 1] = from_span @ extended[k : k + 4]
    pieces[0, 0, 0] = pieces[-1, 0, -1] = divisor
    pieces[0, 1, :2] = pieces[-1, 1, -2:] = -divisor, divisor
    return pieces.reshape(-1, knots).T
