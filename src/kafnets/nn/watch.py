"""Where the inputs of KAFs really lie: a model run on some data, in evaluation mode and without gradients."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from kafnets.nn.channels import tensors_in
from kafnets.nn.edgewise import EdgewiseKAF
from kafnets.nn.refit import KernelModule

AT_ONCE = 1024
"""Rows of a tensor that a model is given at once."""

KEPT = 2**20
"""Inputs that are kept of a layer, about. Of more than that, a random sample."""

FEWEST = 2**12
"""Rows of inputs that are kept however many channels there are."""

Batches = Tensor | NDArray[Any] | Iterable[Any]
"""A tensor or array of inputs; or an iterable of them, or of (inputs, targets)."""


class Sample:
    """Rows that pass by, or as many as are kept, chosen at random but the same at every run."""

    def __init__(self) -> None:
        # Not a seed that data may have been drawn with: what is kept would depend on its values.
        self._generator = torch.Generator().manual_seed(0x1CA11B)
        self._keys = torch.empty(0)
        self._rows: Tensor | None = None

    def add(self, rows: Tensor) -> None:
        """``(n, channels)``."""
        rows = rows.cpu().double()
        most = max(FEWEST, KEPT // max(1, rows.shape[1]))
        # Every row draws a number, and those with the smallest are kept.
        self._keys = torch.cat([self._keys, torch.rand(len(rows), generator=self._generator)])
        self._rows = rows if self._rows is None else torch.cat([self._rows, rows])
        if len(self._keys) > most:
            kept = self._keys.topk(most, largest=False).indices.sort().values
            self._keys, self._rows = self._keys[kept], self._rows[kept]

    @property
    def rows(self) -> Tensor:
        """In the order in which they came, float64 on the CPU: ``(n, channels)``; ``(0, 1)`` if none did."""
        return torch.empty(0, 1, dtype=torch.float64) if self._rows is None else self._rows


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients; afterwards every module is in the mode it was in."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        # Compiled models as they were written: hooks are not run, or only after compiling again.
        with torch.no_grad(), torch.compiler.set_stance("force_eager"):
            yield
    finally:
        for module, mode in modes:
            module.training = mode


def watched(
    model: nn.Module, inputs: list[Tensor], modules: dict[str, KernelModule]
) -> tuple[dict[str, Sample], list[Tensor]]:
    """Run a model: what each module was given, and the model's outputs."""
    samples = {name: Sample() for name in modules}
    with ExitStack() as hooks:
        for name, module in modules.items():
            hook = _keeping(name, samples[name])
            hooks.callback(module.register_forward_hook(hook, with_kwargs=True).remove)
        return samples, outputs_of(model, inputs)


def outputs_of(model: nn.Module, inputs: list[Tensor]) -> list[Tensor]:
    """Every floating-point tensor that a model gives, float64 on the CPU."""
    with evaluating(model):
        outputs = (each for batch in inputs for each in tensors_in(model(batch)))
        return [each.cpu().double() for each in outputs if each.is_floating_point()]


def _keeping(name: str, sample: Sample) -> Callable[..., None]:
    # After the forward pass, since that checks what it is given.
    def keep(module: KernelModule, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        rows = _rows(module, args[0] if args else kwargs["input"])
        if not rows.isfinite().all():
            raise ValueError(
                f"batches lead to NaN or infinite inputs of layer {name!r}: its range cannot be "
                "determined; look for them before that layer"
            )
        sample.add(rows)

    return keep


def _rows(module: KernelModule, input: Tensor) -> Tensor:
    """As ``(n, channels)``; of functions that any number of channels share, as ``(n, inputs)``."""
    if isinstance(module, EdgewiseKAF):
        return input.reshape(-1, module.in_features)
    if module.num_features > 1:
        return input.movedim(module.dim, -1).reshape(-1, module.num_features)
    if module.inputs == 1:
        return input.reshape(-1, 1)
    return input.movedim(module.dim, -1).reshape(-1, module.inputs)


def inputs_of(batches: Batches, model: nn.Module) -> list[Tensor]:
    """Inputs to run a model on, on its device, checked."""
    if isinstance(batches, str | bytes | Mapping) or not isinstance(batches, Iterable):
        raise TypeError(_wanted(batches))
    own = next((each for each in model.parameters() if each.is_floating_point()), torch.empty(0))
    if isinstance(batches, Tensor | np.ndarray):
        if not batches.ndim:
            raise ValueError("batches must have a first axis, over inputs, got a tensor without axes")
        found = list(_tensor(batches, own).split(AT_ONCE))
    else:
        firsts = (each[0] if isinstance(each, tuple | list) and each else each for each in batches)
        found = [_tensor(each, own) for each in firsts]
    found = [each for each in found if each.numel()]
    if not found:
        raise ValueError("batches must hold at least one input, got none: an iterator may have been used up")
    for number, each in enumerate(found):
        if each.is_floating_point() and not each.isfinite().all():
            bad = int((~each.isfinite()).sum())
            raise ValueError(
                f"batches must hold finite values, got {bad} that are NaN or infinite in batch {number}"
            )
    return found


def _tensor(given: Any, own: Tensor) -> Tensor:
    if isinstance(given, Tensor):
        return given.detach().to(own.device)
    if not isinstance(given, np.ndarray):
        raise TypeError(_wanted(given))
    tensor = torch.from_numpy(np.array(given))
    return tensor.to(own.device, own.dtype if tensor.is_floating_point() else tensor.dtype)


def _wanted(given: object) -> str:
    return (
        "batches must be a tensor or array of inputs, or an iterable of them or of (inputs, targets), "
        f"got {type(given).__name__}"
    )
