"""How a network is trained. The defaults are the paper's."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import torch

FULL_PRECISION = "32-true"
OPTIMIZERS = {"Adam": torch.optim.Adam, "AdamW": torch.optim.AdamW}
SCHEDULES = ("cosine",)
REGULARIZATION_SCHEDULES = ("cosine", "flat_cosine")
KEEP = ("best", "last", "first")
PRECISIONS = (FULL_PRECISION, "bf16-mixed", "16-mixed")


@dataclass(frozen=True)
class Settings:
    """How a network is trained.

    Args:
        batch_size: rows a step; the last step of an epoch takes what is left. "auto" takes a 32nd of the
            rows, but from 32 to 256 of them.
        epochs: the most there may be.
        patience: stop after so many epochs in which the validation score has not improved. None: go on to the
            end.
        keep: the epoch whose weights are kept. "best": the one with the best validation score; of equal
            scores the one with the smallest validation loss, and if that is equal too, the last one. "last":
            the last one. "first": the first with the best score. None: "first" with ``patience``, "last"
            without.
        learning_rate: the optimizer's, at the start. "auto" grows with the root of the batch size, from 3e-3
            at 32 rows.
        weight_decay: of weights, and of activations' parameters that may decay; see
            ``kafnets.param_groups``. "auto", with AdamW, decays so that what no gradient holds shrinks to
            1/e in all epochs together, however many steps those are, but by no more than 1.
        optimizer: "Adam", where decay is an l2 term of the loss, as in the paper, and goes through Adam's
            scaling; "AdamW", where it does not; or what makes an optimizer from parameter groups.
        schedule: of the learning rate: None, "cosine" to let it fall to 0 along a cosine until the last epoch
            that there may be, or what makes a schedule from the optimizer. Stepped once an epoch.
        regularization_schedule: of weight decay and of dropout, wherever a network has that: None, if they
            stay; "cosine" to let both fall along a cosine, from the whole in the first epoch to 0 in the last
            that there may be; "flat_cosine" to let them stay for half of the epochs, and fall in the others.
        device: "cpu", "cuda", or "auto" for the latter where there is one.
        precision: "32-true", or automatic mixed precision: "bf16-mixed", and "16-mixed" on GPUs.
        compile: run the network through ``torch.compile``: slower to begin with, faster if trained for long.
    """

    batch_size: int | Literal["auto"] = 100
    epochs: int = 500
    patience: int | None = 15
    learning_rate: float | Literal["auto"] = 1e-3
    weight_decay: float | Literal["auto"] = 1e-4
    optimizer: Callable[[Iterable[dict[str, Any]]], torch.optim.Optimizer] | str = "Adam"
    schedule: Callable[[torch.optim.Optimizer], torch.optim.lr_scheduler.LRScheduler] | str | None = None
    keep: str | None = None
    regularization_schedule: str | None = None
    device: str = "auto"
    precision: str = FULL_PRECISION
    compile: bool = False

    def __post_init__(self) -> None:
        for name, other in (("batch_size", "auto"), ("epochs", None), ("patience", None)):
            value = getattr(self, name)
            if value == other and name != "epochs":
                continue
            if not isinstance(value, int) or value < 1:
                hint = "" if name == "epochs" else f", or {other!r}"
                raise ValueError(f"{name} must be a whole number from 1{hint}, got {value!r}")
        for name in ("learning_rate", "weight_decay"):
            value = getattr(self, name)
            if value != "auto" and (isinstance(value, str) or not value >= 0):
                raise ValueError(f"{name} must be a number from 0, or 'auto', got {value!r}")
        if self.weight_decay == "auto" and self.optimizer != "AdamW":
            raise ValueError("weight_decay='auto' needs optimizer='AdamW': give a number")
        for name, known in (("optimizer", OPTIMIZERS), ("schedule", SCHEDULES)):
            value = getattr(self, name)
            if (value is None and name == "optimizer") or (isinstance(value, str) and value not in known):
                raise ValueError(
                    f"{name} must be {' or '.join(map(repr, known))}, or a function, got {value!r}"
                )
        for name, choices in (("keep", KEEP), ("regularization_schedule", REGULARIZATION_SCHEDULES)):
            value = getattr(self, name)
            if value is not None and value not in choices:
                raise ValueError(f"{name} must be {', '.join(map(repr, choices))} or None, got {value!r}")
        try:
            torch.device("cpu" if self.device == "auto" else self.device)
        except (RuntimeError, TypeError):
            raise ValueError(f"device must be 'cpu', 'cuda' or 'auto', got {self.device!r}") from None
        if self.precision not in PRECISIONS:
            raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {self.precision!r}")

    def rows_a_step(self, rows: int) -> int:
        """The batch size for so many rows of training."""
        if self.batch_size == "auto":
            return min(256, max(32, rows // 32))
        return self.batch_size

    def rate(self, rows: int) -> float:
        """The first learning rate for so many rows of training."""
        if self.learning_rate == "auto":
            return 3e-3 * math.sqrt(self.rows_a_step(rows) / 32)
        return self.learning_rate

    def decay(self, rows: int) -> float:
        """The optimizer's weight decay for so many rows of training."""
        if self.weight_decay != "auto":
            return self.weight_decay
        steps = self.epochs * -(-rows // self.rows_a_step(rows))
        total = steps * self.rate(rows) * self._mean_share()
        return min(1.0, 1 / total) if total else 0.0

    def _mean_share(self) -> float:
        """Of the first learning rate times the first weight decay, over all epochs."""
        if self.schedule == "cosine":
            return {None: 1 / 2, "cosine": 3 / 8, "flat_cosine": 3 / 8 + 1 / (3 * math.pi)}[
                self.regularization_schedule
            ]
        return {None: 1.0, "cosine": 1 / 2, "flat_cosine": 3 / 4}[self.regularization_schedule]

    @property
    def kept(self) -> str:
        """Which epoch's weights are kept: "best", "last" or "first"."""
        return self.keep or ("last" if self.patience is None else "first")

    @property
    def named(self) -> bool:
        """Whether :meth:`describe` tells all of it: functions have a name, but may do something else."""
        return isinstance(self.optimizer, str) and isinstance(self.schedule, str | None)

    def describe(self) -> dict[str, Any]:
        """For a run's config: what was asked for, by value or by name.

        Settings that came later are told only if they are given: stored configs do not know of them.
        """
        later = {"keep": self.keep, "regularization_schedule": self.regularization_schedule}
        return {
            "batch_size": self.batch_size,
            "epochs": self.epochs,
            "patience": self.patience,
            "learning_rate": self.learning_rate,
            "weight_decay": self.weight_decay,
            "optimizer": _name_of(self.optimizer),
            "schedule": None if self.schedule is None else _name_of(self.schedule),
            "device": self.device,
            "precision": self.precision,
            "compile": self.compile,
        } | {name: value for name, value in later.items() if value is not None}


def _name_of(function: Callable[..., Any] | str) -> str:
    return function if isinstance(function, str) else getattr(function, "__qualname__", repr(function))
