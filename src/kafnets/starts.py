"""Initial values of the mixing coefficients: random, or approximating a known function."""

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from kafnets.arrays import moments
from kafnets.arrays.library import NUMPY
from kafnets.checks import check_integer
from kafnets.config import Configurable
from kafnets.expansion import Expansion
from kafnets.fixed_functions import FUNCTIONS

__all__ = ["Initializer", "Normal", "Ridge"]

Array = NDArray[np.float64]

Function = str | Callable[..., Any]
"""A function to start as: one of these names, or any function of arrays."""

Gain = Literal["forward", "backward"]
GAINS: tuple[Gain, ...] = ("forward", "backward")
"""What a start keeps from layer to layer: the size of activations, or of gradients."""


class Source(Protocol):
    """What a framework does for a start."""

    def normal(self, std: float, shape: tuple[int, ...]) -> Any:
        """Independent normal values with mean 0."""

    def call(self, function: Callable[..., Any], *places: Array) -> Array:
        """A user's function, called with the framework's own arrays."""


class NumpySource:
    """How NumPy does: random values from a seed."""

    def __init__(self, seed: SupportsIndex) -> None:
        self._generator = np.random.default_rng(operator.index(seed))

    def normal(self, std: float, shape: tuple[int, ...]) -> Array:
        """Independent normal values with mean 0."""
        return self._generator.normal(0.0, std, shape)

    def call(self, function: Callable[..., Any], *places: Array) -> Array:
        """As it is."""
        return np.asarray(function(*places))


class Initializer(Protocol):
    """The interface of initializers: any object with this method can be given as ``init``."""

    def draw(self, functions: int, expansion: Expansion, source: Source) -> Any:
        """Initial values ``(functions, *expansion.shape)``, as an array of NumPy or of the framework."""


@dataclass(frozen=True)
class Normal(Configurable):
    r"""Independent normal values with mean 0 and variance ``std**2``, by default 0.3, as in the paper.

    >>> kafnets.KAF(4, init=kafnets.Normal(std=0.1)).alpha.shape
    torch.Size([4, 20])

    Args:
        std: the standard deviation. Ignored when ``gain`` is given.
        gain: for deep networks with weights of variance 1 / fan_in (``weights="lecun"`` of
            :func:`kafnets.mlp`). "forward" sets the standard deviation such that :math:`E[g(z)^2] = 1` for
            standard normal z and random coefficients, which preserves the scale of activations; "backward"
            such that :math:`E[g'(z)^2] = 1` (:math:`E[\|\nabla g(z)\|^2] = 1` for a 2D-KAF), which preserves
            that of gradients. Tails and base are included; coefficients are 0 if the base is too large.
    """

    std: float = math.sqrt(0.3)
    gain: Gain | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.std) and self.std >= 0):
            raise ValueError(f"std must be a finite number ≥ 0, got {self.std}")
        _check_gain(self.gain)

    def draw(self, functions: int, expansion: Expansion, source: Source) -> Any:
        """From the framework's own random numbers."""
        shape = (functions, *expansion.shape)
        std = self.std if self.gain is None else self._fitted(expansion, self.gain)
        return source.normal(std, shape) if std else np.zeros(shape)

    def _fitted(self, expansion: Expansion, gain: Gain) -> float:
        missing = 1.0 - moments.of_base(expansion, steep=gain == "backward")
        if missing <= 0:
            return 0.0
        return math.sqrt(missing) * _scale(moments.of_terms, expansion, gain)


@dataclass(frozen=True)
class Ridge(Configurable):
    r"""Approximate a known function: :math:`\alpha = (K + \varepsilon I)^{-1} t`, solved in float64.

    >>> kafnets.KAF(1, init=kafnets.Ridge("tanh"))(torch.zeros(1, 1)).abs().item() < 1e-4
    True

    K is the kernel matrix of the dictionary, :math:`K_{ij} = \kappa(d_i, d_j)`, and t the function's values
    there. (The paper computes K "between t and d", which would not approximate t.) Kernels that are not
    positive semi-definite can have a singular matrix (the ReLU kernel's is strictly triangular); for them
    :math:`\|K \alpha - t\|^2 + \varepsilon \|\alpha\|^2` is minimized instead.

    Args:
        target: a name ("tanh", "elu", "relu", ...: the keys of ``kafnets.fixed_functions.FUNCTIONS``) or a
            function of float64 arrays of the framework or of NumPy. For a 2D-KAF, a function of two arrays,
            the values of a pair; a name means :math:`(f(s_1) + f(s_2)) / 2`, since the paper does not say.
        eps: :math:`\varepsilon > 0`; larger values give smaller coefficients and a less accurate fit.
        gain: "forward" scales the function such that :math:`E[g(z)^2] = 1` for standard normal z, "backward"
            such that :math:`E[g'(z)^2] = 1`: see :class:`Normal`. Not for KAFs with a base.
    """

    target: Function
    eps: float = 1e-6
    gain: Gain | None = None

    def __post_init__(self) -> None:
        check_function(self.target, "target")
        if not (math.isfinite(self.eps) and self.eps > 0):
            raise ValueError(f"eps must be a positive finite number, got {self.eps}")
        _check_gain(self.gain)

    def get_config(self) -> dict[str, Any]:
        """The values to make it again from."""
        if not isinstance(self.target, str):
            raise ValueError(
                f"target {self.target!r} cannot be stored: give the name of a function, one of "
                f"{', '.join(FUNCTIONS)}"
            )
        return super().get_config()

    def draw(self, functions: int, expansion: Expansion, source: Source) -> Any:
        """The same coefficients for all functions."""
        if self.gain is not None and expansion.base is not None:
            raise ValueError(
                f"gain={self.gain!r} of Ridge scales a whole function, and base={expansion.base.function!r} "
                "cannot be scaled: leave out one of them, or use Normal(gain=...), which takes a base"
            )
        d = expansion.dictionary.elements
        places = [d] if expansion.dimensions == 1 else [each.ravel() for each in _grid(d)]
        matrix = _kernel_matrix(expansion, places)
        targets = self._targets(places, expansion, source)
        if expansion.base is not None:  # the sum has to make up the difference
            targets = targets - FUNCTIONS[expansion.base.function](NUMPY, places[0])
        penalty = self.eps * np.eye(len(matrix))
        if expansion.kernel.positive_definite:
            solution = np.linalg.solve(matrix + penalty, targets)
        else:
            stacked = np.vstack([matrix, np.sqrt(penalty)])
            wanted = np.concatenate([targets, np.zeros(len(matrix))])
            solution = np.linalg.lstsq(stacked, wanted, rcond=None)[0]
        solution = np.asarray(solution, dtype=np.float64).reshape(expansion.shape)
        if self.gain is not None:
            solution = solution * _scale(moments.of_function, expansion, self.gain, solution)
        return np.broadcast_to(solution, (functions, *expansion.shape))

    def _targets(self, places: list[Array], expansion: Expansion, source: Source) -> Array:
        if isinstance(self.target, str):
            return np.mean([FUNCTIONS[self.target](NUMPY, axis) for axis in places], axis=0)
        # A function of a pair is called with the grid as it lies in the plane.
        shaped = [axis.reshape(expansion.shape) for axis in places]
        return values_of(self.target, shaped, source, "target").ravel()


def _check_gain(gain: object) -> None:
    if gain is not None and gain not in GAINS:
        raise ValueError(f"gain must be 'forward', 'backward' or None, got {gain!r}")


def _scale(moment: Callable[..., float], expansion: Expansion, gain: Gain, *coefficients: Array) -> float:
    """The factor on coefficients that makes a second moment 1."""
    try:
        found = moment(expansion, *coefficients, steep=gain == "backward")
    except NotImplementedError as error:
        raise ValueError(
            f"gain={gain!r} needs the slope of the kernel {type(expansion.kernel).__name__} in NumPy: "
            f"define its method slope, or omit gain"
        ) from error
    if not (math.isfinite(found) and found > 0):
        what = "values" if gain == "forward" else "slopes"
        raise ValueError(
            f"gain={gain!r} cannot be met: for standard normal inputs the mean square of {what} is "
            f"{found:g}, which no factor makes 1. Leave out gain, or choose a dictionary near 0"
        )
    return 1.0 / math.sqrt(found)


def values_of(function: Function, places: Sequence[Array], source: Source, argument: str) -> Array:
    """A function's values, checked: one for each place."""
    if isinstance(function, str):
        return FUNCTIONS[function](NUMPY, *places)
    try:
        if isinstance(function, np.ufunc):
            values = np.asarray(function(*places), dtype=np.float64)
        else:
            values = np.asarray(source.call(function, *places), dtype=np.float64)
    except TypeError as error:
        inputs = "one array" if len(places) == 1 else "two arrays, the values of a pair"
        raise TypeError(f"{argument} must be a function of {inputs}, got {function!r}: {error}") from error
    if values.shape != places[0].shape or not np.isfinite(values).all():
        raise ValueError(
            f"{argument} must give a finite value for each of its inputs of shape {places[0].shape}, "
            f"got shape {values.shape} with {int((~np.isfinite(values)).sum())} values that are not finite"
        )
    return values


def check_function(function: object, argument: str = "init") -> None:
    """Raise unless it is a function, or the name of one."""
    if isinstance(function, str) and function not in FUNCTIONS:
        raise ValueError(
            f"{argument} {function!r} is not known: give one of {', '.join(FUNCTIONS)}, or a function"
        )
    if not isinstance(function, str) and not callable(function):
        raise TypeError(f"{argument} must be a name or a function, got {function!r}")


Init = Initializer | str | Sequence[Initializer | str] | None
"""What layers take as ``init``: None for the paper's random values, a name to follow that function, an
initializer, or a sequence with one per function."""


def resolve_init(
    init: Init, functions: int | None, expansion: Expansion | None = None
) -> Initializer | tuple[Initializer, ...]:
    """Names become :class:`Ridge`, and None the paper's :class:`Normal`; the rest is checked.

    Args:
        init: as layers take it.
        functions: how many there are, if that is known.
        expansion: if it has a base, None stands for coefficients of 0, with which it is that base.
    """
    if init is None:
        return Normal(0.0) if expansion is not None and expansion.base is not None else Normal()
    if isinstance(init, str) or not isinstance(init, Sequence):
        return _resolve_one(init)
    if functions is not None and len(init) != functions:
        raise ValueError(
            f"init must be one initializer, or a sequence with one for each of the {functions} neurons, "
            f"got {len(init)}"
        )
    return tuple(_resolve_one(each) for each in init)


def _resolve_one(init: Initializer | str) -> Initializer:
    if isinstance(init, str):
        check_function(init)
        return Ridge(init)
    if not hasattr(init, "draw") or isinstance(init, type):
        hint = ": to start as a function, give kafnets.Ridge(function)" if callable(init) else ""
        raise TypeError(
            "init must be the name of a function, such as 'elu', or an initializer, such as "
            f"kafnets.Normal(), got {init!r}{hint}"
        )
    return init


def draw_blocks(
    init: Initializer | tuple[Initializer, ...], functions: int, expansion: Expansion, source: Source
) -> Iterator[tuple[list[int] | slice, Any]]:
    """First values block by block: which functions, and their coefficients."""
    if not isinstance(init, tuple):
        yield slice(None), init.draw(functions, expansion, source)
        return
    members: dict[Initializer, list[int]] = {}
    for number, initializer in enumerate(init):
        members.setdefault(initializer, []).append(number)
    for initializer, numbers in members.items():
        yield numbers, initializer.draw(len(numbers), expansion, source)


def first_values(
    xp: Any, init: Init, functions: int, expansion: Expansion, source: Source, dtype: Any
) -> Any:
    """All of them, ``(functions, *expansion.shape)``, as an array of ``xp``."""
    check_integer("functions", functions)
    blocks = list(draw_blocks(resolve_init(init, functions, expansion), functions, expansion, source))
    order = np.argsort(np.concatenate([np.arange(functions)[where] for where, _ in blocks]))
    return xp.take(xp.concatenate([xp.array(each, dtype) for _, each in blocks]), order, axis=0)


def _grid(d: Array) -> list[Array]:
    return list(np.meshgrid(d, d, indexing="ij"))


def _kernel_matrix(expansion: Expansion, places: list[Array]) -> Array:
    """Row i holds every term of the expansion at the i-th element."""
    rows, columns = [axis[:, None] for axis in places], [axis[None, :] for axis in places]
    kernel = expansion.kernel
    if expansion.dimensions == 1:
        return np.asarray(kernel.value(NUMPY, rows[0], columns[0]))
    return np.asarray(kernel.value2d(NUMPY, *rows, *columns))
