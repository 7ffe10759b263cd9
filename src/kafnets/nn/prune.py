"""Smaller models with the same outputs."""

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from kafnets.nn.chains import Site, sites_of
from kafnets.nn.kaf import KernelActivation
from kafnets.nn.prune_report import LayerPruning, Pruning
from kafnets.nn.refit import design, size_of
from kafnets.nn.smaller import arity, can_collapse, collapse, neurons, take_out, trim
from kafnets.nn.watch import Batches, Sample, evaluating, inputs_of, outputs_of

STRAIGHT = 1e-2
"""A function whose values are this near a straight line, as a share of their deviation, may be linear."""


def prune(model: nn.Module, data: Batches, tolerance: float = 1e-3) -> nn.Module:
    r"""A smaller copy of a model, with the same outputs on some data within a tolerance.

    Layer by layer, these changes are made as far as the tolerance allows, those with the smallest effect
    first:

    * Neurons whose outputs are constant on the data are removed, and the constant is added to the next bias.
    * Neurons that are linear on the data, :math:`g(s) = p s + q`, and sums of other linear ones are removed,
      and their weights are added to those. If all neurons of a dense layer are linear, it is merged with the
      next one.
    * Dictionary elements at both ends, and single coefficients, are dropped.

    After each change the model is run on the data, and its outputs are compared with those of the original.
    The result has an attribute ``pruning``, a printable :class:`Pruning`.

    >>> model = kafnets.mlp(8, (16,), 1, "kaf")
    >>> with torch.no_grad():
    ...     model[1].alpha[4:] = 0
    >>> smaller = kafnets.prune(model, torch.randn(100, 8), tolerance=1e-5)
    >>> smaller[0]
    Linear(in_features=8, out_features=4, bias=True)

    Args:
        model: any module that ``torch.fx`` can trace; it is not changed. Neurons are removed between
            consecutive dense or convolutional layers, with KAFs, 2D-KAFs, or activations of torch, and
            normalization, pooling and dropout between them. Others, as in residual branches, are not changed
            and are named in the report.
        data: inputs for which the outputs should be preserved, as for :func:`kafnets.calibrate`.
        tolerance: the maximum absolute change of any output.

    Returns:
        The smaller copy.
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    if not (math.isfinite(tolerance) and tolerance > 0):
        raise ValueError(f"tolerance must be a positive finite number, got {tolerance}")
    inputs = inputs_of(data, model)
    sites, refused = sites_of(model)
    if not sites:
        reasons = "; ".join(refused) or "it has no activations between linear maps"
        raise ValueError(f"model has no layer that can be pruned: {reasons}")
    search = _Search(copy.deepcopy(model), inputs)
    layers = []
    for number, site in enumerate(sites, 1):
        # Every layer may use an equal part of the tolerance, and what earlier ones left.
        search.budget = tolerance * number / len(sites)
        layers.append(_pruned(search, site))
    smaller = search.model
    before, after = (sum(each.numel() for each in which.parameters()) for which in (model, smaller))
    smaller.pruning = Pruning(  # type: ignore[assignment]
        tuple(layers), tuple(refused), before, after, *size_of(search.change_of(smaller))
    )
    return smaller


class _Search:
    """The smallest model so far, and how far others are from the first one."""

    def __init__(self, model: nn.Module, inputs: list[Tensor]) -> None:
        self.model, self.inputs = model, inputs
        self.budget = 0.0
        self._before = outputs_of(model, inputs)

    def change_of(self, model: nn.Module) -> Tensor:
        after = outputs_of(model, self.inputs)
        return torch.cat([(new - old).flatten() for new, old in zip(after, self._before, strict=True)])

    def most(self, count: int, change: Callable[[nn.Module, int], None]) -> int:
        """Do as many of ``count`` changes as the budget allows, found by bisection, and keep the result."""
        done, too_many = 0, count + 1
        tried = count
        while done < too_many - 1:
            candidate = copy.deepcopy(self.model)
            change(candidate, tried)
            if bool((self.change_of(candidate).abs() <= self.budget).all()):
                done, best = tried, candidate
            else:
                too_many = tried
            tried = (done + too_many) // 2
        if done:
            self.model = best
        return done

    def rows(self, name: str, channels: int) -> Tensor:
        """What a module is given: ``(n, channels)``, with the positions of images as rows."""
        sample = Sample()

        def keep(module: nn.Module, args: tuple[Tensor, ...]) -> None:
            given = args[0]
            # A dense layer behind nn.Flatten has a block of columns for each channel.
            dense = isinstance(module, nn.Linear) or getattr(module, "dim", 1) in (-1, given.dim() - 1)
            blocks = given.unflatten(-1, (channels, -1)) if dense else given.movedim(1, -1)
            sample.add((blocks.transpose(-1, -2) if dense else blocks).reshape(-1, channels))

        hook = self.model.get_submodule(name).register_forward_pre_hook(keep)
        try:
            with evaluating(self.model):
                for batch in self.inputs:
                    self.model(batch)
        finally:
            hook.remove()
        return sample.rows


def _pruned(search: _Search, site: Site) -> LayerPruning:
    report = LayerPruning(site.activation, neurons(search.model, site))
    report = replace(report, constant=_without_constants(search, site))
    if site.linear:
        merged, collapsed = _without_linear(search, site)
        report = replace(report, merged=merged, collapsed=collapsed)
    activation = search.model.get_submodule(site.activation)
    if isinstance(activation, KernelActivation):
        size = activation.dictionary_size
        _trimmed(search, site.activation)
        zeros = _zeroed(search, site.activation)
        now: Any = search.model.get_submodule(site.activation)
        report = replace(report, elements_before=size, elements_after=now.dictionary_size, zeros=zeros)
    return report


def _without_constants(search: _Search, site: Site) -> int:
    count = neurons(search.model, site)
    rows = search.rows(site.consumer, count)
    consumer: Any = search.model.get_submodule(site.consumer)
    sizes = consumer.weight.detach().double().unflatten(1, (count, -1)).abs().flatten(2).sum(2).amax(0)
    constants = (rows.amax(0) + rows.amin(0)) / 2
    order = ((rows - constants).abs().amax(0) * sizes.cpu()).argsort()
    return search.most(
        count - 1,
        lambda model, number: take_out(model, site, order[:number], constants[order[:number]]),
    )


def _without_linear(search: _Search, site: Site) -> tuple[int, bool]:
    """How many were merged, and whether two maps became one."""
    count, activation = neurons(search.model, site), search.model.get_submodule(site.activation)
    inputs = arity(activation)
    given = search.rows(site.activation, count * inputs)
    own: Any = copy.deepcopy(activation).double()
    own.dim = -1
    with torch.no_grad():
        values: Tensor = own(given)
    lines = torch.cat([given.unflatten(1, (count, inputs)), torch.ones(len(given), count, 1)], 2).transpose(
        0, 1
    )
    fits = torch.linalg.lstsq(lines, values.T.unsqueeze(2), driver="gelsd").solution
    errors = ((lines @ fits)[:, :, 0].T - values).square().mean(0).sqrt()
    straight = (errors <= STRAIGHT * values.std(0)).nonzero()[:, 0]
    if len(straight) == count and can_collapse(search.model, site):
        slopes, offsets = fits[:, :-1, 0], fits[:, -1, 0]
        if search.most(1, lambda model, _: collapse(model, site, slopes, offsets)):
            return 0, True
    order = straight[_by_dependence(values[:, straight])]

    def merge(model: nn.Module, number: int) -> None:
        kept, dropped = order[: len(order) - number], order[len(order) - number :]
        columns = torch.cat([values[:, kept], torch.ones(len(values), 1)], 1)
        shares = torch.linalg.lstsq(columns, values[:, dropped], driver="gelsd").solution
        multiples = values.new_zeros(number, count)
        multiples[:, kept] = shares[:-1].T
        take_out(model, site, dropped, shares[-1], multiples)

    return search.most(max(0, len(order) - 1), merge), False


def _by_dependence(columns: Tensor) -> Tensor:
    """An order in which each column is the one farthest from all sums of earlier ones: pivoted Cholesky."""
    centered = columns - columns.mean(0)
    gram = centered.T @ centered
    order = torch.arange(len(gram))
    for place in range(len(gram)):
        best = place + int(gram.diagonal()[place:].argmax())
        swap = torch.arange(len(gram))
        swap[[place, best]] = swap[[best, place]]
        gram, order = gram[swap][:, swap], order[swap]
        if gram[place, place] <= 0:
            break
        row = gram[place, place + 1 :] / gram[place, place]
        gram[place + 1 :, place + 1 :] -= torch.outer(gram[place, place + 1 :], row)
    return order


def _importance(search: _Search, name: str) -> Tensor:
    """The most that each coefficient adds to an output of its function, about: ``(functions, ...)``."""
    activation: Any = search.model.get_submodule(name)
    channels = activation.inputs if activation._any_width else activation.num_features
    rows = search.rows(name, channels) if not activation._any_width else _all_values(search, name)
    points = rows.reshape(-1, activation.inputs)
    points = points[torch.linspace(0, len(points) - 1, min(len(points), 2**14)).long()]
    terms = design(activation.expansion, points[:, 0] if activation.inputs == 1 else points).abs().amax(0)
    importance: Tensor = activation.alpha.detach().cpu().double().abs() * terms.reshape(
        activation.expansion.shape
    )
    return importance


def _all_values(search: _Search, name: str) -> Tensor:
    """The inputs of a function that all channels share, of which there may be any number."""
    seen: list[Tensor] = []
    module = search.model.get_submodule(name)
    hook = module.register_forward_pre_hook(lambda _, args: seen.append(args[0].flatten().cpu().double()))
    try:
        outputs_of(search.model, search.inputs)
    finally:
        hook.remove()
    return torch.cat(seen)


def _trimmed(search: _Search, name: str) -> None:
    """Fewer elements, from the ends inwards, so that an equispaced dictionary stays one."""
    importance = _importance(search, name).amax(0)
    along = importance if importance.dim() == 1 else torch.maximum(importance.amax(0), importance.amax(1))
    ends = [(0, len(along) - 1)]
    while ends[-1][1] - ends[-1][0] > 1:
        first, last = ends[-1]
        ends.append((first + 1, last) if along[first] <= along[last] else (first, last - 1))
    search.most(
        len(ends) - 1,
        lambda model, number: trim(model.get_submodule(name), *ends[number]),  # type: ignore[arg-type]
    )


def _zeroed(search: _Search, name: str) -> int:
    """How many coefficients became 0 that were not."""
    importance = _importance(search, name).flatten()
    activation: Any = search.model.get_submodule(name)
    already = int((activation.alpha == 0).sum())
    order = importance.argsort()

    def clear(model: nn.Module, number: int) -> None:
        alpha: Any = model.get_submodule(name).alpha
        with torch.no_grad():
            alpha.view(-1)[order[:number].to(alpha.device)] = 0

    search.most(len(order), clear)
    now: Any = search.model.get_submodule(name)
    return int((now.alpha == 0).sum()) - already
