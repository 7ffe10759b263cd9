"""How a network is trained. The defaults are the paper's."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any, Literal

import torch

from kafnets.checks import is_number
from kafnets.data.splits import Task
from kafnets.train.losses import SQUARED_ERROR, Loss
from kafnets.train.metrics import MAIN, SCORES
from kafnets.train.schedules import coslog4, share_left

FULL_PRECISION = "32-true"
OPTIMIZERS = {"Adam": torch.optim.Adam, "AdamW": torch.optim.AdamW}
SCHEDULES = ("cosine", "coslog4")
REGULARIZATION_SCHEDULES = ("cosine", "flat_cosine")
KEEP = ("best", "last", "first")
FIRST = (
    "batch_size",
    "epochs",
    "patience",
    "learning_rate",
    "weight_decay",
    "optimizer",
    "schedule",
    "device",
    "precision",
    "compile",
)
"""Settings that every stored config tells."""
SMOOTHING = 0.1
"""Of labels, where that is "auto" and the accuracy decides."""
PRECISIONS = (FULL_PRECISION, "bf16-mixed", "16-mixed")


@dataclass(frozen=True)
class Settings:
    """How a network is trained.

    Args:
        batch_size: batch size; the last batch of an epoch may be smaller. "auto": rows / 32, clipped to
            32-256.
        epochs: maximum number of epochs.
        patience: number of epochs without improvement of the validation score before stopping. None: no early
            stopping.
        keep: the epoch whose weights are kept. "best": the one with the best validation score; ties are
            broken by the smaller validation loss, then by the later epoch. "last": the last one. "first": the
            first with the best score. None: "first" with ``patience``, "last" without.
        metric: the validation score that determines the best epoch and when to stop: "accuracy" or "auc"
            for two classes, "loss" for all tasks. None: the AUC for two classes, the accuracy for more, R²
            for regression or, with another loss than the squared error, the loss.
        learning_rate: of the optimizer; with a ``schedule``, the maximum. "auto": 3e-3 for a batch size of
            32, growing with its square root.
        weight_decay: of weights, and of those parameters of activations to which weight decay applies; see
            ``kafnets.param_groups``. "auto", for AdamW: such that a parameter with zero gradient shrinks by a
            factor of e over all epochs, for any number of steps; at most 1.
        optimizer: "Adam", where weight decay is an l2 term of the loss, as in the paper, and is scaled by
            Adam; "AdamW", where it is not; or a function that creates an optimizer from parameter groups.
        schedule: of the learning rate: None for a constant one; "cosine" to decrease it to 0 along a cosine
            by the last epoch; "coslog4" for four cosine cycles from 0 to the full learning rate and back,
            each twice as long as the one before; or a function that creates a scheduler from the optimizer,
            which is stepped once per epoch.
        regularization_schedule: of weight decay and of dropout, where a network has it: None for constant
            ones; "cosine" to decrease both along a cosine, from their full value in the first epoch to 0 in
            the last of ``epochs``; "flat_cosine" to keep them for half of the epochs and decrease them
            afterward.
        betas: decay rates of Adam's moments. None: torch's, 0.9 and 0.999.
        activation_lr: factor on the learning rate for the parameters of activations, see
            ``kafnets.param_groups``.
        label_smoothing: the share of each label that is spread evenly over all classes. "auto": 0.1 if
            ``metric`` is the accuracy, for one label per row; otherwise 0.
        loss: of regression: "squared_error", "absolute_error", "quantile" or "poisson".
        quantile: the quantile to predict with the loss "quantile", between 0 and 1.
        clamp_outputs: for regression: clip predictions to the range of the training targets.
        initialize_biases: draw biases from training rows before the first epoch, by
            ``kafnets.initialize_biases``.
        calibrate_after: number of epochs after which the dictionaries of KAFs are moved to the range of their
            inputs, by ``kafnets.calibrate`` on up to 4096 training rows. Adam's moments of the coefficients
            that change are reset.
        refine: larger dictionaries in the course of training, by ``kafnets.refine``: ``{20: 40}`` raises the
            number of elements to 40 after 20 epochs. Adam's moments of the coefficients are reset.
        monitor: monitor KAFs by ``kafnets.monitor``: the log then has statistics of each layer, such as the
            share of inputs outside its dictionary, and a warning names layers with problems. These three have
            no effect on models without KAFs.
        device: "cpu", "cuda", or "auto" for "cuda" if available.
        precision: "32-true", or automatic mixed precision: "bf16-mixed", and "16-mixed" on GPUs.
        compile: run the network through ``torch.compile``: slower at first, faster in long runs.
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
    metric: str | None = None
    betas: tuple[float, float] | None = None
    activation_lr: float = 1.0
    label_smoothing: float | Literal["auto"] = 0.0
    loss: str = "squared_error"
    quantile: float | None = None
    clamp_outputs: bool = False
    initialize_biases: bool = False
    calibrate_after: int | None = None
    refine: Mapping[int, int] | None = None
    monitor: bool = False
    device: str = "auto"
    precision: str = FULL_PRECISION
    compile: bool = False

    def __post_init__(self) -> None:
        self._check_adaptations()
        for name, other in (
            ("batch_size", "auto"),
            ("epochs", None),
            ("patience", None),
            ("calibrate_after", None),
        ):
            value = getattr(self, name)
            if value == other and name != "epochs":
                continue
            if isinstance(value, Integral):  # NumPy's too, which JSON does not know
                object.__setattr__(self, name, value := int(value))
            if not isinstance(value, int) or value < 1:
                hint = "" if name == "epochs" else f", or {other!r}"
                raise ValueError(f"{name} must be an integer ≥ 1{hint}, got {value!r}")
        for name in ("learning_rate", "weight_decay"):
            value = getattr(self, name)
            if value != "auto" and not (is_number(value) and value >= 0):
                raise ValueError(f"{name} must be a number ≥ 0, or 'auto', got {value!r}")
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

    def _check_adaptations(self) -> None:
        _ = self.numbers  # which tells mistakes
        if not (is_number(self.activation_lr) and self.activation_lr > 0):
            raise ValueError(f"activation_lr must be a positive finite number, got {self.activation_lr!r}")
        for name in ("activation_lr", "betas"):
            if callable(self.optimizer) and getattr(self, name) != _DEFAULTS[name]:
                raise ValueError(f"{name} needs an optimizer by name, 'Adam' or 'AdamW', got a function")
        if self.betas is not None and not (
            len(self.betas) == 2 and all(0 <= each < 1 for each in self.betas)
        ):
            raise ValueError(f"betas must be two numbers from 0 to below 1, or None, got {self.betas!r}")
        if self.label_smoothing != "auto" and not (
            is_number(self.label_smoothing) and 0 <= self.label_smoothing < 1
        ):
            raise ValueError(
                f"label_smoothing must be from 0 to below 1, or 'auto', got {self.label_smoothing!r}"
            )
        if self.refine is None:
            return
        steps = sorted(self.refine.items()) if isinstance(self.refine, Mapping) else []
        sizes = [size for _, size in steps]
        whole = all(isinstance(each, int) and each >= 1 for step in steps for each in step)
        if not (steps and whole and sizes == sorted(set(sizes)) and sizes[0] >= 2):
            raise ValueError(
                "refine must give growing numbers of elements by epochs, such as {10: 20, 30: 40}, "
                f"got {self.refine!r}"
            )

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
        if self.schedule == "coslog4":
            places = [(number + 0.5) / 1000 for number in range(1000)]
            shares = (share_left(self.regularization_schedule, number, 1000) for number in range(1000))
            return math.fsum(coslog4(t) * share for t, share in zip(places, shares, strict=True)) / 1000
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

        Settings that came later are told only if they are not the default: stored configs do not know of
        them.
        """
        told: dict[str, Any] = {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if each.name in FIRST or getattr(self, each.name) != each.default
        }
        told |= {name: _name_of(told[name]) for name in ("optimizer", "schedule")}
        if self.betas is not None:
            told["betas"] = list(self.betas)
        if self.refine is not None:
            told["refine"] = {str(epoch): size for epoch, size in sorted(self.refine.items())}
        return told

    @property
    def numbers(self) -> Loss:
        """The loss of regression."""
        return Loss(self.loss, self.quantile)

    def deciding(self, task: Task) -> str:
        """The validation score that decides which epoch is best."""
        other = task == "regression" and self.numbers != SQUARED_ERROR
        metric = self.metric or ("loss" if other else MAIN[task])
        if metric not in SCORES[task]:
            raise ValueError(f"metric must be {' or '.join(SCORES[task])} for a {task} task, got {metric!r}")
        return metric

    def smoothing(self, task: Task) -> float:
        """Of labels, for a task."""
        if self.label_smoothing == "auto":
            return SMOOTHING if self.deciding(task) == "accuracy" and task != "multilabel" else 0.0
        return 0.0 if task == "regression" else self.label_smoothing


_DEFAULTS = {each.name: each.default for each in fields(Settings)}


def _name_of(function: Callable[..., Any] | str | None) -> str | None:
    return function if isinstance(function, str | None) else getattr(function, "__qualname__", repr(function))
