"""Fixed functions by name, over any array library: targets of initializations, and bases of KAFs.

For torch tensors, :mod:`kafnets.ops.fixed_functions` uses torch's own. These are written such that automatic
differentiation gives torch's slopes, also at 0; NaN stays NaN.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from kafnets.checks import did_you_mean
from kafnets.config import Configurable

Array = Any
"""An array of whatever library ``xp`` stands for: see :class:`kafnets.arrays.library.Library`."""


def _elu(xp: Any, s: Array, alpha: float = 1.0) -> Array:
    below = xp.where(s > 0, xp.zeros_like(s), s)  # where the exponential would overflow, it is not wanted
    return xp.where(s > 0, s, alpha * xp.expm1(below))


def _silu(xp: Any, s: Array) -> Array:
    return s * xp.sigmoid(s)


FUNCTIONS: dict[str, Callable[[Any, Array], Array]] = {
    "elu": _elu,
    "gelu": lambda xp, s: 0.5 * s * (1.0 + xp.erf(math.sqrt(0.5) * s)),
    "identity": lambda xp, s: s,
    "leaky_relu": lambda xp, s: xp.where(s > 0, s, 0.01 * s),
    "mish": lambda xp, s: s * xp.tanh(xp.softplus(s)),
    "relu": lambda xp, s: xp.where(s <= 0, xp.zeros_like(s), s),
    "selu": lambda xp, s: 1.0507009873554805 * _elu(xp, s, 1.6732632423543772),
    "sigmoid": lambda xp, s: xp.sigmoid(s),
    "silu": _silu,
    "softplus": lambda xp, s: xp.softplus(s),
    "swish": _silu,
    "tanh": lambda xp, s: xp.tanh(s),
}
"""By name: functions of a library and an array. "silu" and "swish" are the same."""

BaseForm = Literal["fixed", "weighted", "residual"]
BASE_FORMS: tuple[BaseForm, ...] = ("fixed", "weighted", "residual")


@dataclass(frozen=True)
class Base(Configurable):
    r"""A fixed function b that an expansion is added to.

    With coefficients of 0, a KAF with a base equals that function; it learns a correction to it.

    >>> kaf = kafnets.KAF(4, base=kafnets.Base("silu", "weighted"))
    >>> kaf.base_weight.shape
    torch.Size([4])

    Args:
        function: its name: a key of ``kafnets.fixed_functions.FUNCTIONS``, such as "silu", "mish" or "elu".
        form: "fixed" adds :math:`b(s)`; "weighted" adds :math:`w \, b(s)`, and "residual" adds
            :math:`s + w (b(s) - s)`, with a learned weight w per function, initialized to 1.
    """

    function: str
    form: BaseForm = "fixed"

    def __post_init__(self) -> None:
        if self.function not in FUNCTIONS:
            hint = did_you_mean(str(self.function), FUNCTIONS)
            raise ValueError(f"base {self.function!r} is not known: {hint}known are {', '.join(FUNCTIONS)}")
        if self.form not in BASE_FORMS:
            raise ValueError(f"form must be one of {', '.join(map(repr, BASE_FORMS))}, got {self.form!r}")

    def __str__(self) -> str:
        return self.function if self.form == "fixed" else f"{self.form} {self.function}"

    @property
    def learned(self) -> bool:
        """Whether it has a weight."""
        return self.form != "fixed"

    def combine(self, s: Any, value: Any, weight: Any) -> Any:
        """What is added to the expansion, from b(s) and the weight."""
        if self.form == "fixed":
            return value
        if self.form == "weighted":
            return weight * value
        return value + (1 - weight) * (s - value)  # a weight of 1 leaves b(s), however large s is

    def by_weight(self, s: Any, value: Any) -> Any:
        """The derivative of that by the weight, in which it is linear."""
        return value if self.form == "weighted" else value - s

    def value(self, xp: Any, s: Any, weight: Any = None) -> Any:
        """What is added to the expansion, by any array library; channels last if there are weights."""
        return self.combine(s, FUNCTIONS[self.function](xp, s), weight)
