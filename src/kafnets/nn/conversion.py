"""What :func:`kafnets.convert` reports, and the module that it puts where one activation is called often."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from kafnets.nn.changes import in_words


@dataclass(frozen=True)
class LayerConversion:
    """What became of one activation.

    Attributes:
        name: of the new module within the model.
        before: what was there.
        after: what is there now.
        start: how the new module started: "base" and "ridge" as :func:`kafnets.convert` has them; "own" if
            it is of a kind that can follow no other function.
        rms_error: of its outputs for the example input, the root-mean-square difference from the outputs of
            what it replaces, in the model that was given. It includes what came from earlier layers.
        largest_error: the largest such difference.
    """

    name: str
    before: str
    after: str
    start: str
    rms_error: float
    largest_error: float

    def __str__(self) -> str:
        changed = in_words("outputs", self.rms_error, self.largest_error)
        return f"{self.name}: {self.before} became {self.after}; {changed}"


@dataclass(frozen=True)
class Conversion:
    """What became of a model's activations; print it.

    Attributes:
        layers: one report per new module.
        not_replaced: one line for each activation that was left as it was, with the reason.
        output_rms: the root-mean-square change of the model's outputs for the example input.
        output_largest: the largest change of one output.
    """

    layers: tuple[LayerConversion, ...]
    not_replaced: tuple[str, ...]
    output_rms: float
    output_largest: float

    def __str__(self) -> str:
        lines = [*map(str, self.layers), *(f"not replaced: {each}" for each in self.not_replaced)]
        return "\n".join([*lines, in_words("outputs", self.output_rms, self.output_largest)])


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
