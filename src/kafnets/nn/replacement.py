"""Learned activations that replace others, initialized like them."""

import functools
import inspect
from typing import Any, Literal

import numpy as np
from torch import Tensor, nn

from kafnets.fixed_functions import FUNCTIONS
from kafnets.nn.activation import TorchSource
from kafnets.nn.kaf import KernelActivation
from kafnets.nn.places import Call, Place
from kafnets.registry import Factory, accepted, declared_by, find, make
from kafnets.starts import Ridge, values_of

Start = Literal["base", "ridge"]
Share = Literal["channel", "layer"] | int

_PLACES = np.concatenate([np.linspace(-8, 8, 161), [-1e-3, 1e-3]])
"""Where functions are compared."""


def replacement(
    place: Place, calls: list[Call], activation: str | Factory, start: Start, share: Share
) -> tuple[nn.Module, str]:
    """A new module for these calls, and how it started: "base", "ridge" or "own"."""
    factory = find(activation) if isinstance(activation, str) else activation
    called = activation if isinstance(activation, str) else getattr(factory, "__name__", str(factory))
    facts = declared_by(factory)
    if facts.owns_linear:
        raise ValueError(f"activations: {called!r} contains a linear map, so it cannot replace another")
    if facts.arity != 1:
        raise ValueError(
            f"activations: {called!r} has functions of {facts.arity} values, so it cannot replace another"
        )
    features, options = _layout(place, calls, share)
    target = _function(place)
    chosen, how = _start(factory, target, start, place)
    surroundings = {"device": calls[0].input.device, "dtype": calls[0].input.dtype, **options}
    made = make(factory, features, accepted(factory, **surroundings) | chosen, called=called)
    if getattr(made, "out_features", features) != features:
        raise ValueError(
            f"activations: {called!r} changes the number of channels, so it cannot replace another"
        )
    return made.train(place.parent.training), how


def _layout(place: Place, calls: list[Call], share: Share) -> tuple[int, dict[str, Any]]:
    """The number of features, with channel axis and groups."""
    if share == "layer":
        return 1, {"dim": 1}
    if share != "channel" and (isinstance(share, bool) or not isinstance(share, int) or share < 1):
        raise ValueError(f"share must be 'channel', 'layer' or a number of functions, got {share!r}")
    seen = set()
    for call in calls:
        if call.axis is None:
            raise ValueError(
                f"model: the channel axis of {place.path!r} cannot be determined from its input of shape "
                f"{tuple(call.input.shape)}: give share='layer'"
            )
        last = call.axis == call.input.dim() - 1
        seen.add((call.input.shape[call.axis], -1 if last else call.axis))
    if len(seen) > 1:
        widths = ", ".join(f"{width} along dim={dim}" for width, dim in sorted(seen))
        raise ValueError(
            f"model: {place.path!r} receives different numbers of channels, {widths}: give "
            "shared_modules='split', or share='layer'"
        )
    features, dim = seen.pop()
    if share != "channel" and features % share:
        raise ValueError(f"share={share} must divide the {features} channels of {place.path!r}")
    return features, {"dim": dim} | ({} if share == "channel" else {"groups": share})


def _function(place: Place) -> Any:
    """The name of the function that is replaced if it has one, else what computes it; checked."""
    original = place.original
    if not place.is_function and next(original.parameters(), None) is not None:
        raise ValueError(
            f"model: {place.path!r} ({type(original).__name__}) has parameters, so no fixed function "
            "describes it: leave its class out of activations"
        )
    values = values_of(original, [_PLACES], TorchSource(), place.path)
    halves = [values_of(original, [half], TorchSource(), place.path) for half in np.split(_PLACES[:162], 2)]
    if not np.allclose(values[:162], np.concatenate(halves), rtol=1e-9, atol=1e-9):
        raise ValueError(
            f"model: {place.path!r} ({place.kind.__name__}) is not a function of single values, so no "
            "activation of single values can replace it"
        )
    for name in FUNCTIONS:
        if np.abs(values - values_of(name, [_PLACES], TorchSource(), name)).max() < 1e-9:
            return name
    return original


def _start(factory: Factory, target: Any, start: Start, place: Place) -> tuple[dict[str, Any], str]:
    """Options that let a module start as a function."""
    given: dict[str, Any] = {}
    kind: Any = factory
    while isinstance(kind, functools.partial):
        given, kind = {**kind.keywords, **given}, kind.func
    if not (isinstance(kind, type) and issubclass(kind, KernelActivation)):
        parameter = inspect.signature(factory).parameters.get("init")
        follows = parameter is not None and isinstance(parameter.default, str) and "init" not in given
        return ({"init": target}, "ridge") if follows else ({}, "own")
    if "init" in given:
        return {}, "own"
    if start == "base" and given.get("base", target) == target:
        if not isinstance(target, str):
            raise ValueError(
                f"start='base' needs one of the functions {', '.join(FUNCTIONS)}, and {place.path!r} is "
                f"{place.original}: give start='ridge'"
            )
        return {"base": target}, "base"
    # On top of a base of the user's choice, coefficients make up the difference.
    return {"init": Ridge(target)}, "ridge"


class CallByCall(nn.ModuleList):
    """Several activations where one was called several times in a forward pass: each call has its own.

    Args:
        modules: in the order of the calls.
        caller: the module whose forward pass calls them.
    """

    def __init__(self, modules: list[nn.Module], caller: nn.Module) -> None:
        super().__init__(modules)
        self._calls = 0
        caller.register_forward_pre_hook(self._begin)
        caller.register_forward_hook(self._end)

    def forward(self, input: Tensor) -> Tensor:
        module = self[self._calls % len(self)]
        self._calls += 1
        output: Tensor = module(input)
        return output

    def _begin(self, caller: nn.Module, args: Any) -> None:
        self._calls = 0  # also after a forward pass that an error ended

    def _end(self, caller: nn.Module, args: Any, output: Any) -> None:
        if self._calls != len(self):
            raise RuntimeError(
                f"{type(caller).__name__} called one activation {self._calls} times in a forward pass, but "
                f"{len(self)} times when it was converted, and each call has its own function: convert the "
                f"model with shared_modules='keep'"
            )

    def detach_from(self, caller: nn.Module) -> None:
        """Leave the caller as it was."""
        for hooks in (caller._forward_pre_hooks, caller._forward_hooks):
            for key, hook in list(hooks.items()):
                if getattr(hook, "__self__", None) is self:
                    del hooks[key]
