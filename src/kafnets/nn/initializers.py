"""First values of the mixing coefficients."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from kafnets import reference
from kafnets.kernels import Kernel

TARGETS: dict[str, Callable[[Tensor], Tensor]] = {
    "elu": functional.elu,
    "gelu": functional.gelu,
    "identity": lambda s: s,
    "leaky_relu": functional.leaky_relu,
    "relu": functional.relu,
    "selu": functional.selu,
    "sigmoid": torch.sigmoid,
    "softplus": functional.softplus,
    "swish": functional.silu,
    "tanh": torch.tanh,
}
"""The functions that :class:`Ridge` knows by name."""


@dataclass(frozen=True)
class Basis:
    """What the coefficients multiply: the kernel with its first bandwidth, on the dictionary."""

    dictionary: NDArray[np.float64]
    kernel: Kernel
    gamma: float | None
    dimensions: int


class Initializer(Protocol):
    """Anything with this method can be given as ``init``."""

    def fill_(self, alpha: Tensor, basis: Basis, generator: torch.Generator | None) -> None:
        """Write first values into ``alpha``, whose first axis runs over neurons."""


@dataclass(frozen=True)
class Normal:
    """Independent normal values with mean 0, as the paper has them: variance 0.3, so that is ``std**2``."""

    std: float = math.sqrt(0.3)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.std) and self.std >= 0):
            raise ValueError(f"std must be a finite number from 0, got {self.std}")

    def fill_(self, alpha: Tensor, basis: Basis, generator: torch.Generator | None) -> None:
        alpha.normal_(0.0, self.std, generator=generator)


@dataclass(frozen=True)
class Ridge:
    r"""Follow a known function: :math:`\alpha = (K + \varepsilon I)^{-1} t`, solved in float64.

    K is the kernel matrix of the dictionary and t the function's values there. For kernels that are
    not positive semi-definite the least-squares form of ridge regression is solved instead, see
    :func:`kafnets.reference.least_squares_ridge`.

    Args:
        target: a name from ``kafnets.nn.initializers.TARGETS`` ("tanh", "elu", "relu", ...) or a
            function of a float64 tensor, NumPy's included. For a 2D-KAF the function takes two
            tensors, the first and the second value of a pair; a name then stands for the mean of that
            function over the pair, :math:`(f(s_1) + f(s_2)) / 2`, since the paper does not say what it
            used.
        eps: :math:`\varepsilon > 0`; larger values follow less closely with smaller coefficients.
    """

    target: str | Callable[..., Tensor]
    eps: float = 1e-6

    def __post_init__(self) -> None:
        if isinstance(self.target, str) and self.target not in TARGETS:
            raise ValueError(
                f"target {self.target!r} is not known: give one of {', '.join(TARGETS)}, or a function"
            )
        if not (math.isfinite(self.eps) and self.eps > 0):
            raise ValueError(f"eps must be a positive finite number, got {self.eps}")

    def fill_(self, alpha: Tensor, basis: Basis, generator: torch.Generator | None) -> None:
        if alpha.is_meta:
            return
        solution = self._solve(basis).reshape(alpha.shape[1:])
        alpha.copy_(torch.from_numpy(solution).to(alpha.device).expand_as(alpha))

    def _solve(self, basis: Basis) -> NDArray[np.float64]:
        kernel = basis.kernel.reference(basis.gamma)
        if basis.dimensions == 1:
            matrix = reference.kernel_matrix(basis.dictionary, kernel)
        else:
            matrix = reference.kernel_matrix2d(basis.dictionary, kernel)  # type: ignore[arg-type]
        solve = reference.kernel_ridge if basis.kernel.positive_definite else reference.least_squares_ridge
        return solve(matrix, self._targets(basis), self.eps)

    def _targets(self, basis: Basis) -> NDArray[np.float64]:
        # On the CPU whatever the default device is: the solution is found there.
        d = torch.from_numpy(basis.dictionary)
        points = [d] if basis.dimensions == 1 else list(torch.meshgrid(d, d, indexing="ij"))
        if isinstance(self.target, str):
            function = TARGETS[self.target]
            values = torch.stack([function(axis) for axis in points]).mean(0)
        elif isinstance(self.target, np.ufunc):
            values = torch.as_tensor(self.target(*(axis.numpy() for axis in points)))
        else:
            try:
                with torch.no_grad():
                    values = torch.as_tensor(self.target(*points), dtype=torch.float64)
            except TypeError as error:
                inputs = "one tensor" if len(points) == 1 else "two tensors, the values of a pair"
                raise TypeError(
                    f"target must be a function of {inputs}, got {self.target!r}: {error}"
                ) from error
        if values.shape != points[0].shape or not values.isfinite().all():
            raise ValueError(
                f"target must give a finite value for each of its inputs of shape {tuple(points[0].shape)}, "
                f"got shape {tuple(values.shape)} with "
                f"{int((~values.isfinite()).sum())} values that are not finite"
            )
        return values.numpy().ravel()


def fill_by_neuron_(
    alpha: Tensor,
    init: Initializer | Sequence[Initializer],
    basis: Basis,
    generator: torch.Generator | None,
) -> None:
    """One initialiser for all neurons, or a sequence with one a neuron."""
    if not isinstance(init, Sequence):
        init.fill_(alpha, basis, generator)
        return
    neurons_of: dict[Initializer, list[int]] = {}
    for neuron, initializer in enumerate(init):
        neurons_of.setdefault(initializer, []).append(neuron)
    for initializer, neurons in neurons_of.items():
        block = alpha.new_empty(len(neurons), *alpha.shape[1:])
        initializer.fill_(block, basis, generator)
        alpha[neurons] = block
