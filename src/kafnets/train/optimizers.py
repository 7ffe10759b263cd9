"""The optimizer that settings name, over a model's parameters by kind."""

from typing import Any

import torch
from torch import nn

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
