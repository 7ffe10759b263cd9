"""How the learning rate, weight decay and dropout change from epoch to epoch."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.modules.dropout import _DropoutNd

Schedule = str | Callable[[torch.optim.Optimizer], torch.optim.lr_scheduler.LRScheduler] | None
"""A name, a function that makes one of torch's for an optimizer, or None for a constant learning rate."""


class LearningRates:
    """The learning rate of each step.

    Args:
        schedule: as ``schedule`` of ``Settings``.
        epochs: how many there may be.
        optimizer: whose learning rates it sets.
        steps: of an epoch.
    """

    def __init__(self, schedule: Schedule, epochs: int, optimizer: torch.optim.Optimizer, steps: int) -> None:
        schedules, self._by_step = torch.optim.lr_scheduler, schedule == "coslog4"
        self._schedule: torch.optim.lr_scheduler.LRScheduler | None = None
        total = epochs * steps
        if self._by_step:
            self._schedule = schedules.LambdaLR(optimizer, lambda step: coslog4((step + 0.5) / total))
        elif callable(schedule):
            self._schedule = schedule(optimizer)
        elif schedule is not None:
            self._schedule = schedules.CosineAnnealingLR(optimizer, T_max=epochs)

    def after_step(self) -> None:
        """To be called after each step."""
        if self._by_step and self._schedule is not None:
            self._schedule.step()

    def after_epoch(self) -> None:
        """To be called after each epoch."""
        if not self._by_step and self._schedule is not None:
            self._schedule.step()

    def state(self) -> dict[str, Any] | None:
        """For a checkpoint."""
        return None if self._schedule is None else self._schedule.state_dict()

    def restore(self, state: dict[str, Any] | None) -> None:
        """From a checkpoint."""
        if self._schedule is not None and state is not None:
            self._schedule.load_state_dict(state)


def coslog4(t: float) -> float:
    """Four cosines in log time: the share of the learning rate when the share t of all steps is done."""
    return (1 - math.cos(2 * math.pi * math.log2(1 + 15 * min(t, 1.0)))) / 2


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

    def __init__(
        self, schedule: str | None, epochs: int, model: nn.Module, optimizer: torch.optim.Optimizer
    ) -> None:
        self._schedule, self._epochs, self._optimizer = schedule, epochs, optimizer
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
