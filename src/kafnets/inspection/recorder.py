"""Recording the functions of a model."""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from kafnets.expansion import Expansion
from kafnets.inspection.curves import BINS, LIMIT, POINTS, SIDE, Columns, Half, LearnedFunctions, Moment
from kafnets.inspection.influence import influence
from kafnets.nn.activation import Activation
from kafnets.nn.edgewise import EdgewiseKAF
from kafnets.nn.embedding import KAFEmbedding, spread_evenly
from kafnets.nn.watch import evaluating
from kafnets.registry import Facts

MARGIN = 5 / 3
"""How much farther than a wide dictionary. As 5 is to 3, so that its ends are edges of bins."""

ROWS = 2000
"""Rows of data that are looked at."""


def learned_functions(
    model: nn.Module,
    data: Any = None,
    *,
    moment: str = "end",
    functions: int | None = None,
    columns: Columns | None = None,
    with_influence: bool = False,
    argument: str = "model",
) -> list[LearnedFunctions]:
    """Record the functions of every activation, and every edge-wise layer, of a model.

    Args:
        model: any network with activations of this package that can be plotted.
        data: inputs of the network, a tensor or an array. None: no histograms.
        moment: the name of this moment.
        functions: maximum number of functions per layer; None: all.
        columns: names and units of the features, for embeddings; by default their numbers, as scaled.
        with_influence: estimate how much the outputs depend on each feature of an embedding, which takes a
            forward pass of up to 1000 rows per feature.
        argument: the name of the model in errors.
    """
    _check(argument, model)
    fed = None if data is None else _as_fed(model, data)
    found = recorded(model, fed, moment, functions, columns, with_influence)
    if not found:
        raise ValueError("functions of more than two inputs cannot be drawn: give groups of two")
    return found


def recorded(
    model: nn.Module,
    features: Tensor | None,
    moment: str,
    functions: int | None = None,
    columns: Columns | None = None,
    with_influence: bool = False,
) -> list[LearnedFunctions]:
    """The same without checks; an empty list for a model that has nothing to be looked at."""
    fed = {} if features is None else _inputs_of_layers(model, features[:ROWS])
    found = []
    shares: dict[tuple[int, ...], Half | None] = {}
    for name, module in _plottable(model):
        if isinstance(module, KAFEmbedding):
            chosen = tuple(module.columns[:functions])
            # A layer inside the network has features of its own.
            first = with_influence and features is not None and features.shape[1:] == (module.in_features,)
            if features is not None and first and chosen not in shares:
                shares[chosen] = influence(model, features, chosen)
            seen = fed.get(name), shares.get(chosen)
            found.append(_embedding(name, module, *seen, moment, functions, columns))
        elif isinstance(module, EdgewiseKAF):
            found.append(_edgewise(name, module, fed.get(name), moment, functions))
        elif getattr(module, "group_size", 2) == 2:
            found.append(_activation(name, module, fed.get(name), moment, functions))
    return found


def facts_about(module: nn.Module) -> dict[str, Any]:
    """What a module tells of its functions."""
    expansion = getattr(module, "expansion", None)
    if not isinstance(expansion, Expansion):
        return {"activation": type(module).__name__}
    ends, base = (expansion.dictionary.values[0], expansion.dictionary.values[-1]), expansion.base
    farthest = MARGIN * max(map(abs, ends))
    return {
        "activation": type(module).__name__,
        "dictionary": ends,
        "tails": expansion.tails,
        "base": str(base) if base else None,
        "limit": farthest if isinstance(module, EdgewiseKAF) else max(LIMIT, farthest),
    }


def _activation(
    name: str, module: nn.Module, fed: Tensor | None, moment: str, functions: int | None
) -> LearnedFunctions:
    told = facts_about(module)
    facts: Facts = module.facts  # type: ignore[assignment]
    inputs, limit = facts.arity, told.get("limit", LIMIT)
    channels: int = getattr(module, "num_features", inputs) if fed is None else fed.shape[-1]
    groups: Any = getattr(module, "groups", channels)
    sharing = max(1, channels // (int(getattr(module, "inputs", 1)) * groups))
    values = (curves if inputs == 1 else surfaces)(module, channels, limit, sharing, functions)
    if fed is not None and sharing > 1:
        fed = fed.reshape(-1, channels // (sharing * inputs), sharing, inputs).movedim(2, 1)
        fed = fed.reshape(-1, channels // sharing)
    if fed is not None and functions is not None:
        fed = fed[..., : functions * inputs]
    return LearnedFunctions(
        name,
        **told,
        inputs=inputs,
        count=max(1, channels // (inputs * sharing)),
        sharing=sharing,
        moments={moment: Moment(_half(values), *_distribution(fed, limit, told.get("dictionary")))},
    )


def _edgewise(
    name: str, module: EdgewiseKAF, fed: Tensor | None, moment: str, functions: int | None
) -> LearnedFunctions:
    told = facts_about(module)
    with torch.no_grad():
        places = torch.linspace(-told["limit"], told["limit"], POINTS).to(module.alpha)
        values = module.functions(places).flatten(0, 1)[:functions].float().cpu()
    if fed is not None:
        fed = fed[..., :functions]
    return LearnedFunctions(
        name,
        **told,
        count=module.in_features * module.out_features,
        connections=module.in_features,
        moments={moment: Moment(_half(values), *_distribution(fed, told["limit"], told["dictionary"]))},
    )


def _embedding(
    name: str,
    module: KAFEmbedding,
    fed: Tensor | None,
    shares: Half | None,
    moment: str,
    functions: int | None,
    columns: Columns | None,
) -> LearnedFunctions:
    """All functions of a feature as one with several outputs, over the shares of rows below its values."""
    number, limit = len(module.columns), module.boundary
    values = curves(module.functions, number * module.outputs, limit).unflatten(0, (number, module.outputs))
    knots = module.knots.detach().double().cpu().numpy()
    quarters = knots[:, :: (knots.shape[1] - 1) // 4]
    if columns is None:
        columns = Columns(
            tuple(f"feature {each}" for each in range(module.in_features)), lambda _, given: given
        )
    own = [columns.original(each, row) for each, row in zip(module.columns, quarters, strict=True)]
    if fed is not None:
        fed = fed[..., :functions]
    return LearnedFunctions(
        name,
        type(module).__name__,
        count=number,
        limit=limit,
        features=tuple(columns.names[each] for each in module.columns),
        quantiles=tuple(tuple(float(f"{value:.4g}") for value in row) for row in own),
        moments={moment: Moment(_half(values[:functions]), *_distribution(fed, limit, None), shares)},
    )


def curves(
    module: nn.Module, channels: int, limit: float = LIMIT, sharing: int = 1, functions: int | None = None
) -> Tensor:
    """Outputs of neurons as their input goes from -limit to limit. Of those that share one, the first."""
    places = torch.linspace(-limit, limit, POINTS)
    outputs = _evaluated(module, places[:, None].expand(-1, channels))
    if outputs.shape[1] == channels:
        return outputs[:, ::sharing][:, :functions].T
    # Several outputs per neuron, wherever the module puts them: those that move when its input alone does.
    each = outputs.shape[1] // channels
    found = []
    for neuron in range(min(functions or channels, channels)):
        alone = torch.zeros(POINTS, channels)
        alone[:, neuron] = places
        moved = _evaluated(module, alone)
        own = (moved.amax(0) - moved.amin(0)).topk(each).indices.sort().values
        found.append(moved[:, own].T)
    return torch.stack(found)


def surfaces(module: nn.Module, channels: int, limit: float, sharing: int, functions: int | None) -> Tensor:
    """The same for pairs of neighbors. Of a pair with two outputs, the first."""
    places = torch.linspace(-limit, limit, SIDE)
    outputs = _evaluated(module, torch.cartesian_prod(places, places).repeat(1, channels // 2))
    each = outputs.shape[1] // (channels // 2)
    return outputs[:, :: each * sharing][:, :functions].T.unflatten(1, (SIDE, SIDE))


def _evaluated(module: nn.Module, inputs: Tensor) -> Tensor:
    """In evaluation mode, wherever the module lives, and the result back here."""
    like = next(module.parameters(), torch.zeros(()))
    axis = getattr(module, "dim", 1)
    between = (1,) * (axis - 1) if isinstance(axis, int) and axis > 1 else ()
    with evaluating(module):
        outputs = module(inputs.to(like).reshape(len(inputs), *between, -1))
    return outputs.reshape(len(inputs), -1).float().cpu()


def _half(values: Tensor) -> Half:
    """Rounded; what is too large for half precision is cut off. Equal functions are stored once."""
    most = torch.finfo(torch.float16).max
    rounded: Half = values.clamp(-most, most).half().numpy().copy()
    return rounded[:1] if (rounded == rounded[:1]).all() else rounded


def _distribution(
    fed: Tensor | None, limit: float, ends: tuple[float, float] | None
) -> tuple[Half | None, Half | None]:
    """By input, its histogram and the share outside the dictionary."""
    if fed is None:
        return None, None
    seen = fed.reshape(-1, fed.shape[-1]).float().cpu().numpy()
    edges = np.linspace(-limit, limit, BINS + 1)
    counts = np.stack([np.histogram(column, edges)[0] for column in seen.clip(-limit, limit).T])
    outside = None if ends is None else ((seen < ends[0]) | (seen > ends[1])).mean(0).astype(np.float16)
    return (counts / len(seen)).astype(np.float16), outside


def _plottable(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Each layer whose functions have one input or two, with its name in the model."""
    wholes = [module for module in model.modules() if isinstance(module, KAFEmbedding | Activation)]
    parts = [part for whole in wholes for part in whole.modules() if part is not whole]
    for name, module in model.named_modules():
        facts = getattr(module, "facts", None)
        own = isinstance(facts, Facts) and facts.plottable and not any(module is each for each in parts)
        if own or isinstance(module, EdgewiseKAF) or (isinstance(module, KAFEmbedding) and module.columns):
            yield name, module


def _inputs_of_layers(model: nn.Module, features: Tensor) -> dict[str, Tensor]:
    """What comes into each layer that can be looked at, channels last, in evaluation mode."""
    fed: dict[str, Tensor] = {}

    def note(name: str, module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        if isinstance(module, KAFEmbedding):
            fed[name] = spread_evenly(inputs[0][..., module.columns], module.knots, module.boundary)
            return
        axis = -1 if isinstance(module, EdgewiseKAF) else getattr(module, "dim", 1)
        fed[name] = inputs[0].movedim(axis if isinstance(axis, int) else 1, -1)

    with ExitStack() as hooks, evaluating(model):
        for name, module in _plottable(model):
            hooks.callback(module.register_forward_pre_hook(partial(note, name)).remove)
        model(features)
    return fed


def _check(argument: str, model: nn.Module) -> None:
    """Raise unless a model has functions that can be looked at."""
    if not isinstance(model, nn.Module):
        raise TypeError(
            f"{argument} must be a torch module, got {type(model).__name__}: give an estimator's module_, or "
            "a predictor's model, and data scaled as it scales them"
        )
    if any(True for _ in _plottable(model)):
        return
    cannot = {
        type(each).__name__ for each in model.modules() if isinstance(getattr(each, "facts", None), Facts)
    }
    if cannot:
        raise ValueError(
            f"{', '.join(sorted(cannot))} cannot be drawn: its neurons are functions of all inputs, not of "
            "one or two"
        )
    raise ValueError(
        f"{argument} has no activation that can be inspected: use those of kafnets.names() instead of "
        f"torch's; a custom one needs facts = kafnets.Facts(..., plottable=True)"
    )


def _as_fed(model: nn.Module, data: Any) -> Tensor:
    """Data as a tensor of the model's kind; there must be some, and finite."""
    features = data if isinstance(data, Tensor) else torch.as_tensor(np.asarray(data))
    if len(features) == 0 or not features.isfinite().all():
        raise ValueError(
            f"data must have rows of finite numbers, got {len(features)} rows with "
            f"{int((~features.isfinite()).sum())} numbers that are not"
        )
    like = next(model.parameters(), torch.zeros(()))
    return features.to(like.device, like.dtype)
