"""Other dictionaries for the same functions: coefficients by least squares, and optimizers that are told."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from kafnets.dictionaries import typical_spacing
from kafnets.expansion import Dictionary, Expansion
from kafnets.functional import edgewise, kaf, kaf2d
from kafnets.kernels import Gaussian
from kafnets.nn.edgewise import EdgewiseKAF
from kafnets.nn.kaf import KernelActivation
from kafnets.ops import use_backend
from kafnets.ops.kaf import terms
from kafnets.ops.library import TORCH

KernelModule = KernelActivation | EdgewiseKAF

RIDGE = 1e-10
"""As a share of the columns' mean squared length. Less follows no better, with larger coefficients."""

ROWS = 2**12
"""Inputs that are computed at a time."""


@dataclass(frozen=True)
class Functions:
    """The functions of a module without its base: an expansion, coefficients, a learned bandwidth.

    All in float64 on the CPU.
    """

    expansion: Expansion
    alpha: Tensor
    gamma: Tensor | None = None

    @classmethod
    def of(cls, module: KernelModule) -> "Functions":
        """Those that a module has now."""
        gamma = None
        if isinstance(module, KernelActivation) and module.log_gamma is not None:
            gamma = module.log_gamma.detach().cpu().double().exp()
        return cls(replace(module.expansion, base=None), module.alpha.detach().cpu().double(), gamma)

    def refitted(self, expansion: Expansion, points: Tensor, dtype: torch.dtype) -> "Functions":
        """The same functions on another expansion, as near as least squares at some points comes.

        Args:
            expansion: the new one.
            points: float64, ``(n,)``; or ``(n, 2)``, pairs.
            dtype: of the parameter, in which the coefficients have to survive.
        """
        new, gamma = replace(expansion, base=None), self.gamma
        if gamma is not None:
            assert new.gamma is not None
            assert self.expansion.gamma is not None
            gamma = gamma * (new.gamma / self.expansion.gamma)
        shape = (*self.alpha.shape[: -new.dimensions], *new.shape)
        old = self.alpha.flatten(-new.dimensions).flatten(0, -2)
        if self.gamma is None or gamma is None or not gamma.dim():
            alpha = _solved(design(new, points, gamma), design(self.expansion, points, self.gamma) @ old.T).T
        else:
            alpha = torch.stack(
                [
                    _solved(
                        design(new, points, mine), design(self.expansion, points, before) @ row.unsqueeze(1)
                    ).squeeze(1)
                    for row, before, mine in zip(old, self.gamma, gamma, strict=True)
                ]
            )
        return Functions(new, alpha.reshape(shape).to(dtype).double(), gamma)

    def __call__(self, rows: Tensor) -> Tensor:
        """Values at ``(n, channels)``. For an edge-wise layer, sums over its connections."""
        results = []
        for block in rows.split(ROWS):
            with torch.no_grad(), use_backend("portable"):
                if self.alpha.dim() - self.expansion.dimensions == 2:
                    results.append(edgewise(block, self.alpha, replace(self.expansion, base=None)))
                elif self.expansion.dimensions == 1:
                    results.append(kaf(block, self.alpha, self.expansion, -1, gamma=self.gamma))
                else:
                    results.append(kaf2d(block, self.alpha, self.expansion, -1, gamma=self.gamma))
        return torch.cat(results)

    def at(self, points: Tensor) -> Tensor:
        """Every function's value at the same points: ``(n, functions)``."""
        flat = self.alpha.flatten(-self.expansion.dimensions).flatten(0, -2)
        if self.gamma is None or not self.gamma.dim():
            return design(self.expansion, points, self.gamma) @ flat.T
        columns = [design(self.expansion, points, g) @ a for a, g in zip(flat, self.gamma, strict=True)]
        return torch.stack(columns, 1)


def design(expansion: Expansion, points: Tensor, gamma: Tensor | None = None) -> Tensor:
    """What each element contributes at each point: ``(n, D)``, or ``(n, D * D)`` for pairs."""
    if expansion.dimensions == 1:
        return terms(expansion, points, gamma)
    kernel = expansion.kernel
    if gamma is not None:
        assert isinstance(kernel, Gaussian)
        kernel = kernel.with_gamma(gamma)
    elements = torch.tensor(expansion.dictionary.values, dtype=points.dtype)
    first, second = points[:, 0, None, None], points[:, 1, None, None]
    values: Tensor = kernel.value2d(TORCH, first, second, elements[:, None], elements)
    return values.flatten(1)


def _solved(matrix: Tensor, targets: Tensor) -> Tensor:
    """Ridge regression by a QR decomposition, which keeps the digits that normal equations would lose."""
    columns = matrix.shape[1]
    weight = (RIDGE * matrix.square().sum() / columns).sqrt()
    stacked = torch.cat([matrix, weight * torch.eye(columns, dtype=matrix.dtype)])
    right = torch.cat([targets, targets.new_zeros(columns, targets.shape[1])])
    return torch.linalg.lstsq(stacked, right, driver="gels").solution


def moved(expansion: Expansion, dictionary: Dictionary, gamma: float | None = None) -> Expansion:
    """The same kernel on another dictionary, a Gaussian's bandwidth in units of the spacing kept.

    Args:
        expansion: as it was.
        dictionary: the new elements.
        gamma: another bandwidth for a Gaussian.
    """
    kernel = expansion.kernel
    if isinstance(kernel, Gaussian):
        assert kernel.gamma is not None
        ratio = typical_spacing(expansion.dictionary) / typical_spacing(dictionary)
        kernel = replace(kernel, gamma=kernel.gamma * ratio**2 if gamma is None else gamma)
    return replace(expansion, kernel=kernel, dictionary=dictionary)


def grid_over(dictionary: Dictionary, dimensions: int, low: float, high: float) -> Tensor:
    """Points to be followed at: finer than the dictionary, its elements and what lies between included."""
    elements = dictionary.elements
    if dimensions == 2:
        axis = torch.linspace(low, high, max(24, 3 * dictionary.size), dtype=torch.float64)
        return torch.cartesian_prod(axis, axis)
    even = np.linspace(low, high, max(512, 16 * dictionary.size))
    return torch.from_numpy(np.concatenate([even, elements, (elements[1:] + elements[:-1]) / 2]))


def kernel_modules(model: nn.Module) -> dict[str, KernelModule]:
    """Every KAF, KAF2D and EdgewiseKAF of a model by its name, each once; checked."""
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    found = {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, KernelActivation | EdgewiseKAF)
    }
    if not found:
        raise ValueError(
            f"model must contain a KAF, KAF2D or EdgewiseKAF, got a {type(model).__name__} without any"
        )
    owners: dict[int, str] = {}
    for name, module in found.items():
        alpha = dict(module.named_parameters(recurse=False)).get("alpha")
        if alpha is None:
            raise ValueError(
                f"model: the coefficients of layer {name!r} are not a parameter of its own, as under a "
                "parametrization: remove that first"
            )
        if id(alpha) in owners:
            raise ValueError(
                f"model: layers {owners[id(alpha)]!r} and {name!r} share their coefficients but not their "
                "dictionaries: use one module in both places"
            )
        owners[id(alpha)] = name
    return found


def check_optimizer(optimizer: object) -> None:
    """Raise unless it is an optimizer or None."""
    if optimizer is not None and not isinstance(optimizer, torch.optim.Optimizer):
        raise TypeError(f"optimizer must be a torch.optim.Optimizer or None, got {type(optimizer).__name__}")


def forget(optimizer: torch.optim.Optimizer, module: KernelModule) -> None:
    """Reset an optimizer's state of the parameters that move with a dictionary."""
    if isinstance(optimizer, torch.optim.LBFGS):  # its history is of all parameters together
        optimizer.state.clear()
        return
    for parameter in moving_parameters(module):
        optimizer.state.pop(parameter, None)


def moving_parameters(module: KernelModule) -> Iterator[nn.Parameter]:
    """Coefficients and learned bandwidths."""
    for name, parameter in module.named_parameters(recurse=False):
        if name in ("alpha", "log_gamma"):
            yield parameter


def ends_of(expansion: Expansion) -> tuple[float, float]:
    """The first and the last element."""
    return expansion.dictionary.values[0], expansion.dictionary.values[-1]


def size_of(errors: Tensor) -> tuple[float, float]:
    """Root-mean-square and largest absolute value."""
    if not errors.numel():
        return 0.0, 0.0
    return float(errors.square().mean().sqrt()), float(errors.abs().max())


Number = TypeVar("Number", bound=np.generic)


def spread(values: NDArray[Number], most: int) -> NDArray[Number]:
    """At most so many of them, evenly chosen along the first axis."""
    if len(values) <= most:
        return values
    return values[np.linspace(0, len(values) - 1, most).round().astype(np.int64)]
