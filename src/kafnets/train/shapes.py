"""What activations look like at some moment: their curves, and what comes into them."""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

BOUNDARY, POINTS, BINS, NEURONS = 5.0, 101, 50, 12
"""Curves and histograms are taken from -BOUNDARY to BOUNDARY, of the first NEURONS neurons of a layer."""

ROWS = 2000


def record(model: nn.Module, features: Tensor, moment: str) -> dict[str, NDArray[np.float32]]:
    """For each activation with a name in ``model``: ``{layer}/{moment}/curves`` and ``.../histogram``.

    Curves are ``(neurons, POINTS)`` for functions of one activation; histograms ``(neurons, BINS)``, as
    shares, of what the activation is fed for these features, the outermost bins taking what lies beyond.
    """
    found: dict[str, NDArray[np.float32]] = {}
    fed = _inputs(model, features[:ROWS])
    for name, module in _plottable(model):
        seen = fed[name]
        found[f"{name}/{moment}/histogram"] = _histograms(seen)
        if getattr(module, "out_features", seen.shape[-1]) == seen.shape[-1]:
            found[f"{name}/{moment}/curves"] = _curves(module, seen.shape[-1])
    return found


def _plottable(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    for name, module in model.named_modules():
        facts = getattr(module, "facts", None)
        if facts is not None and facts.plottable:
            yield name, module


def _inputs(model: nn.Module, features: Tensor) -> dict[str, Tensor]:
    """What comes into each plottable activation, channels last, in evaluation mode."""
    fed: dict[str, Tensor] = {}
    hooks = []
    for name, module in _plottable(model):

        def note(module: nn.Module, inputs: tuple[Tensor, ...], name: str = name) -> None:
            fed[name] = inputs[0].movedim(1, -1) if inputs[0].dim() > 2 else inputs[0]

        hooks.append(module.register_forward_pre_hook(note))
    try:
        model.eval()
        with torch.no_grad():
            model(features)
    finally:
        for hook in hooks:
            hook.remove()
    return fed


def _curves(module: nn.Module, channels: int) -> NDArray[np.float32]:
    s = torch.linspace(-BOUNDARY, BOUNDARY, POINTS)[:, None].expand(-1, channels).contiguous()
    module.eval()
    with torch.no_grad():
        return module(s)[:, :NEURONS].T.float().numpy().copy()


def _histograms(seen: Tensor) -> NDArray[np.float32]:
    values = seen.reshape(-1, seen.shape[-1])[:, :NEURONS].float().clamp(-BOUNDARY, BOUNDARY).numpy()
    edges = np.linspace(-BOUNDARY, BOUNDARY, BINS + 1)
    counts = [np.histogram(column, edges)[0] for column in values.T]
    return (np.stack(counts) / len(values)).astype(np.float32)
