"""How the learning rate, weight decay and dropout change from epoch to epoch."""

import math

import torch
from torch import nn
from torch.nn.modules.dropout import _DropoutNd

from kafnets.train.settings import Settings


def learning_rates(
    settings: Settings, optimizer: torch.optim.Optimizer
) -> torch.optim.lr_scheduler.LRScheduler | None:
    """To be stepped after each epoch; None where the rate stays."""
    if settings.schedule is None or callable(settings.schedule):
        return None if settings.schedule is None else settings.schedule(optimizer)
    return torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=settings.epochs)


def share_left(schedule: str | None, epoch: int, epochs: int) -> float:
    """What is left of weight decay and dropout: all of it in the first epoch, nothing in the last.

    Args:
        schedule: as ``regularization_schedule`` of ``Settings``.
        epoch: its number, from 0.
        epochs: how many there may be.
    """
    if schedule is None or epoch == 0:
        return 1.0
    if epoch >= epochs - 1:
        return 0.0
    passed = epoch / (epochs - 1)
    if schedule == "flat_cosine":
        passed = max(0.0, 2 * passed - 1)
    return (1 + math.cos(math.pi * passed)) / 2


class Regularization:
    """Sets an optimizer's weight decay and a network's dropout for each epoch.

    What it sets follows from the epoch's number alone, so that a run that is resumed needs nothing else.
    """

    def __init__(self, settings: Settings, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        self._schedule, self._epochs, self._optimizer = (
            settings.regularization_schedule,
            settings.epochs,
            optimizer,
        )
        # By number: an optimizer that is restored makes new groups.
        self._decays = [group.get("weight_decay") for group in optimizer.param_groups]
        self._dropouts = [(each, each.p) for each in model.modules() if isinstance(each, _DropoutNd)]

    def begin(self, epoch: int) -> None:
        """As the schedule has it for an epoch, counted from 0."""
        self._set(share_left(self._schedule, epoch, self._epochs))

    def end(self) -> None:
        """As it was before all epochs."""
        self._set(1.0)

    def _set(self, share: float) -> None:
        if self._schedule is None:
            return
        for group, decay in zip(self._optimizer.param_groups, self._decays, strict=True):
            if decay is not None:
                group["weight_decay"] = share * decay
        for module, probability in self._dropouts:
            module.p = share * probability
