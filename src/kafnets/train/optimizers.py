"""The optimizer that settings name, over a model's parameters by kind."""

from typing import Any

import torch
from torch import Tensor, nn

from kafnets.nn.regularization import param_groups
from kafnets.train.settings import OPTIMIZERS, Settings


def optimizer_for(model: nn.Module, settings: Settings, rows: int) -> torch.optim.Optimizer:
    """With the decay and the learning rates that settings have for so many rows."""
    named = isinstance(settings.optimizer, str)
    groups = param_groups(
        model,
        weight_decay=settings.decay(rows),
        lr=(settings.rate(rows) or None) if named else None,
        activation_lr=settings.activation_lr,
    )
    if not isinstance(settings.optimizer, str):
        return settings.optimizer(groups)
    betas = {} if settings.betas is None else {"betas": settings.betas}
    return OPTIMIZERS[settings.optimizer](
        _merged(groups), lr=settings.rate(rows), fused=_can_be_fused(model), **betas
    )


def _merged(groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Groups that decay and learn alike made one: an optimizer takes its time for each."""
    merged: dict[tuple[Any, Any], dict[str, Any]] = {}
    for group in groups:
        same = merged.setdefault((group["weight_decay"], group.get("lr")), group | {"params": []})
        same["params"] += group["params"]
    return list(merged.values())


def _can_be_fused(model: nn.Module) -> bool:
    """Whether torch's fused Adam takes these parameters: one pass through memory in place of ten."""
    return all(
        parameter.is_floating_point() and parameter.device.type in ("cpu", "cuda")
        for parameter in model.parameters()
    )


class Steps:
    """An optimizer's steps. Those of fused Adam are made without torch's Python around them.

    That takes as long as the arithmetic of a small network: lists of parameters and moments are made anew in
    each step. Here the first step of an epoch is the optimizer's own, and makes its state; the others call
    the same kernel with the same tensors. So a state may change between epochs, and results do not differ.
    """

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self._optimizer = optimizer
        self._known = type(optimizer) in OPTIMIZERS.values()
        adam_w = type(optimizer) is torch.optim.AdamW
        self._kernel: Any = torch._fused_adamw_ if adam_w else torch._fused_adam_
        self.begin()

    def begin(self) -> None:
        """To be called before each epoch."""
        self._lists: list[_Lists] | None = None if self._known else []
        self._parameters = [each for group in self._optimizer.param_groups for each in group["params"]]

    def zero_grad(self) -> None:
        """No gradients."""
        if not self._known:
            self._optimizer.zero_grad()
            return
        for parameter in self._parameters:
            parameter.grad = None

    def step(self) -> None:
        """By the gradients that there are."""
        lists = self._lists
        if not lists or any(each.grad is None for each in self._parameters):
            self._optimizer.step()
            if lists is None:
                self._lists = _lists_of(self._optimizer)
            return
        with torch.no_grad():
            for group, first, second, numbers, count in lists:
                count.add_(1)
                self._kernel(
                    group["params"], [each.grad for each in group["params"]], first, second, [], numbers,
                    lr=group["lr"], beta1=group["betas"][0], beta2=group["betas"][1],
                    weight_decay=group["weight_decay"], eps=group["eps"], amsgrad=False, maximize=False,
                )  # fmt: skip


_Lists = tuple[dict[str, Any], list[Tensor], list[Tensor], list[Tensor], Tensor]
"""A parameter group, both moments and the numbers of steps by parameter, and the latter as one tensor."""


def _lists_of(optimizer: torch.optim.Optimizer) -> list[_Lists]:
    """What the fused kernel takes, by group; nothing, unless it takes all parameters, on the CPU."""
    found: list[_Lists] = []
    for group in optimizer.param_groups:
        states = [optimizer.state.get(each, {}) for each in group["params"]]
        alike = len({each.dtype for each in group["params"]}) == 1
        if not (group["fused"] and alike and all(states) and all(each.is_cpu for each in group["params"])):
            return []
        count = torch.stack([each["step"] for each in states])
        for state, number in zip(states, count.unbind(), strict=True):
            state["step"] = number  # a view: all are counted at once
        first, second, numbers = (
            [each[name] for each in states] for name in ("exp_avg", "exp_avg_sq", "step")
        )
        found.append((group, first, second, numbers, count))
    return found
