"""The description of a KAF: a kernel on a dictionary, one immutable value that all frameworks use."""

import copy
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, Self, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kafnets.checks import check_integer
from kafnets.fixed_functions import Base
from kafnets.kernels import Gaussian, Kernel

SMALLEST, LARGEST = 1e-15, 1e15
"""Boundaries outside this range would leave the range of float32, as would their bandwidths."""

LONGEST = 2**16
"""Elements of a dictionary, at most."""

DEFAULT_SIZE = {1: 20, 2: 10}
"""The paper's dictionary sizes, by dimensions."""

Tails = Literal["zero", "constant", "linear"]
TAILS: tuple[Tails, ...] = ("zero", "constant", "linear")


@dataclass(frozen=True)
class Dictionary:
    """The elements of a dictionary, in strictly increasing order.

    Create one with :meth:`equispaced`, or with :meth:`of` from given values.

    >>> kafnets.Dictionary.equispaced(3, 2.0).values
    (-2.0, 0.0, 2.0)
    """

    values: tuple[float, ...]

    @classmethod
    def equispaced(cls, size: int, boundary: float) -> Self:
        """``size`` elements from ``-boundary`` to ``boundary``, both ends included."""
        check_integer("dictionary_size", size, 2)
        if size > LONGEST:
            raise ValueError(f"dictionary_size must be at most {LONGEST}, got {size}")
        if not isinstance(boundary, Real):
            raise TypeError(f"boundary must be a positive number, got {boundary!r}")
        if not (math.isfinite(boundary) and boundary > 0):
            raise ValueError(f"boundary must be a positive finite number, got {boundary}")
        if not SMALLEST <= boundary <= LARGEST:
            raise ValueError(f"boundary must be from {SMALLEST:g} to {LARGEST:g}, got {boundary}")
        return cls(tuple(np.linspace(-float(boundary), float(boundary), size).tolist()))

    @classmethod
    def of(cls, values: ArrayLike) -> Self:
        """A dictionary of the given elements, which may be a torch tensor."""
        if hasattr(values, "detach"):
            values = values.detach().cpu().double().numpy()
        array = np.asarray(values, dtype=np.float64)
        if array.ndim != 1 or array.size < 2:
            raise ValueError(
                f"dictionary must hold two or more values along one axis, got shape {array.shape}"
            )
        if array.size > LONGEST:
            raise ValueError(f"dictionary must hold at most {LONGEST} values, got {array.size}")
        if not (np.isfinite(array).all() and (np.diff(array) > 0).all()):
            raise ValueError("dictionary must hold finite values in strictly increasing order")
        if np.abs(array).max() > LARGEST:
            raise ValueError(f"dictionary must hold values from -{LARGEST:g} to {LARGEST:g}")
        return cls(tuple(array.tolist()))

    @property
    def size(self) -> int:
        """The number of elements."""
        return len(self.values)

    @functools.cached_property
    def elements(self) -> NDArray[np.float64]:
        """The elements as an array that cannot be written to."""
        array = np.array(self.values)
        array.flags.writeable = False
        return array

    @functools.cached_property
    def spacing(self) -> float | None:
        r"""The distance :math:`\Delta` between neighbors; None unless equispaced.

        A relative unevenness of 1e-6 is allowed, so that a dictionary that was once stored in float32 still
        counts as equispaced.
        """
        step = (self.values[-1] - self.values[0]) / (self.size - 1)
        deviation = float(np.abs(np.diff(self.elements) - step).max())
        return step if deviation <= 1e-6 * max(abs(step), float(np.abs(self.elements).max())) else None

    @functools.cached_property
    def is_grid(self) -> bool:
        """Whether first element, spacing and size say it all, to float64 precision."""
        if self.spacing is None:
            return False
        deviation = np.abs(self.elements - (self.values[0] + self.spacing * np.arange(self.size))).max()
        return bool(deviation <= 4 * np.spacing(np.abs(self.elements).max()))

    @functools.cached_property
    def _hash(self) -> int:
        return hash(self.values)

    def __hash__(self) -> int:
        return self._hash  # found once: caches ask at every call


class ExpansionOptions(TypedDict, total=False):
    """The options of :meth:`Expansion.of`, which KAF layers of all frameworks take."""

    dictionary_size: int | None
    boundary: float
    dictionary: Sequence[float] | NDArray[Any] | Any | None
    kernel: Kernel | None
    tails: Tails
    base: Base | str | None


@dataclass(frozen=True)
class Expansion:
    r"""A kernel on a dictionary: the fixed part of :math:`\sum_i \alpha_i \kappa(s, d_i)`.

    Two-dimensional expansions have the elements :math:`(d_i, d_j)`, all pairs of the dictionary.

    >>> expansion = kafnets.Expansion.of(dictionary_size=10, tails="linear")
    >>> expansion.dictionary.size, expansion.tails
    (10, 'linear')

    Args:
        kernel: the kernel. A bandwidth left open is resolved here, so that the expansion's kernel has one.
        dictionary: the elements, along each axis.
        dimensions: 1 for a KAF, 2 for a 2D-KAF.
        tails: the function outside the dictionary: "zero": the sum of kernels, which tends to 0 for the
            Gaussian; "constant": the value at the edge; "linear": a line with the value and slope there.
        base: a fixed function that the sum is added to, or None.
    """

    kernel: Kernel
    dictionary: Dictionary
    dimensions: int = 1
    tails: Tails = "zero"
    base: Base | None = None

    def __post_init__(self) -> None:
        if self.dimensions not in (1, 2):
            raise ValueError(f"dimensions must be 1 or 2, got {self.dimensions!r}")
        if not isinstance(self.kernel, Kernel):
            raise TypeError(
                "kernel must be an instance of a kernel, such as kafnets.Gaussian() or kafnets.Polynomial(), "
                f"got {self.kernel!r}"
            )
        if self.dimensions == 2 and self.kernel.refusal_2d is not None:
            raise ValueError(
                f"kernel {type(self.kernel).__name__} has no two-dimensional form: {self.kernel.refusal_2d}. "
                "Use Gaussian, Polynomial or Periodic"
            )
        if self.tails not in TAILS:
            raise ValueError(f"tails must be one of {', '.join(map(repr, TAILS))}, got {self.tails!r}")
        if isinstance(self.base, str):
            object.__setattr__(self, "base", Base(self.base))
        if not isinstance(self.base, Base | None):
            raise TypeError(f"base must be a name, a kafnets.Base or None, got {self.base!r}")
        if self.dimensions == 2 and (self.tails != "zero" or self.base is not None):
            raise ValueError("tails and base are for functions of one value: a 2D-KAF has neither")
        object.__setattr__(self, "kernel", self.kernel.fitted(self.dictionary.spacing, self.dimensions))

    @classmethod
    def of(
        cls,
        dimensions: int = 1,
        *,
        dictionary_size: int | None = None,
        boundary: float = 3.0,
        dictionary: ArrayLike | None = None,
        kernel: Kernel | None = None,
        tails: Tails = "zero",
        base: Base | str | None = None,
    ) -> Self:
        r"""Create an expansion; the defaults are the paper's.

        Args:
            dimensions: 1 for a KAF, 2 for a 2D-KAF.
            dictionary_size: D, the number of equispaced elements along each axis. None: 20, or 10 in two
                dimensions.
            boundary: the dictionary extends from ``-boundary`` to ``boundary``.
            dictionary: strictly increasing values instead of the equispaced ones; ``dictionary_size`` and
                ``boundary`` are then ignored.
            kernel: None: ``Gaussian()`` with the paper's rule of thumb for its bandwidth.
            tails: "zero", "constant" or "linear": the function outside the dictionary.
            base: a fixed function that the sum is added to: a name such as "silu", or a ``Base``.
        """
        if dictionary is None:
            size = DEFAULT_SIZE[dimensions] if dictionary_size is None else dictionary_size
            elements = Dictionary.equispaced(size, boundary)
        else:
            elements = Dictionary.of(dictionary)
        chosen = Gaussian() if kernel is None else kernel
        return cls(chosen, elements, dimensions, tails, base)  # type: ignore[arg-type]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the coefficients of one function."""
        return (self.dictionary.size,) * self.dimensions

    @property
    def gamma(self) -> float | None:
        """The bandwidth, or its first value if it is learned; None for kernels without one."""
        return getattr(self.kernel, "gamma", None)

    @property
    def learn_gamma(self) -> Any:
        """Whether the bandwidth is learned, and how: see :class:`kafnets.Gaussian`."""
        return getattr(self.kernel, "learn_gamma", False)

    @functools.cached_property
    def factored(self) -> bool:
        """Whether terms factor into few exponentials: Gaussians of one fixed bandwidth on a grid."""
        return type(self.kernel) is Gaussian and isinstance(self.gamma, float) and self.dictionary.is_grid

    @property
    def fusible(self) -> bool:
        """Whether fused kernels take it: factored, and no constant leaves the range of float32."""
        return self.factored and 1e-12 <= self.gamma * self.dictionary.spacing**2 <= 1e12  # type: ignore[operator]

    @property
    def options(self) -> ExpansionOptions:
        """The options of :meth:`of` that give it again, with its ``dimensions``."""
        return {
            "kernel": self.kernel,
            "dictionary": self.dictionary.values,
            "tails": self.tails,
            "base": self.base,
        }

    def with_gamma(self, gamma: Any) -> "Expansion":
        """The same with an array for a bandwidth that is being learned; only for computing with it."""
        assert isinstance(self.kernel, Gaussian)
        learning = copy.copy(self)
        learning.__dict__.pop("factored", None)
        object.__setattr__(learning, "kernel", self.kernel.with_gamma(gamma))
        return learning

    def further_parameters(self, functions: int) -> dict[str, NDArray[np.float64] | None]:
        """First values of what is learned besides alpha, by name; None for what is not.

        ``base_weight``, ``(functions,)``, and ``log_gamma``, ``()`` or ``(functions,)`` if one each.
        """
        weighted = self.base is not None and self.base.learned
        shape = (functions,) if self.learn_gamma == "neuron" else ()
        return {
            "base_weight": np.ones(functions) if weighted else None,
            "log_gamma": np.full(shape, math.log(self.gamma)) if self.gamma and self.learn_gamma else None,
        }


@functools.lru_cache(maxsize=256)
def expansion_for(alpha_shape: tuple[int, ...], dimensions: int) -> Expansion:
    """The paper's expansion for coefficients of this shape, ``(N, D)`` or ``(P, D, D)``."""
    return Expansion.of(dimensions, dictionary_size=alpha_shape[-1])


def check_coefficients(expansion: Expansion, alpha_shape: Sequence[int]) -> None:
    """Raise unless coefficients of this shape belong to an expansion."""
    if tuple(alpha_shape)[1:] != expansion.shape or len(alpha_shape) != 1 + expansion.dimensions:
        wanted = "(N, D)" if expansion.dimensions == 1 else "(P, D, D)"
        raise ValueError(
            f"alpha must have the shape {wanted} with a dictionary of D = {expansion.dictionary.size} "
            f"elements, got {tuple(alpha_shape)}"
        )
