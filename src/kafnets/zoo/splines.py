"""Spline activation functions."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Self

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
    grid: Tensor
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
        # What the knots mean, so that they are not loaded into a curve with another meaning.
        self.register_buffer("grid", torch.empty(2, device=device, dtype=dtype))
        pieces = 4 * (knots + 1)
        self.register_buffer(
            "_polynomials", torch.empty(knots, pieces, device=device, dtype=dtype), persistent=False
        )
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
        """The sum of squares of what has been learned, to be made small."""
        return (self.q - self.start).square().sum()

    def activate(self, s: Tensor) -> Tensor:
        with _full_precision(s):
            pieces = self.q.to(s.dtype) @ self._polynomials.to(s.dtype) * (1 / _DIVISORS[self.basis])
        spacing = 2 * self.boundary / (self.knots - 1)
        return piecewise_cubic(
            s, pieces.unflatten(1, (-1, 4)), first=-self.boundary, spacing=spacing, dim=self.dim
        )


def _full_precision(s: Tensor) -> AbstractContextManager[None]:
    """Keeps autocast from multiplying matrices in half precision."""
    if s.is_meta or not torch.is_autocast_enabled(s.device.type):
        return nullcontext()
    return torch.autocast(s.device.type, enabled=False)


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
