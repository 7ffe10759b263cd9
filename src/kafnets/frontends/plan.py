"""All that is fixed about an expansion, apart from its parameters."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import torch

from kafnets.frontends.kernels import terms_of
from kafnets.kernels import Gaussian, Kernel
from kafnets.nn.expansions import KAF, KAF2D
from kafnets.ops.grid import Grid

Expansion = KAF | KAF2D
"""The torch modules, of which the layers of other frameworks are twins."""


@dataclass(frozen=True)
class Segments:
    """How an even dictionary is cut: ``count`` pieces of ``length`` elements, the last perhaps not full."""

    count: int
    length: int
    first: float
    """The dictionary's first element."""
    spacing: float
    a: float
    """gamma times the squared spacing."""

    @property
    def middle(self) -> int:
        """The centre's place in a segment."""
        return self.length // 2

    @functools.cached_property
    def centres(self) -> list[float]:
        """Of each segment."""
        return [self.first + self.spacing * (k * self.length + self.middle) for k in range(self.count)]

    @functools.cached_property
    def weights(self) -> list[float]:
        """What each element's term has beyond powers of r."""
        return [math.exp(-self.a * (k - self.middle) ** 2) for k in range(self.length)]


@dataclass(frozen=True)
class Plan:
    """Dictionary, kernel and bandwidth: small and hashable, so that compilers can ask whether it is the same.

    ``gamma`` is None where the kernel has none, or where it is learned and so comes with the parameters.
    """

    dictionary: tuple[float, ...]
    kernel: Kernel
    gamma: float | None
    dimensions: int

    @classmethod
    def of(cls, module: Expansion) -> "Plan":
        """That of a torch module."""
        learned = module.log_gamma is not None
        return cls(
            tuple(module._exact_dictionary.tolist()),
            module.kernel,
            None if learned else module._first_gamma,
            module._dimensions,
        )

    @property
    def size(self) -> int:
        """D."""
        return len(self.dictionary)

    @functools.cached_property
    def grid(self) -> Grid | None:
        """The dictionary again, if it is equispaced."""
        return Grid.of(np.asarray(self.dictionary))

    @property
    def factored(self) -> bool:
        """Whether the factored form can be used: for a Gaussian with a fixed gamma on an even grid."""
        return type(self.kernel) is Gaussian and self.gamma is not None and self.grid is not None

    def segments(self, double: bool) -> Segments:
        r"""How the dictionary is cut so that no factor leaves the range of its type.

        In single precision segments are shorter than that: the relative error of a term m places from the
        centre is about :math:`4 a m^2` roundings. And none is so long that compilers take long over it.
        """
        assert self.grid is not None
        assert self.gamma is not None
        a = self.gamma * self.grid.spacing**2
        extent = 13.2 if double else 2.3
        half = min(int(extent / math.sqrt(a)), LONGEST[self.dimensions])
        count = math.ceil(self.size / (2 * half + 1))
        return Segments(count, math.ceil(self.size / count), self.grid.first, self.grid.spacing, a)


LONGEST = {1: 16, 2: 4}
"""By dimensions: elements on either side of a segment's centre, at most."""

REACH = {True: 26.4, False: 9.3}
"""By whether numbers are double: from so many times 1 / sqrt(a) on, exponentials count as 0."""


def twin(dimensions: int, neurons: int, options: dict[str, Any], seed: int | None = None) -> Expansion:
    """The torch module with these options: checks them, and knows the first values of the parameters.

    Args:
        dimensions: 1 for a KAF, 2 for a 2D-KAF.
        neurons: how many functions.
        options: as the modules take them.
        seed: of random first values; None where nothing random is asked for.
    """
    generator = torch.Generator()
    if seed is not None:
        generator.manual_seed(seed)
    if dimensions == 1:
        return KAF(neurons, generator=generator, device="cpu", dtype=torch.float64, **options)
    return KAF2D(2 * neurons, generator=generator, device="cpu", dtype=torch.float64, **options)


@dataclass(frozen=True)
class Call:
    """What a call of ``kaf`` or ``kaf2d`` asks for, checked."""

    plan: Plan
    axis: int
    """Of the channels, counted from 0."""


def checked(
    dimensions: int,
    shape: Sequence[Any],
    alpha_shape: Sequence[int],
    *,
    boundary: float | None,
    dictionary: Sequence[float] | None,
    kernel: Kernel | None,
    gamma: Any,
    axis: int,
    preset: str,
) -> Call:
    """Plan and axis for arguments as the functions of all front ends take them.

    ``gamma`` is None, a number, or an array of the framework, which is then a learned bandwidth.
    """
    if gamma is not None:
        if not isinstance(kernel, Gaussian | None):
            raise ValueError(f"gamma is the Gaussian's, and has no place in {kernel!r}")
        if isinstance(gamma, Real):
            kernel = Gaussian(gamma=float(gamma))
        elif tuple(gamma.shape) not in ((), (alpha_shape[0],)):
            raise ValueError(
                f"gamma must be one number, or one for each of the {alpha_shape[0]} neurons, got the shape "
                f"{tuple(gamma.shape)}"
            )
        else:
            kernel = Gaussian(learn_gamma=True)
    elif isinstance(kernel, Gaussian) and kernel.learn_gamma:
        raise ValueError("a learned bandwidth is a parameter: give its present value as gamma")
    even = None if dictionary is None else tuple(map(float, dictionary))
    size = _size_of(alpha_shape, dimensions)
    plan = _plan(dimensions, size, boundary, even, kernel, preset)
    return Call(plan, _channel_axis(shape, axis, alpha_shape[0] * dimensions))


@functools.lru_cache(maxsize=256)
def _plan(
    dimensions: int,
    size: int,
    boundary: float | None,
    dictionary: tuple[float, ...] | None,
    kernel: Kernel | None,
    preset: str,
) -> Plan:
    options: dict[str, Any] = {"boundary": boundary, "kernel": kernel, "preset": preset}
    if dictionary is None:
        options["dictionary_size"] = size
    elif len(dictionary) == size:
        options["dictionary"] = dictionary
    else:
        raise ValueError(
            f"alpha must have one coefficient for each of the {len(dictionary)} elements of dictionary, got "
            f"{size}"
        )
    plan = Plan.of(twin(dimensions, 1, options))
    terms_of(plan.kernel)
    return plan


def _size_of(alpha_shape: Sequence[int], dimensions: int) -> int:
    shape = tuple(alpha_shape)
    if len(shape) != 1 + dimensions or len(set(shape[1:])) != 1:
        wanted = "(N, D)" if dimensions == 1 else "(P, D, D)"
        raise ValueError(f"alpha must have the shape {wanted}, got {shape}")
    return shape[-1]


def _channel_axis(shape: Sequence[Any], axis: int, channels: int) -> int:
    rank = len(shape)
    if not -rank <= axis < rank:
        raise ValueError(
            f"axis must be one of the {rank} axes of the input of shape {tuple(shape)}, got {axis}"
        )
    if shape[axis] is not None and shape[axis] != channels:
        raise ValueError(
            f"the input of shape {tuple(shape)} has {shape[axis]} channels along axis={axis}, but alpha is "
            f"for {channels}"
        )
    return axis % rank
