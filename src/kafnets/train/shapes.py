"""What activations look like at some moment: their curves or surfaces, and what comes into them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from kafnets.registry import Facts

BOUNDARY, POINTS, SIDE, BINS = 5.0, 101, 31, 50
"""Curves, surfaces and histograms are taken from -BOUNDARY to BOUNDARY, at POINTS places, at SIDE x SIDE
places, and in BINS bins."""

NEURONS = 12
"""The first so many neurons of a layer; pairs, for functions of two inputs."""

ROWS = 2000

Shapes = dict[str, NDArray[np.float16]]


def record(model: nn.Module, features: Tensor | None, moment: str, neurons: int = NEURONS) -> Shapes:
    """For each activation of ``model`` that can be plotted, two arrays named ``{layer}/{moment}/...``.

    ``curves`` are ``(neurons, POINTS)``, or ``(neurons, K, POINTS)`` where a neuron has K outputs; functions
    of two inputs have ``surfaces`` instead, ``(pairs, SIDE, SIDE)``, the first input down the rows.
    ``histogram`` is ``(inputs, BINS)``, shares of what the activation is fed for these features; the
    outermost bins take what lies beyond. Half precision: they are to be looked at.

    Args:
        model: any network.
        features: what is fed to it. None: no histograms.
        moment: its name.
        neurons: how many of each layer, or pairs.
    """
    found: Shapes = {}
    fed = {} if features is None else activations_fed(model, features[:ROWS])
    for name, module, facts in plottable(model):
        if name in fed:
            channels = fed[name].shape[-1]
            seen = _pooled(fed[name], _sharing(module, channels), facts.arity)
            found[f"{name}/{moment}/histogram"] = _histograms(seen, neurons * facts.arity)
        else:
            channels = getattr(module, "num_features", facts.arity)
        if facts.arity == 1:
            found[f"{name}/{moment}/curves"] = _half(curves(module, channels, neurons))
        elif getattr(module, "group_size", 2) == 2:
            found[f"{name}/{moment}/surfaces"] = _half(surfaces(module, channels, neurons))
    return found


def _sharing(module: nn.Module, channels: int) -> int:
    """How many neighboring channels, or pairs of them, share a function."""
    functions: Any = getattr(module, "groups", channels)
    return max(1, channels // (int(getattr(module, "inputs", 1)) * functions))


def _pooled(seen: Tensor, sharing: int, arity: int) -> Tensor:
    """What comes into each function, from all channels that share it, functions last."""
    if sharing == 1:
        return seen
    apart = seen.reshape(-1, seen.shape[-1] // (sharing * arity), sharing, arity)
    return apart.movedim(2, 1).reshape(-1, seen.shape[-1] // sharing)


def check_plottable(argument: str, model: nn.Module) -> None:
    """Raise unless a model has activations whose functions can be looked at."""
    if not isinstance(model, nn.Module):
        raise TypeError(
            f"{argument} must be a torch module, got {type(model).__name__}: give an estimator's module_, or "
            "a predictor's model, and data scaled as it scales them"
        )
    if any(True for _ in plottable(model)):
        return
    cannot = {
        type(module).__name__
        for module in model.modules()
        if isinstance(facts := getattr(module, "facts", None), Facts) and not facts.plottable
    }
    if cannot:
        raise ValueError(
            f"{', '.join(sorted(cannot))} cannot be drawn: its neurons are functions of all inputs, not of "
            "one or two"
        )
    raise ValueError(
        f"{argument} has no activation that can be looked at: those of kafnets.names() can; one of your own "
        "needs facts = kafnets.Facts(..., plottable=True), and torch's have another name here"
    )


def as_fed(model: nn.Module, data: Any) -> Tensor:
    """Data as a tensor of the model's kind; there must be some, and finite."""
    features = data if isinstance(data, Tensor) else torch.as_tensor(np.asarray(data))
    if len(features) == 0 or not features.isfinite().all():
        raise ValueError(
            f"data must have rows, of finite numbers, got {len(features)} rows with "
            f"{int((~features.isfinite()).sum())} numbers that are not"
        )
    like = next(model.parameters(), torch.zeros(()))
    return features.to(like.device, like.dtype)


def plottable(model: nn.Module) -> Iterator[tuple[str, nn.Module, Facts]]:
    """Each activation of the zoo whose functions have one input or two, with its name in the model."""
    for name, module in model.named_modules():
        facts = getattr(module, "facts", None)
        if isinstance(facts, Facts) and facts.plottable:
            yield name, module, facts


def activations_fed(model: nn.Module, features: Tensor) -> dict[str, Tensor]:
    """What comes into each plottable activation, channels last, in evaluation mode."""
    fed: dict[str, Tensor] = {}
    hooks = []
    for name, module, _ in plottable(model):

        def note(module: nn.Module, inputs: tuple[Tensor, ...], name: str = name) -> None:
            axis = getattr(module, "dim", 1)
            fed[name] = inputs[0].movedim(axis if isinstance(axis, int) else 1, -1)

        hooks.append(module.register_forward_pre_hook(note))
    was_training = model.training
    try:
        model.eval()
        with torch.no_grad():
            model(features)
    finally:
        model.train(was_training)
        for hook in hooks:
            hook.remove()
    return fed


def curves(module: nn.Module, channels: int, neurons: int = NEURONS) -> Tensor:
    """Outputs of the first neurons as each one's input goes from -BOUNDARY to BOUNDARY.

    Of channels that share a function, the first.
    """
    places = torch.linspace(-BOUNDARY, BOUNDARY, POINTS)
    outputs = _evaluated(module, places[:, None].expand(-1, channels))
    if outputs.shape[1] == channels:
        return outputs[:, :: _sharing(module, channels)][:, :neurons].T
    # Several outputs per neuron, wherever the module puts them: those that move when its input alone does.
    each = outputs.shape[1] // channels
    found = []
    for neuron in range(min(neurons, channels)):
        alone = torch.zeros(POINTS, channels)
        alone[:, neuron] = places
        moved = _evaluated(module, alone)
        own = (moved.amax(0) - moved.amin(0)).topk(each).indices.sort().values
        found.append(moved[:, own].T)
    return torch.stack(found)


def surfaces(module: nn.Module, channels: int, pairs: int = NEURONS) -> Tensor:
    """Outputs of the first pairs of neighbors as both go from -BOUNDARY to BOUNDARY.

    Of a pair with two outputs, the first; of pairs that share a function, too.
    """
    places = torch.linspace(-BOUNDARY, BOUNDARY, SIDE)
    grid = torch.cartesian_prod(places, places).repeat(1, channels // 2)
    outputs = _evaluated(module, grid)
    each = outputs.shape[1] // (channels // 2)
    return outputs[:, :: each * _sharing(module, channels)][:, :pairs].T.unflatten(1, (SIDE, SIDE))


def _evaluated(module: nn.Module, inputs: Tensor) -> Tensor:
    """In evaluation mode, wherever the module lives, and the result back here."""
    was_training = module.training
    like = next(module.parameters(), torch.zeros(()))
    try:
        module.eval()
        axis = getattr(module, "dim", 1)
        between = (1,) * (axis - 1) if isinstance(axis, int) and axis > 1 else ()
        with torch.no_grad():
            outputs = module(inputs.to(like).reshape(len(inputs), *between, -1))
        return outputs.reshape(len(inputs), -1).float().cpu()
    finally:
        module.train(was_training)


def _half(values: Tensor) -> NDArray[np.float16]:
    """Rounded; what is too large for half precision is cut off at its end."""
    most = torch.finfo(torch.float16).max
    return values.clamp(-most, most).half().numpy().copy()


def _histograms(seen: Tensor, neurons: int) -> NDArray[np.float16]:
    values = seen.reshape(-1, seen.shape[-1])[:, :neurons].float().clamp(-BOUNDARY, BOUNDARY).cpu().numpy()
    edges = np.linspace(-BOUNDARY, BOUNDARY, BINS + 1)
    counts = [np.histogram(column, edges)[0] for column in values.T]
    return (np.stack(counts) / len(values)).astype(np.float16)
