"""Where a model has activations, and what they are given in one forward pass."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from kafnets.nn.channels import FUNCTIONAL, FUSED, ChannelAxes, tensors_in
from kafnets.nn.watch import evaluating


@dataclass
class Call:
    """One call of an activation."""

    number: int
    """In the order of all calls."""
    caller: nn.Module
    turn: int
    """How often the caller's present forward pass had called it before."""
    input: Tensor
    axis: int | None
    output: Tensor
    """In float64."""
    before: str


@dataclass
class Place:
    """An attribute of a module that is an activation."""

    parent: nn.Module
    name: str
    path: str
    original: Any
    kind: type[nn.Module]
    calls: list[Call] = field(default_factory=list)

    @property
    def is_function(self) -> bool:
        """Whether it is a function, not a module."""
        return not isinstance(self.original, nn.Module)

    def turns(self) -> list[list[Call]]:
        """Calls by their place in the caller's forward pass."""
        found = [
            [call for call in self.calls if call.turn == turn]
            for turn in range(1 + max(call.turn for call in self.calls))
        ]
        callers = {id(call.caller) for call in self.calls}
        if len(found) > 1 and (len(callers) > 1 or len({len(calls) for calls in found}) > 1):
            raise ValueError(
                f"model calls {self.path!r} from several places, or not always equally often, so its calls "
                f"cannot be distinguished: give shared_modules='keep', or trace=True"
            )
        return found


@dataclass
class Watched:
    """What was seen of a forward pass."""

    places: list[Place]
    not_replaced: list[str]
    outputs: list[Tensor]


class _Probe(nn.Module):
    """Does what an activation does, and notes it."""

    def __init__(self, place: Place, note: Callable[[Place, Tensor], Tensor]) -> None:
        super().__init__()
        self._place = (place,)  # whose modules are not to be parts of this one
        self._note = note

    def forward(self, input: Tensor) -> Tensor:
        return self._note(self._place[0], input)


def places_of(model: nn.Module, wanted: Mapping[type[nn.Module], Any]) -> list[Place]:
    """Every activation of the wanted kinds: registered modules, and functions that are attributes."""
    if _kind_of(model, wanted) is not None:
        raise ValueError(
            f"model is itself a {type(model).__name__}: put it into nn.Sequential with the layer before it"
        )
    places = []
    for path, parent in model.named_modules():
        for name, value in [*parent._modules.items(), *vars(parent).items()]:
            kind = _kind_of(value, wanted)
            if kind is not None:
                places.append(Place(parent, name, f"{path}.{name}".lstrip("."), value, kind))
    return places


def _kind_of(value: Any, wanted: Mapping[type[nn.Module], Any]) -> type[nn.Module] | None:
    if isinstance(value, nn.Module):
        kinds = [type(value), *(kind for kind in wanted if isinstance(value, kind))]
        return next((kind for kind in kinds if kind in wanted), None)
    kind = FUNCTIONAL.get(getattr(value, "__name__", ""))
    homes = (nn.functional, torch, Tensor)
    if kind not in wanted or not any(getattr(each, value.__name__, None) is value for each in homes):
        return None
    return kind


def watch(
    model: nn.Module,
    places: list[Place],
    wanted: Mapping[type[nn.Module], Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Watched:
    """Run a model with every activation replaced by something that watches it, and put them back."""
    names = {id(module): name for name, module in model.named_modules()}
    stack: list[nn.Module] = [model]
    passes: list[int] = [0]  # of every module on the stack, which of all passes this is
    turns: dict[tuple[int, int], int] = {}
    not_replaced: dict[str, None] = {}
    watching = count = 0

    def called(name: str) -> None:
        where = f"{names.get(id(stack[-1]), '') or '(model)'} ({type(stack[-1]).__name__})"
        if FUNCTIONAL.get(name) in wanted and not watching:
            kind = type(stack[-1])
            way = "which trace=True may replace"
            if not any(True for _ in stack[-1].children()):  # an activation, by the looks of it
                way = f"so give its class, {kind.__module__}.{kind.__name__}, in activations, or trace=True"
            not_replaced[f"{where} calls the function {name}, {way}"] = None
        if name in FUSED:
            not_replaced[f"{where} is a {FUSED[name]}, computed by {name}"] = None

    axes = ChannelAxes(called)

    def note(place: Place, input: Tensor) -> Tensor:
        nonlocal watching, count
        given, axis = input.detach().clone(), axes.of(input)
        watching += 1
        output: Tensor = place.original(input)
        watching -= 1
        axes.follow(input, output)
        key = (id(place), passes[-1])
        turns[key] = turns.get(key, -1) + 1
        before = place.original.__name__ if place.is_function else str(place.original)
        place.calls.append(
            Call(count, stack[-1], turns[key], given, axis, output.detach().double().clone(), before)
        )
        count += 1
        return output

    with ExitStack() as exits:
        for module in model.modules():
            exits.enter_context(_on_stack(module, stack, passes))
        exits.enter_context(_probing(places, note))
        exits.enter_context(evaluating(model))
        with axes:
            found = model(*args, **kwargs)
        outputs = [each.double() for each in tensors_in(found) if each.is_floating_point()]
    for place in places:
        if not place.calls:
            not_replaced[f"{place.path} ({place.kind.__name__}) was not run by example_input"] = None
    return Watched(places, list(not_replaced), outputs)


@contextmanager
def _on_stack(module: nn.Module, stack: list[nn.Module], passes: list[int]) -> Iterator[None]:
    """While a module runs, it is on top."""

    def enter(module: nn.Module, args: Any) -> None:
        stack.append(module)
        passes[0] += 1
        passes.append(passes[0])

    def leave(module: nn.Module, args: Any, output: Any) -> None:
        stack.pop()
        passes.pop()

    hooks = [module.register_forward_pre_hook(enter), module.register_forward_hook(leave)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@contextmanager
def _probing(places: list[Place], note: Callable[[Place, Tensor], Tensor]) -> Iterator[None]:
    try:
        for place in places:
            setattr(place.parent, place.name, _Probe(place, note))
        yield
    finally:
        for place in places:
            if place.is_function:
                delattr(place.parent, place.name)
            setattr(place.parent, place.name, place.original)
