"""Dictionaries where the inputs are."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from kafnets.dictionaries import by_novelty, by_quantiles, rule_of_thumb
from kafnets.expansion import Dictionary, Expansion
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
    spread,
)
from kafnets.nn.watch import Batches, inputs_of, outputs_of, watched

By = Literal["layer", "channel"]
BYS: tuple[By, ...] = ("layer", "channel")

Placement = Literal["range", "quantiles", "novelty"]
PLACEMENTS: tuple[Placement, ...] = ("range", "quantiles", "novelty")

NEAR = 0.02
"""A dictionary whose ends lack no more than this share of the wanted range is left alone,"""
NARROW = 1 / 3
"""unless that range is narrower than this share of it."""
FOLLOWED = 513
"""Quantiles of the data at which functions are followed too, or twice as many pairs."""


@dataclass(frozen=True)
class _Plan:
    module: KernelModule
    expansion: Expansion
    alpha: Tensor
    report: LayerChange


def calibrate(
    model: nn.Module,
    batches: Batches,
    *,
    coverage: float = 0.99,
    by: By = "layer",
    dictionary: Placement = "range",
    optimizer: torch.optim.Optimizer | None = None,
) -> DictionaryChanges:
    r"""Move the dictionaries of KAFs to the range of their inputs, and keep their functions.

    >>> model = nn.Sequential(nn.Linear(3, 8), kafnets.KAF(8, init="tanh"), nn.Linear(8, 1))
    >>> kafnets.calibrate(model, 4 * torch.randn(1000, 3)).layers[0].outside_after < 0.02
    True

    The model is run on the data in evaluation mode. The dictionary of every KAF, KAF2D and EdgewiseKAF, of
    the same size as before, then spans the range of a share ``coverage`` of its inputs, and all inputs that
    it spanned before. Coefficients are computed by ridge regression in float64, such that functions, with
    their tails, stay the same on a fine grid over that range and at quantiles of the data. A base and the
    linear part of an edge-wise layer do not change. A Gaussian's bandwidth, fixed or learned, is scaled with
    the squared spacing; other kernels keep their settings. Layers whose inputs are in range, with a
    dictionary at most three times as wide, are not changed. It can be called during training: parameters stay
    the same objects, and gradients of those that changed are dropped. After an error the model is unchanged.

    Args:
        model: any module that contains ours, at any depth.
        batches: a tensor or array of inputs, or an iterable of them or of (inputs, targets), such as a
            ``DataLoader``. All are kept in memory; a few thousand inputs are enough.
        coverage: the share of the inputs that the dictionary should span, from the ``(1 - coverage) / 2`` to
            the ``(1 + coverage) / 2`` quantile.
        by: "layer": quantiles of all inputs of a layer; "channel": the widest of those of its channels.
        dictionary: "range" scales and shifts the elements, so that equispaced ones stay so; "quantiles" and
            "novelty" choose them by :func:`kafnets.dictionaries.by_quantiles` and ``by_novelty`` among the
            inputs within the range, with the rule of thumb for a Gaussian's bandwidth, from the median
            spacing. Uneven dictionaries run on slower kernels.
        optimizer: its state of coefficients that changed, and of learned bandwidths, is reset.

    Returns:
        A report: shares of inputs outside, ends of dictionaries and errors, by layer, and the change of the
        model's outputs. Of more than about a million inputs of a layer, a random sample is taken.
    """
    _check(coverage, by, dictionary)
    check_optimizer(optimizer)
    modules = kernel_modules(model)
    inputs = inputs_of(batches, model)
    samples, before = watched(model, inputs, modules)
    plans = [
        _planned(name, module, samples[name].rows, coverage, by, dictionary)
        for name, module in modules.items()
    ]
    after = _carried_out([plan for plan in plans if plan.report.kept is None], model, inputs)
    for plan in plans:
        if plan.report.kept is None:
            for parameter in moving_parameters(plan.module):
                parameter.grad = None
            if optimizer is not None:
                forget(optimizer, plan.module)
    changes = [(new - old).flatten() for new, old in zip(after, before, strict=True)]
    rms, largest = size_of(torch.cat(changes) if changes else torch.empty(0))
    return DictionaryChanges(tuple(plan.report for plan in plans), rms, largest)


def _check(coverage: float, by: str, dictionary: str) -> None:
    if not isinstance(coverage, Real):
        raise TypeError(f"coverage must be a number above 0 and at most 1, got {coverage!r}")
    if not 0 < coverage <= 1:
        raise ValueError(f"coverage must be above 0 and at most 1, such as 0.99, got {coverage}")
    for name, given, known in (("by", by, BYS), ("dictionary", dictionary, PLACEMENTS)):
        if given not in known:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {given!r}")


def _planned(
    name: str, module: KernelModule, rows: Tensor, coverage: float, by: By, placement: Placement
) -> _Plan:
    """What is to become of a module, by its inputs ``(n, channels)``."""
    old, functions = module.expansion, Functions.of(module)
    values = rows.numpy()
    kept, low, high = _wanted(values, old, coverage, by, placement)
    expansion, errors, alpha = old, torch.empty(0), module.alpha.detach()
    if kept is None:
        expansion = _placed(old, values, low, high, placement)
        points = _points(expansion, values, low, high)
        new = functions.refitted(expansion, points, module.alpha.dtype)
        alpha, errors = new.alpha, new(rows) - functions(rows)
        if not (alpha.isfinite().all() and errors.isfinite().all()):
            raise ValueError(f"model: the functions of layer {name!r} are not finite where its inputs are")
    rms, largest = size_of(errors)
    report = LayerChange(
        name,
        type(module).__name__,
        before=old,
        expansion=expansion,
        rms_error=rms,
        largest_error=largest,
        kept=kept,
        outside_before=_share_outside(values, old),
        outside_after=_share_outside(values, expansion),
    )
    return _Plan(module, expansion, alpha, report)


def _wanted(
    values: NDArray[np.float64], old: Expansion, coverage: float, by: By, placement: Placement
) -> tuple[str | None, float, float]:
    """Why nothing is to be done, if so, and the range."""
    if not values.size:
        return "it received no inputs", 0.0, 0.0
    probabilities = [(1 - coverage) / 2, (1 + coverage) / 2]
    lows, highs = np.quantile(values if by == "channel" else values.ravel(), probabilities, axis=0)
    low, high = float(np.min(lows)), float(np.max(highs))
    if values.max() - values.min() <= 1e-6 * np.abs(values).max():
        return "all of its inputs are equal", low, high
    first, last = ends_of(old)
    # What was inside stays inside: the functions may be anything there, and nothing outside.
    low, high = min(low, max(first, float(values.min()))), max(high, min(last, float(values.max())))
    if not low < high:
        return "nearly all of its inputs are equal", low, high
    slack = NEAR * (high - low)
    spans = first - slack <= low and high <= last + slack
    if placement == "range" and spans and high - low >= NARROW * (last - first):
        return "already in range", low, high
    return None, low, high


def _placed(
    old: Expansion, values: NDArray[np.float64], low: float, high: float, placement: Placement
) -> Expansion:
    """The expansion on a dictionary from ``low`` to ``high``."""
    size = old.dictionary.size
    if placement == "range":
        first, last = ends_of(old)
        places = (old.dictionary.elements - first) / (last - first)
        if old.dictionary.spacing is not None:
            places = np.linspace(0, 1, size)
        elements = low + (high - low) * places
        elements[-1] = high
        return moved(old, Dictionary.of(elements))
    inside = values[(low <= values) & (values <= high)]
    stream = np.concatenate([[low, high], inside])
    chosen = by_quantiles(stream, size) if placement == "quantiles" else by_novelty(stream, size)
    return moved(old, chosen, rule_of_thumb(chosen, old.dimensions))


def _points(expansion: Expansion, values: NDArray[np.float64], low: float, high: float) -> Tensor:
    """Where functions are to stay as they were."""
    grid = grid_over(expansion.dictionary, expansion.dimensions, low, high)
    if expansion.dimensions == 2:
        met = spread(values.reshape(-1, 2), 2 * FOLLOWED)
    else:
        met = np.quantile(values, np.linspace(0, 1, FOLLOWED))[:, None]
    # Far outliers would outweigh everything else where functions grow.
    near = ((met >= 2 * low - high) & (met <= 2 * high - low)).all(1)
    return torch.cat([grid, torch.from_numpy(met[near]).reshape(-1, *grid.shape[1:])])


def _share_outside(values: NDArray[np.float64], expansion: Expansion) -> float:
    first, last = ends_of(expansion)
    return float(((values < first) | (values > last)).mean()) if values.size else 0.0


def _carried_out(plans: list[_Plan], model: nn.Module, inputs: list[Tensor]) -> list[Tensor]:
    """Change the modules and run the model; if that fails, change them back."""
    were: list[tuple[KernelModule, Expansion, list[Any]]] = [
        (
            plan.module,
            plan.module.expansion,
            [each.detach().clone() for each in moving_parameters(plan.module)],
        )
        for plan in plans
    ]
    try:
        for plan in plans:
            plan.module.stand_on(plan.expansion, plan.alpha)
        return outputs_of(model, inputs)
    except BaseException:
        for module, expansion, values in were:
            module.stand_on(expansion)
            with torch.no_grad():
                for parameter, value in zip(moving_parameters(module), values, strict=True):
                    parameter.copy_(value)
        raise
