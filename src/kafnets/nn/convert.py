"""Replacing the activations of a model by learned ones."""

import copy
from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor, nn

from kafnets.nn.channels import FUNCTIONAL, function_name, tensors_in
from kafnets.nn.convert_report import Conversion, LayerConversion
from kafnets.nn.places import Call, Place, Watched, places_of, watch
from kafnets.nn.refit import size_of
from kafnets.nn.replacement import CallByCall, Share, Start, replacement
from kafnets.nn.watch import evaluating
from kafnets.registry import Factory

SharedModules = Literal["split", "keep"]
Weights = Literal["copied", "shared"]

EQUAL = 1e-3
"""As a share of the largest output: more than rounding does."""

_REPLACES = "_replaces"
"""An attribute of new modules: a tuple with what was there, since a module would become a part of them."""
_BEFORE = "_before_conversion"
"""An attribute of torch's own layers: other attributes as they were, by name."""


def convert(
    model: nn.Module,
    activations: Mapping[type[nn.Module], str | Factory] | None = None,
    *,
    example_input: Any = None,
    start: Start = "base",
    share: Share = "channel",
    shared_modules: SharedModules = "split",
    weights: Weights = "copied",
    trace: bool = False,
    back: bool = False,
) -> nn.Module:
    r"""A copy of a model with learned activations, initialized like those that they replace.

    The model is run once, in evaluation mode, to determine the number of channels of each activation and
    their axis. The result has an attribute ``conversion``, a printable :class:`Conversion`: how much the
    outputs of each layer changed, and which activations could not be replaced.

    >>> model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 2))
    >>> images = torch.randn(4, 3, 8, 8)
    >>> converted = kafnets.convert(model, {nn.ReLU: "kaf"}, example_input=images)
    >>> torch.equal(converted(images), model(images))
    True

    Args:
        model: any module. It is not changed.
        activations: the replacement for each class: a name with or without options, such as "kaf" or
            "kaf(dictionary_size=10)", or a function that creates a module from the number of features.
        example_input: what to call the model with: a tensor, a tuple of arguments or a mapping of keywords.
        start: "base": KAFs are added to the function they replace, with coefficients of 0, so that outputs
            are equal; it must be one of ``kafnets.fixed_functions.FUNCTIONS``. "ridge": their coefficients
            approximate it by ridge regression on the dictionary, for any function of one value.
        share: "channel": a function per channel; "layer": one for all channels; or the number of functions
            per layer, each shared by neighboring channels.
        shared_modules: for a module that is used in several places or called several times: "split": each
            place and each call gets its own functions; "keep": they share them.
        weights: "copied", or "shared": the result shares parameters and buffers with the model.
        trace: also replace calls of functions, such as ``F.relu``, by tracing the model with ``torch.fx``.
            The result is a ``torch.fx.GraphModule``.
        back: undo a conversion: a copy of a converted model with its original activations. All other
            arguments except ``weights`` are ignored. Functions that ``trace`` replaced become modules.

    Returns:
        The converted copy.
    """
    _check(model, start, shared_modules, weights)
    copied = _copy(model, weights)
    if back:
        return _undone(copied)
    wanted = _checked_activations(activations)
    args, kwargs = _arguments(example_input)
    if trace:
        copied = _traced(copied, wanted, shared_modules)
    watched = watch(copied, places_of(copied, wanted), wanted, args, kwargs)
    made = _replaced(copied, watched, wanted, start, share, shared_modules)
    if not made:
        reasons = "; ".join(watched.not_replaced) or "it has none of them"
        raise ValueError(f"model has no activation in activations that can be replaced: {reasons}")
    copied.conversion = _compared(copied, made, watched, args, kwargs)  # type: ignore[assignment]
    return copied


def _check(model: object, start: str, shared_modules: str, weights: str) -> None:
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    choices = {
        "start": (start, ("base", "ridge")),
        "shared_modules": (shared_modules, ("split", "keep")),
        "weights": (weights, ("copied", "shared")),
    }
    for name, (given, known) in choices.items():
        if given not in known:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {given!r}")


def _checked_activations(activations: object) -> dict[type[nn.Module], str | Factory]:
    example = "such as {nn.ReLU: 'kaf'}"
    if not isinstance(activations, Mapping) or not activations:
        raise TypeError(f"activations must be a mapping, {example}, got {activations!r}")
    for key, value in activations.items():
        if not (isinstance(key, type) and issubclass(key, nn.Module)):
            raise TypeError(f"activations must have classes of modules as keys, {example}, got {key!r}")
        if isinstance(value, nn.Module) or not (isinstance(value, str) or callable(value)):
            raise TypeError(
                f"activations must have names, or functions that create modules, as values, {example}, "
                f"got {value!r} for {key.__name__}"
            )
    return dict(activations)


def _arguments(example: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(example, Tensor):
        return (example,), {}
    if isinstance(example, Mapping) and example:
        return (), dict(example)
    if isinstance(example, tuple | list) and example:
        return tuple(example), {}
    raise TypeError(
        "example_input must be a tensor, a tuple of arguments or a mapping of keyword arguments to call the "
        f"model with, got {type(example).__name__}"
    )


def _copy(model: nn.Module, weights: Weights) -> nn.Module:
    kept = [*model.parameters(), *model.buffers()] if weights == "shared" else []
    return copy.deepcopy(model, {id(each): each for each in kept})


def _traced(
    model: nn.Module, wanted: Mapping[type[nn.Module], Any], shared_modules: SharedModules
) -> torch.fx.GraphModule:
    """By ``torch.fx``, with modules in place of calls of functions, and one for each call if wanted."""
    try:
        traced = torch.fx.symbolic_trace(model)
    except Exception as error:
        raise ValueError(
            f"trace=True: torch.fx cannot trace this {type(model).__name__}: {error}. Omit trace, and use "
            f"modules instead of the functions that it calls"
        ) from error
    seen = set()
    for node in traced.graph.nodes:
        own: nn.Module | None = None
        if node.op in ("call_function", "call_method"):
            name = node.target if node.op == "call_method" else function_name(node.target)
            kind: Any = FUNCTIONAL.get(name.rstrip("_"))
            if kind in wanted:
                inputs = {**node.kwargs, **dict(zip(("input",), node.args, strict=False))}
                own = kind(*node.args[1:], **{key: inputs[key] for key in inputs if key != "input"})
                node.args, node.kwargs = (inputs["input"],), {}
        elif node.op == "call_module" and isinstance(traced.get_submodule(node.target), tuple(wanted)):
            if node.target in seen and shared_modules == "split":
                own = copy.deepcopy(traced.get_submodule(node.target))
            seen.add(node.target)
        if own is not None:
            node.op, node.target = "call_module", f"activation_{node.name}"
            traced.add_submodule(node.target, own)
    traced.recompile()
    return traced


def _replaced(
    model: nn.Module,
    watched: Watched,
    wanted: Mapping[type[nn.Module], str | Factory],
    start: Start,
    share: Share,
    shared_modules: SharedModules,
) -> list[tuple[str, nn.Module, str, list[Call]]]:
    """Put new modules into the model: names, modules, how they started, and the calls that they take over."""
    made: list[tuple[str, nn.Module, str, list[Call]]] = []
    kept: dict[int, nn.Module] = {}
    for place in watched.places:
        if not place.calls:
            continue
        # A function, as nn.TransformerEncoderLayer may have it, is the same in all layers and shared by none.
        alike = [
            each
            for each in watched.places
            if each is place
            or (shared_modules == "keep" and each.original is place.original and not place.is_function)
        ]
        calls = sorted((call for each in alike for call in each.calls), key=lambda call: call.number)
        if id(place.original) in kept and len(alike) > 1:
            _put(place, kept[id(place.original)])
            continue
        turns = [calls] if shared_modules == "keep" else place.turns()
        modules = []
        for number, turn in enumerate(turns):
            module, how = replacement(place, turn, wanted[place.kind], start, share)
            modules.append(module)
            made.append((place.path + (f".{number}" if len(turns) > 1 else ""), module, how, turn))
        new = modules[0] if len(modules) == 1 else CallByCall(modules, place.calls[0].caller)
        _put(place, new)
        kept[id(place.original)] = new
    for encoder in (each for each in model.modules() if isinstance(each, nn.TransformerEncoder)):
        # Nested tensors are for the fast path, which the layers no longer take.
        if any(_BEFORE in vars(layer) for layer in encoder.layers) and encoder.use_nested_tensor:
            _remember(encoder, "use_nested_tensor", True)
            encoder.use_nested_tensor = False
    return made


def _put(place: Place, new: nn.Module) -> None:
    vars(new)[_REPLACES] = (place.original,)
    setattr(place.parent, place.name, new)
    if isinstance(place.parent, nn.TransformerEncoderLayer) and place.name == "activation":
        # Else evaluation without gradients would take torch's fast path, which knows ReLU and GELU alone.
        _remember(place.parent, "activation_relu_or_gelu", place.parent.activation_relu_or_gelu)
        place.parent.activation_relu_or_gelu = 0


def _remember(module: nn.Module, name: str, value: Any) -> None:
    vars(module).setdefault(_BEFORE, {}).setdefault(name, value)


def _undone(model: nn.Module) -> nn.Module:
    """Put back what was there."""
    new = [
        (parent, name, child)
        for parent in model.modules()
        for name, child in parent._modules.items()
        if child is not None and _REPLACES in vars(child)
    ]
    if not new:
        raise ValueError(
            "back=True needs a model that kafnets.convert returned, got one with nothing to undo"
        )
    for parent, name, child in new:
        (original,) = vars(child)[_REPLACES]
        if isinstance(child, CallByCall):
            for caller in model.modules():
                child.detach_from(caller)
        if isinstance(original, nn.Module):
            original.train(parent.training)
        else:
            delattr(parent, name)
        setattr(parent, name, original)
    for module in model.modules():
        for name, value in vars(module).pop(_BEFORE, {}).items():
            setattr(module, name, value)
    vars(model).pop("conversion", None)
    return model


def _compared(
    model: nn.Module,
    made: list[tuple[str, nn.Module, str, list[Call]]],
    watched: Watched,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Conversion:
    """Run the converted model as the first one was, and tell the differences."""
    outputs: dict[int, list[Tensor]] = {id(module): [] for _, module, _, _ in made}
    hooks = [
        module.register_forward_hook(
            lambda module, _, output: outputs[id(module)].append(output.detach().clone())
        )
        for _, module, _, _ in made
    ]
    try:
        with evaluating(model):
            after = [each.double() for each in tensors_in(model(*args, **kwargs)) if each.is_floating_point()]
    finally:
        for hook in hooks:
            hook.remove()
    layers = []
    for name, module, how, calls in made:
        now = outputs[id(module)]
        errors = [(new.double() - old.output).flatten() for new, old in zip(now, calls, strict=True)]
        layers.append(LayerConversion(name, calls[0].before, str(module), how, *size_of(torch.cat(errors))))
    moved = torch.cat([(a - b).flatten() for a, b in zip(after, watched.outputs, strict=True)])
    report = Conversion(tuple(layers), tuple(watched.not_replaced), *size_of(moved))
    largest = max((float(each.abs().max()) for each in watched.outputs if each.numel()), default=0.0)
    if all(layer.start == "base" for layer in layers) and not report.output_largest <= EQUAL * largest:
        raise ValueError(
            f"model cannot be converted: its outputs changed by {report.output_largest:.2g}, although all "
            f"new functions equal those that they replace. It may use the input of an activation that "
            f"changed it in place, or be random:\n{report}"
        )
    return report
