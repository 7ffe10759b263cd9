"""How a network is trained. The defaults are the paper's."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch

FULL_PRECISION = "32-true"
PRECISIONS = (FULL_PRECISION, "bf16-mixed", "16-mixed")


@dataclass(frozen=True)
class Settings:
    """How a network is trained.

    Args:
        batch_size: rows a step; the last step of an epoch takes what is left.
        epochs: the most there may be.
        patience: stop after so many epochs in which the validation score has not improved, and keep the best
            weights. None: go on to the end, and keep the last ones.
        learning_rate: Adam's.
        weight_decay: of weights, and of activations' parameters that may decay; see
            ``kafnets.param_groups``. As an l2 term of the loss, as in the paper: it goes through Adam's
            scaling.
        optimizer: makes an optimiser from parameter groups, in place of Adam.
        schedule: makes a learning-rate schedule from the optimiser, stepped once an epoch.
        device: "cpu", "cuda", or "auto" for the latter where there is one.
        precision: "32-true", or automatic mixed precision: "bf16-mixed", and "16-mixed" on GPUs.
        compile: run the network through ``torch.compile``: slower to begin with, faster if trained for long.
    """

    batch_size: int = 100
    epochs: int = 500
    patience: int | None = 15
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    optimizer: Callable[[Iterable[dict[str, Any]]], torch.optim.Optimizer] | None = None
    schedule: Callable[[torch.optim.Optimizer], torch.optim.lr_scheduler.LRScheduler] | None = None
    device: str = "auto"
    precision: str = FULL_PRECISION
    compile: bool = False

    def __post_init__(self) -> None:
        for name in ("batch_size", "epochs", "patience"):
            value = getattr(self, name)
            if name == "patience" and value is None:
                continue
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be a whole number from 1, got {value!r}")
        for name in ("learning_rate", "weight_decay"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must be a number from 0, got {getattr(self, name)!r}")
        if self.precision not in PRECISIONS:
            raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {self.precision!r}")

    def describe(self) -> dict[str, Any]:
        """For a run's config: what was asked for, by value or by name."""
        return {
            "batch_size": self.batch_size,
            "epochs": self.epochs,
            "patience": self.patience,
            "learning_rate": self.learning_rate,
            "weight_decay": self.weight_decay,
            "optimizer": "Adam" if self.optimizer is None else _name_of(self.optimizer),
            "schedule": None if self.schedule is None else _name_of(self.schedule),
            "device": self.device,
            "precision": self.precision,
            "compile": self.compile,
        }


def _name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", repr(function))
