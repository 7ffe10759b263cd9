"""Monitoring KAFs during training: inputs outside the dictionaries, and dead functions."""

import functools
import math
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import torch
from torch import Tensor, nn

from kafnets.checks import check_integer
from kafnets.nn.activation import Activation
from kafnets.nn.dictionary import DictionaryModule
from kafnets.packages import needed_by

SAMPLE = 4096
"""Values of a tensor that a look takes in, at most."""

FEWEST_ROWS = 8
"""Of a sample, if the tensor has as many: in wide layers, not all channels are looked at."""

DEAD = 0.02
"""A function whose outputs over the batch lie nearer to one another is dead."""

OUTSIDE_LIMIT, DEAD_LIMIT = 0.2, 0.5
"""Shares from which on a layer gets a warning."""

MEASURES = ("outside", "dead", "coefficients", "gradients")

Log = Callable[[str, float, int], Any]
"""Takes a name, a value and a step."""


class Monitor:
    """The result of :func:`monitor`: a handle, and a context manager that removes the monitor at its end.

    Attributes:
        rows: a dictionary per layer and record: ``step`` (forward passes in training mode, from 1), ``layer``
            (its name), ``outside`` (the share of inputs outside the dictionary), ``dead`` (the share of
            functions whose outputs are almost constant over the batch; None for a batch of one),
            ``coefficients`` (the norm of the mixing coefficients) and ``gradients`` (that of their
            gradients, None before the first backward pass).
    """

    def __init__(self, model: nn.Module, every: int, log: Log | None, gradients: bool) -> None:
        self.rows: list[dict[str, Any]] = []
        self.every, self.log, self.gradients = every, log, gradients
        self._active = True
        self._step = 0
        self._looks: dict[str, Any] = {}  # hooks of layers that are still to be looked at in this pass
        self._warned: set[tuple[str, str]] = set()
        self._waiting: list[Any] = []
        self._layers = {
            name or "model": module
            for name, module in model.named_modules()
            if isinstance(module, DictionaryModule)
        }
        if not self._layers:
            raise ValueError(
                "model has no KAF, KAF2D or EdgewiseKAF to monitor: give a model with one of them, such as "
                "kafnets.mlp(8, (32,), 1)"
            )
        self._handles = [model.register_forward_pre_hook(self._count)]

    def remove(self) -> None:
        """Stop monitoring. ``rows`` are kept."""
        self._active = False
        for handle in (*self._handles, *self._looks.values(), *self._waiting):
            handle.remove()
        self._handles, self._looks, self._waiting = [], {}, []

    def summary(self) -> dict[str, float]:
        """Statistics since the last call, one number per layer and measure, such as "1/outside".

        Shares and norms of gradients are means, norms of coefficients the most recent ones. Afterward
        ``rows`` are empty and steps are counted from 1 again, so that the next summary does not depend on
        this one.
        """
        found: dict[str, list[float]] = {}
        for row in self.rows:
            for name in MEASURES:
                if row[name] is not None:
                    found.setdefault(f"{row['layer']}/{name}", []).append(row[name])
        self.rows, self._step = [], 0
        return {
            name: values[-1] if name.endswith("/coefficients") else math.fsum(values) / len(values)
            for name, values in found.items()
        }

    def to_frame(self) -> Any:
        """``rows`` as a pandas data frame."""
        with needed_by("to_frame"):
            import pandas as pd
        return pd.DataFrame(self.rows, columns=["step", "layer", *MEASURES])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def __getstate__(self) -> dict[str, Any]:
        # Models are copied and stored with their hooks: those of a copy do nothing.
        return {"_active": False, "rows": [], "_handles": [], "_looks": {}, "_waiting": []}

    def _count(self, model: nn.Module, _: Any) -> None:
        if not self._active:
            return
        for name in [*self._looks]:  # which the last pass did not reach
            self._looks.pop(name).remove()
        if not model.training:
            return
        self._step += 1
        for handle in self._waiting:
            handle.remove()
        self._waiting.clear()
        if (self._step - 1) % self.every == 0:
            # Hooks only where they are needed: each would cost something at every pass.
            for name, module in self._layers.items():
                self._looks[name] = module.register_forward_hook(functools.partial(self._look, name))

    def _look(self, name: str, module: DictionaryModule, given: tuple[Any, ...], output: Any) -> None:
        if not self._active or name not in self._looks or torch.compiler.is_compiling():
            return
        self._looks.pop(name).remove()
        if not (isinstance(output, Tensor) and output.numel()):
            return
        with torch.no_grad():
            outside, dead, norm = _measured(module, given[0], output)
        row = {"step": self._step, "layer": name, "outside": outside, "dead": dead, "coefficients": norm}
        self.rows.append(row | {"gradients": None})
        self._report(self.rows[-1], "outside", "dead", "coefficients")
        self._warn(name, module, outside, dead)
        alpha = module._parameters.get("alpha")
        if self.gradients and alpha is not None and alpha.requires_grad and torch.is_grad_enabled():
            note = functools.partial(self._note_gradient, self.rows[-1])
            self._waiting.append(alpha.register_post_accumulate_grad_hook(note))

    def _note_gradient(self, row: dict[str, Any], alpha: Tensor) -> None:
        if self._active and alpha.grad is not None and row["gradients"] is None:
            row["gradients"] = torch.linalg.vector_norm(alpha.grad.detach()).item()
            self._report(row, "gradients")

    def _report(self, row: dict[str, Any], *names: str) -> None:
        for name in names if self.log is not None else ():
            if row[name] is not None:
                self.log(f"{row['layer']}/{name}", row[name], row["step"])  # type: ignore[misc]

    def _warn(self, name: str, module: DictionaryModule, outside: float, dead: float | None) -> None:
        values = module.expansion.dictionary.values
        if outside > OUTSIDE_LIMIT and (name, "outside") not in self._warned:
            self._warned.add((name, "outside"))
            _tell(
                f"{outside:.0%} of the inputs of layer {name!r} lie outside its dictionary, which extends "
                f"from {values[0]:g} to {values[-1]:g}, at step {self._step}",
                "normalize the inputs, or choose a larger boundary",
            )
        if dead is not None and dead > DEAD_LIMIT and (name, "dead") not in self._warned:
            self._warned.add((name, "dead"))
            _tell(
                f"{dead:.0%} of the functions of layer {name!r} hardly vary over the batch, at step "
                f"{self._step}",
                "normalize the inputs, or use a smaller learning rate",
            )


def monitor(model: nn.Module, *, every: int = 25, log: Log | None = None, gradients: bool = True) -> Monitor:
    """Monitor a model's KAFs during training.

    At every ``every``-th forward pass in training mode, it records, for each KAF, KAF2D and EdgewiseKAF, the
    share of inputs outside the dictionary, the share of dead functions, and the norms of coefficients
    and of their gradients. It uses samples of at most 4096 values and changes nothing: results are
    bit-identical. A layer with more than 20 % of inputs outside, or with most functions dead, is named
    in a warning, once::

        with kafnets.monitor(model) as watch:
            train(model)
        print(watch.to_frame().groupby("layer").last())

    Without ``with``, call ``remove()`` at the end. Copies of the model are not monitored, and neither are
    layers inside a graph of ``torch.compile``.

    >>> model = kafnets.mlp(4, (8,), 1, "kaf")
    >>> with kafnets.monitor(model, every=1) as watch:
    ...     model(torch.randn(10, 4)).sum().backward()
    >>> watch.rows[0]["step"], watch.rows[0]["layer"]
    (1, '1')

    Args:
        model: any module with KAFs in it. Its forward passes are counted; a wrapper such as
            ``DistributedDataParallel`` works as well as the module inside it.
        every: number of forward passes between two records, beginning with the first pass.
        log: called with a name such as "1/outside", a value and the step: ``SummaryWriter().add_scalar``.
        gradients: record norms of gradients, at the next backward pass.
    """
    check_integer("every", every)
    if log is not None and not callable(log):
        raise TypeError(f"log must be a function of a name, a value and a step, or None, got {log!r}")
    return Monitor(model, every, log, gradients)


def _tell(seen: str, remedy: str) -> None:
    warnings.warn(
        f'{seen}: {remedy}; tails="linear" or base="silu" extend functions there, and '
        "kafnets.calibrate or kafnets.initialize_biases align inputs and dictionaries",
        UserWarning,
        stacklevel=2,
    )


def _measured(module: DictionaryModule, given: Tensor, output: Tensor) -> tuple[float, float | None, float]:
    """The shares of inputs outside and of dead functions, and the norm of coefficients."""
    # As few operations as possible: small networks take a step in less than a millisecond.
    dim = module.dim if isinstance(module, Activation) else -1
    values = module.expansion.dictionary.values
    inputs, outputs = given[_views(given.shape, dim)], output[_views(output.shape, dim)]
    outside = torch.count_nonzero(inputs.clamp(values[0], values[-1]) != inputs)
    norm = torch.linalg.vector_norm(module.alpha)
    axes = _others(outputs.dim(), dim)
    dead = None
    if axes and outputs.numel() > outputs.shape[dim]:
        spread = outputs.amax(dim=axes) - outputs.amin(dim=axes)
        dead = torch.count_nonzero(spread < DEAD).item() / spread.numel()
    return outside.item() / inputs.numel(), dead, norm.item()


def _others(axes: int, dim: int) -> tuple[int, ...]:
    """All axes but that of the channels; none where there are too few axes for both."""
    return tuple(axis for axis in range(axes) if axis != dim % axes) if axes > 1 else ()


@functools.lru_cache(maxsize=256)
def _views(shape: tuple[int, ...], dim: int) -> tuple[slice, ...]:
    """Slices that pick at most SAMPLE values, evenly spread, from a tensor with channels along ``dim``."""
    sizes = list(shape)
    if others := _others(len(shape), dim):
        rows = math.prod(sizes[axis] for axis in others)
        sizes[dim] = min(sizes[dim], SAMPLE // min(rows, FEWEST_ROWS))
    while math.prod(sizes) > SAMPLE:
        longest = max(others or range(len(sizes)), key=sizes.__getitem__)
        sizes[longest] = (sizes[longest] + 1) // 2
    steps = [have // wanted for have, wanted in zip(shape, sizes, strict=True)]
    return tuple(
        slice((step - 1) // 2, (step - 1) // 2 + step * wanted, step)
        for step, wanted in zip(steps, sizes, strict=True)
    )
