"""Biases from data: activations that lie where dictionaries are, from the first step on."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from kafnets.checks import check_integer
from kafnets.nn.shared_members import MemberLinear
from kafnets.registry import Facts

LINEAR = (nn.Linear, MemberLinear, nn.Conv1d, nn.Conv2d, nn.Conv3d)


def initialize_biases(
    model: nn.Module, inputs: Tensor, *, members: int = 8, generator: torch.Generator | None = None
) -> list[str]:
    """Draw biases from data, so that inputs of activations are centered near 0, within the dictionaries.

    Each bias becomes the negative of a random convex combination of the neuron's pre-activations on a few
    rows of ``inputs``, so that its input is 0 for some typical row, which differs between neurons. Layers are
    initialized in the order of a forward pass, each with the biases of those before it.

    This applies to each ``nn.Linear`` and ``nn.Conv1d`` to ``nn.Conv3d`` whose output goes directly into an
    activation of this package. Layers with other modules in between, such as a normalization, and layers
    without a bias are not changed. Dropout is off meanwhile; statistics of normalizations are not updated.

    >>> model = kafnets.mlp(4, (8, 8), 1, "kaf")
    >>> kafnets.initialize_biases(model, 5 + torch.randn(100, 4))
    ['0', '2']

    Args:
        model: any module that takes ``inputs``.
        inputs: some hundred rows of training data, as the model takes them.
        members: how many rows are mixed per neuron, positions of images counting as rows. With 1, each bias
            comes from one row; the more, the nearer is the mean of each pre-activation to 0.
        generator: source of the rows and their weights; torch's default one if None.

    Returns:
        The names of the layers whose biases were drawn.

    Raises:
        ValueError: if there is no data, or not a finite one, or no layer to initialize. The model then is as
            it was before.
    """
    _check(inputs, members)
    names = {module: name for name, module in model.named_modules()}
    kept = {module: module.bias.detach().clone() for module in names if _has_bias(module)}
    try:
        with torch.no_grad(), _quiet(model):
            pairs = _followed_by_activations(model, inputs)
            if not pairs:
                raise ValueError(
                    "model has no nn.Linear or convolution with a bias whose output goes directly into an "
                    "activation of this package, such as kafnets.KAF: nothing to initialize"
                )
            done = _draw(model, inputs, pairs, members, generator)
        for module in done:
            if not module.bias.isfinite().all():
                raise ValueError(
                    f"the pre-activations of layer {names[module]!r} are not finite for these inputs: check "
                    "its weights, and the scale of inputs"
                )
    except BaseException:
        with torch.no_grad():
            for module, bias in kept.items():
                module.bias.copy_(bias)
        raise
    return [names[module] for module in done]


def _check(inputs: object, members: int) -> None:
    check_integer("members", members)
    if not isinstance(inputs, Tensor):
        raise TypeError(f"inputs must be a tensor with rows of data, got {type(inputs).__name__}")
    if inputs.numel() == 0:
        raise ValueError(f"inputs must hold at least one row, got shape {tuple(inputs.shape)}")
    if not inputs.isfinite().all():
        count = int((~inputs.isfinite()).sum())
        raise ValueError(f"inputs must be finite, got {count} values that are NaN or infinite: fill them in")


def _has_bias(module: nn.Module) -> bool:
    return isinstance(module, LINEAR) and module.bias is not None


def _followed_by_activations(model: nn.Module, inputs: Tensor) -> set[nn.Module]:
    """Which layers' outputs are inputs of activations, from watching a forward pass."""
    # Outputs are kept, so that no two of them can have the same identity.
    made: dict[int, tuple[nn.Module, Tensor]] = {}
    found: set[nn.Module] = set()

    def note(module: nn.Module, _: Any, output: Tensor) -> None:
        made[id(output)] = module, output

    def match(_: nn.Module, given: tuple[Any, ...]) -> None:
        if given and id(given[0]) in made:
            found.add(made[id(given[0])][0])

    with ExitStack() as hooks:
        for module in model.modules():
            if _has_bias(module):
                hooks.callback(module.register_forward_hook(note).remove)
            elif isinstance(getattr(module, "facts", None), Facts):
                hooks.callback(module.register_forward_pre_hook(match).remove)
        model(inputs)
    return found


def _draw(
    model: nn.Module,
    inputs: Tensor,
    layers: set[nn.Module],
    members: int,
    generator: torch.Generator | None,
) -> list[Any]:
    """One more forward pass, in which each layer's bias is drawn when its first output is there."""
    done: list[Any] = []

    def draw(module: Any, _: Any, output: Tensor) -> Tensor | None:
        if module in done:
            return None
        done.append(module)
        dim = -1 if isinstance(module, nn.Linear | MemberLinear) else -module.weight.dim() + 1
        rows = output.movedim(dim, -1).flatten(0, -2) if output.dim() > 1 else output[None]
        mixed = _mixes(rows, members, generator)
        shift = -mixed  # of outputs that the old bias is part of
        module.bias.add_(shift.to(module.bias))
        shape = [1] * output.dim()
        shape[dim] = -1
        return output + shift.reshape(shape)

    with ExitStack() as hooks:
        for module in layers:
            hooks.callback(module.register_forward_hook(draw).remove)
        model(inputs)
    return done


def _mixes(rows: Tensor, members: int, generator: torch.Generator | None) -> Tensor:
    """A random convex mix of a few rows for each column, all mixes being equally likely."""
    device = rows.device if generator is None else generator.device
    shape = (members, rows.shape[1])
    chosen = torch.randint(len(rows), shape, generator=generator, device=device)
    weights = torch.empty(shape, device=device, dtype=torch.float64).exponential_(generator=generator)
    weights = (weights / weights.sum(dim=0)).to(rows)
    return (rows.gather(0, chosen.to(rows.device)) * weights).sum(dim=0)


@contextmanager
def _quiet(model: nn.Module) -> Iterator[None]:
    """Disable dropout and updates of buffers. Batch normalization keeps its mode."""
    modes = {module: module.training for module in model.modules()}
    buffers = {buffer: buffer.clone() for buffer in model.buffers()}
    try:
        for module in modes:
            if not isinstance(module, _BatchNorm):
                module.training = False
        yield
    finally:
        for module, training in modes.items():
            module.training = training
        for buffer, before in buffers.items():
            buffer.copy_(before)
