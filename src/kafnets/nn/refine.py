"""Longer dictionaries in the middle of training."""

import numpy as np
import torch
from torch import Tensor, nn

from kafnets.checks import check_integer
from kafnets.expansion import LONGEST, Dictionary, Expansion
from kafnets.nn.dictionary_report import DictionaryChanges, LayerChange
from kafnets.nn.refit import (
    Functions,
    KernelModule,
    check_optimizer,
    ends_of,
    forget,
    grid_over,
    kernel_modules,
    moved,
    moving_parameters,
    size_of,
)

BEYOND = 0.25
"""Tails that go on are followed this far to both sides too, as a share of the dictionary's width."""


def refine(
    model: nn.Module, dictionary_size: int = 40, optimizer: torch.optim.Optimizer | None = None
) -> DictionaryChanges:
    r"""Give every KAF, KAF2D and EdgewiseKAF a larger dictionary, and keep their functions.

    The new elements have the same range: equispaced if the old ones were, else with the same density. A
    Gaussian's bandwidth, also a learned one, is scaled with the squared spacing. Coefficients are computed
    by ridge regression in float64, such that the functions stay the same over the dictionary's range, as do
    their tails unless these are "zero": outside the dictionary, narrower Gaussians fall to 0 sooner.

    ``alpha`` becomes a new parameter. An optimizer that is not given here still has the old one: create a new
    optimizer.

    >>> model = kafnets.mlp(4, (8,), 1, "kaf")
    >>> report = kafnets.refine(model, dictionary_size=40)
    >>> model[1].alpha.shape
    torch.Size([8, 40])

    Args:
        model: any module that contains ours, at any depth; a single layer too.
        dictionary_size: the new number of elements, along each axis of a 2D-KAF. Layers with this number are
            not changed; a layer with more raises an error, since its functions could not be kept.
        optimizer: the new parameters replace the old ones in its groups, and its state of the old ones, and
            of learned bandwidths, is discarded.

    Returns:
        A report: sizes and errors by layer.
    """
    check_integer("dictionary_size", dictionary_size, 2)
    if dictionary_size > LONGEST:
        raise ValueError(f"dictionary_size must be at most {LONGEST}, got {dictionary_size}")
    check_optimizer(optimizer)
    if isinstance(optimizer, torch.optim.LBFGS):
        raise ValueError(
            "optimizer must not be LBFGS, which cannot take new parameters: create a new one afterward"
        )
    modules = kernel_modules(model)
    for name, module in modules.items():
        if module.dictionary_size > dictionary_size:
            raise ValueError(
                f"dictionary_size must be at least {module.dictionary_size}, which layer {name!r} has, "
                f"got {dictionary_size}: to refine only some layers, pass them as model"
            )
    plans = [_planned(name, module, dictionary_size) for name, module in modules.items()]
    for module, (report, alpha) in zip(modules.values(), plans, strict=True):
        if alpha is not None:
            _carried_out(module, report.expansion, alpha, optimizer)
    return DictionaryChanges(tuple(report for report, _ in plans))


def _planned(name: str, module: KernelModule, size: int) -> tuple[LayerChange, Tensor | None]:
    """The report, and coefficients unless the layer is left alone."""
    old, functions = module.expansion, Functions.of(module)
    expansion, alpha, errors = old, None, torch.empty(0)
    if size > old.dictionary.size:
        expansion = moved(old, _longer(old.dictionary, size))
        low, high = ends_of(expansion)
        margin = 0.0 if old.tails == "zero" else BEYOND * (high - low)
        points = grid_over(expansion.dictionary, expansion.dimensions, low - margin, high + margin)
        new = functions.refitted(expansion, points, module.alpha.dtype)
        within = ((points >= low) & (points <= high)).reshape(len(points), -1).all(1)
        alpha, errors = new.alpha, (new.at(points) - functions.at(points))[within]
        if not (alpha.isfinite().all() and errors.isfinite().all()):
            raise ValueError(f"model: the functions of layer {name!r} are not finite on their dictionary")
    rms, largest = size_of(errors)
    report = LayerChange(
        name,
        type(module).__name__,
        before=old,
        expansion=expansion,
        rms_error=rms,
        largest_error=largest,
        kept="it already has as many" if alpha is None else None,
    )
    return report, alpha


def _longer(dictionary: Dictionary, size: int) -> Dictionary:
    """With the same ends and the same density."""
    if dictionary.spacing is not None:
        return Dictionary.of(np.linspace(dictionary.values[0], dictionary.values[-1], size))
    places = np.linspace(0, dictionary.size - 1, size)
    return Dictionary.of(np.interp(places, np.arange(dictionary.size), dictionary.elements))


def _carried_out(
    module: KernelModule, expansion: Expansion, alpha: Tensor, optimizer: torch.optim.Optimizer | None
) -> None:
    """Change a module, and tell the optimizer."""
    old = module.alpha
    if optimizer is not None:
        forget(optimizer, module)
    module.stand_on(expansion, alpha)
    for parameter in moving_parameters(module):
        parameter.grad = None
    for group in () if optimizer is None else optimizer.param_groups:
        group["params"][:] = [module.alpha if each is old else each for each in group["params"]]
