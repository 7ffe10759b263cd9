"""What changes a model between epochs: biases from data, dictionaries that move and grow.

What is done follows from the number of the epoch alone, so that a run that is resumed needs nothing else.
"""

import torch
from torch import Tensor, nn

from kafnets.nn.biases import initialize_biases
from kafnets.nn.calibrate import calibrate
from kafnets.nn.dictionary import DictionaryModule
from kafnets.nn.embedding import KAFEmbedding
from kafnets.nn.monitor import Monitor, monitor
from kafnets.nn.refine import refine
from kafnets.registry import Facts
from kafnets.train.settings import Settings

LOOKS = 50
"""Steps from one look of the monitor to the next; the first step of each epoch has one."""

ROWS = 4096
"""Training rows that biases and dictionaries are chosen by, at most."""


def check(model: nn.Module, settings: Settings, processes: int) -> None:
    """Raise if the settings ask for what this model cannot do, before anything is trained."""
    if settings.refine is None:
        return
    smallest = settings.refine[min(settings.refine)]
    for name, module in _refinable(model).items():
        if module.dictionary_size > smallest:
            raise ValueError(
                f"refine must begin with {module.dictionary_size} elements at least, which layer {name!r} "
                f"has, got {smallest}: build the model with a smaller dictionary_size"
            )
    if processes > 1:
        raise ValueError(f"refine works in one process only, since parameters change, got {processes}")


def before_epoch(
    model: nn.Module,
    settings: Settings,
    epoch: int,
    features: Tensor,
    optimizer: torch.optim.Optimizer,
    seed: int,
) -> None:
    """What the settings ask for after ``epoch`` epochs, and so before the next.

    Args:
        model: is changed.
        settings: with ``initialize_biases``, ``calibrate_after`` and ``refine``.
        epoch: how many have been.
        features: of all training rows.
        optimizer: its state of what changes is reset.
        seed: of the biases.
    """
    few = features[torch.linspace(0, len(features) - 1, min(len(features), ROWS)).long()]
    for module in model.modules():
        if isinstance(module, KAFEmbedding) and not module.learned:
            module.learn_quantiles(few)
    if epoch == 0 and settings.initialize_biases and _takes_biases(model):
        initialize_biases(model, few, generator=torch.Generator().manual_seed(seed))
    if not has_dictionaries(model):
        return
    if epoch == settings.calibrate_after:
        calibrate(model, few, optimizer=optimizer)
    if settings.refine is not None and epoch in settings.refine:
        for module in _refinable(model).values():
            refine(module, settings.refine[epoch], optimizer)


def watch(model: nn.Module, settings: Settings) -> Monitor | None:
    """A monitor, if the settings ask for one and there is something to watch."""
    return monitor(model, every=LOOKS) if settings.monitor and has_dictionaries(model) else None


def has_dictionaries(model: nn.Module) -> bool:
    """Whether it contains a KAF, KAF2D or EdgewiseKAF."""
    return any(isinstance(module, DictionaryModule) for module in model.modules())


def _refinable(model: nn.Module) -> dict[str, DictionaryModule]:
    """By name: all but the functions of single features, whose quantiles are as fine as their dictionary."""
    embedded = [module.functions for module in model.modules() if isinstance(module, KAFEmbedding)]
    return {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, DictionaryModule) and not any(module is each for each in embedded)
    }


def _takes_biases(model: nn.Module) -> bool:
    """Not if all its activations bring their linear maps."""
    facts = [each for module in model.modules() if isinstance(each := getattr(module, "facts", None), Facts)]
    return not facts or not all(each.owns_linear for each in facts)
