"""Models with fewer neurons and coefficients, which are made in place."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from kafnets.expansion import Dictionary
from kafnets.nn.chains import Site
from kafnets.nn.kaf import KernelActivation


def arity(activation: nn.Module) -> int:
    """Channels that one function takes."""
    return activation.inputs if isinstance(activation, KernelActivation) else 1


def neurons(model: nn.Module, site: Site) -> int:
    """How many functions there are."""
    producer: Any = model.get_submodule(site.producer)
    return len(producer.weight) // arity(model.get_submodule(site.activation))


@torch.no_grad()
def take_out(
    model: nn.Module, site: Site, dropped: Tensor, constants: Tensor, merge: Tensor | None = None
) -> None:
    """Remove neurons, and let the next layer make up for them.

    Args:
        model: changed in place.
        site: where.
        dropped: their numbers.
        constants: what stands for each of them, at the next layer's input.
        merge: ``(dropped, neurons)``: multiples of other neurons' outputs that are added to that.
    """
    producer: Any = model.get_submodule(site.producer)
    activation: Any = model.get_submodule(site.activation)
    consumer: Any = model.get_submodule(site.consumer)
    count = neurons(model, site)
    kept = torch.ones(count, dtype=torch.bool).index_fill_(0, dropped, False).nonzero()[:, 0]
    # Behind nn.Flatten, a channel of an image is a block of columns.
    weight = consumer.weight.unflatten(1, (count, -1))
    if consumer.bias is None:
        consumer.bias = nn.Parameter(weight.new_zeros(len(weight)))
    per_neuron = weight.flatten(2).sum(2)
    consumer.bias += per_neuron[:, dropped] @ constants.to(weight)
    if merge is not None:
        change = torch.einsum("od...,dn->on...", weight[:, dropped], merge.to(weight))
        weight = weight + change
    _set(consumer, "weight", weight[:, kept].flatten(1, 2))
    rows = (kept[:, None] * arity(activation) + torch.arange(arity(activation))).flatten()
    for name in (site.producer, *site.before):
        module = model.get_submodule(name)
        for own in ("weight", "bias", "running_mean", "running_var"):
            if getattr(module, own, None) is not None:
                _set(module, own, getattr(module, own)[rows])
    for name in site.behind:
        norm = model.get_submodule(name)
        for own in ("weight", "bias", "running_mean", "running_var"):
            if getattr(norm, own, None) is not None:
                _set(norm, own, getattr(norm, own)[kept])
        norm.num_features = len(kept)  # type: ignore[assignment]
    for name in site.before:
        model.get_submodule(name).num_features = len(rows)  # type: ignore[assignment]
    _resize(producer, "out", len(rows))
    _resize(consumer, "in", consumer.weight.shape[1])
    if isinstance(activation, KernelActivation) and not activation._any_width:
        _narrow(activation, kept, len(rows))


def _narrow(activation: KernelActivation, kept: Tensor, features: int) -> None:
    for name in ("alpha", "base_weight", "log_gamma"):
        value = getattr(activation, name)
        if value is not None and value.dim():
            _set(activation, name, value[kept])
    activation.num_features, activation.groups = features, len(kept)
    if isinstance(activation.init, tuple):
        activation.init = tuple(activation.init[int(number)] for number in kept)


def _set(module: nn.Module, name: str, value: Tensor) -> None:
    old = getattr(module, name)
    value = value.detach().clone()
    if isinstance(old, nn.Parameter):
        value = nn.Parameter(value, requires_grad=old.requires_grad)
    setattr(module, name, value)


def _resize(module: nn.Module, side: str, count: int) -> None:
    setattr(module, f"{side}_features" if isinstance(module, nn.Linear) else f"{side}_channels", count)


@torch.no_grad()
def collapse(model: nn.Module, site: Site, slopes: Tensor, offsets: Tensor) -> None:
    """Make one map of both, of a layer whose functions are all linear.

    Args:
        model: changed in place.
        site: with dense maps.
        slopes: ``(neurons, arity)``: of each function.
        offsets: ``(neurons,)``: each function's value at 0.
    """
    producer: Any = model.get_submodule(site.producer)
    consumer: Any = model.get_submodule(site.consumer)
    weight, rows = consumer.weight.double(), producer.weight.double()
    joint = (slopes[:, :, None] * rows.unflatten(0, slopes.shape)).sum(1)
    bias = (
        0.0 if producer.bias is None else (slopes * producer.bias.double().unflatten(0, slopes.shape)).sum(1)
    )
    shift = weight @ (offsets + bias)
    one = nn.Linear(
        producer.in_features, consumer.out_features, device=weight.device, dtype=consumer.weight.dtype
    )
    one.weight.copy_(weight @ joint)
    one.bias.copy_(shift if consumer.bias is None else shift + consumer.bias)
    _replace(model, site.producer, nn.Identity())
    _replace(model, site.activation, nn.Identity())
    _replace(model, site.consumer, one)  # where the next layer looks for its inputs


def can_collapse(model: nn.Module, site: Site) -> bool:
    """Whether both maps are dense, and nothing but dropout is between them."""
    both = (model.get_submodule(name) for name in (site.producer, site.consumer))
    return site.linear and not site.before and all(isinstance(each, nn.Linear) for each in both)


def _replace(model: nn.Module, name: str, new: nn.Module) -> None:
    parent, _, own = name.rpartition(".")
    setattr(model.get_submodule(parent), own, new)


def trim(activation: KernelActivation, first: int, last: int) -> None:
    """Keep the dictionary elements from ``first`` to ``last``, both included."""
    expansion = activation.expansion
    part = slice(first, last + 1)
    alpha = activation.alpha.detach()[:, part]
    if expansion.dimensions == 2:
        alpha = alpha[:, :, part]
    smaller = replace(expansion, dictionary=Dictionary.of(expansion.dictionary.values[part]))
    activation.stand_on(smaller, alpha.clone())
