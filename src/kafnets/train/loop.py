"""The one supervised loop.

All rows stay in memory. An epoch gathers them once in a new order and cuts that into batches: no sampler, no
collation, nothing a row.
"""

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from kafnets.data.splits import Part, Splits
from kafnets.nn.regularization import param_groups
from kafnets.train import metrics
from kafnets.train.settings import Settings

EVALUATION_ROWS = 4096

State = dict[str, Any]
Progress = Callable[[dict[str, Any]], None]
"""Called after each epoch with its row of the log."""


@dataclass
class Training:
    """What came of it. ``model`` holds the best weights."""

    model: nn.Module
    epochs: list[dict[str, Any]] = field(default_factory=list)
    best_epoch: int = 0
    seconds: float = 0.0
    test: dict[str, float] = field(default_factory=dict)
    validation: dict[str, float] = field(default_factory=dict)


def fit(
    model: nn.Module,
    splits: Splits,
    settings: Settings | None = None,
    *,
    seed: int = 0,
    resume: State | None = None,
    save: Callable[[State], None] | None = None,
    progress: Progress | None = None,
) -> Training:
    """Train until the validation score has not improved for a while, then take the best weights.

    Everything random (order of rows, dropout, noise) follows from ``seed``; torch's global generator is left
    as it was. Given the state that ``save`` was handed after some epoch, ``resume`` goes on from there, to
    the last bit as if nothing had happened.

    Args:
        model: anything from features to ``splits.outputs`` numbers a row.
        splits: the data.
        settings: how; the paper's if None.
        seed: of the order of rows, of dropout and of noise. Not of the model, which is given.
        resume: a state to go on from.
        save: is handed the state after each epoch.
        progress: is told about each epoch.
    """
    with torch.random.fork_rng(devices=[]):
        run = _Run(model, splits, settings or Settings(), seed)
        if resume is not None:
            run.restore(resume)
        while not run.finished:
            row = run.epoch()
            if save is not None:
                save(run.state())
            if progress is not None:
                progress(row)
        return run.result()


def evaluate(model: nn.Module, part: Part, task: str) -> dict[str, float]:
    """Scores on all rows, in evaluation mode."""
    return metrics.scores(task, *_outputs(model, _tensors(part)))  # type: ignore[arg-type]


class _Run:
    def __init__(self, model: nn.Module, splits: Splits, settings: Settings, seed: int) -> None:
        self.model, self.splits, self.settings = model, splits, settings
        self.train, self.validation = _tensors(splits.train), _tensors(splits.validation)
        groups = param_groups(model, weight_decay=settings.weight_decay)
        if settings.optimizer is None:
            self.optimizer: torch.optim.Optimizer = torch.optim.Adam(
                groups, lr=settings.learning_rate, fused=_can_be_fused(model)
            )
        else:
            self.optimizer = settings.optimizer(groups)
        self.schedule = None if settings.schedule is None else settings.schedule(self.optimizer)
        self.order = torch.Generator().manual_seed(seed)
        torch.manual_seed(seed)
        self.log: list[dict[str, Any]] = []
        self.best_score, self.best_epoch = -float("inf"), 0
        self.best = _copy_of(model)
        self.seconds = 0.0

    @property
    def finished(self) -> bool:
        waited = len(self.log) - self.best_epoch
        return len(self.log) >= self.settings.epochs or waited >= self.settings.patience

    def epoch(self) -> dict[str, Any]:
        began = time.perf_counter()
        mean_loss = self._pass_through_the_data()
        self.seconds += time.perf_counter() - began
        if self.schedule is not None:
            self.schedule.step()
        task = self.splits.task
        found = metrics.scores(task, *_outputs(self.model, self.validation))
        score = found[metrics.MAIN[task]]
        number = len(self.log) + 1
        if score > self.best_score:
            self.best_score, self.best_epoch, self.best = score, number, _copy_of(self.model)
        row = {"epoch": number, "train_loss": mean_loss}
        row |= {f"validation_{name}": value for name, value in found.items()}
        self.log.append(row)
        return row

    def _pass_through_the_data(self) -> float:
        self.model.train()
        features, target = self.train
        order = torch.randperm(len(target), generator=self.order)
        size = self.settings.batch_size
        total = torch.zeros((), dtype=torch.float64)
        for x, y in zip(features[order].split(size), target[order].split(size), strict=True):
            self.optimizer.zero_grad()
            loss = metrics.loss(self.splits.task, self.model(x), y)
            loss.backward()
            self.optimizer.step()
            total += loss.detach() * len(y)
        mean = (total / len(target)).item()
        if mean != mean:
            raise FloatingPointError(
                f"the loss became NaN in epoch {len(self.log) + 1}: try a smaller learning_rate, or another "
                "activation"
            )
        return mean

    def state(self) -> State:
        """Everything that the next epochs depend on: tensors, numbers and text only."""
        return {
            "model": _copy_of(self.model),
            "best": self.best,
            "optimizer": self.optimizer.state_dict(),
            "schedule": None if self.schedule is None else self.schedule.state_dict(),
            "order": self.order.get_state(),
            "noise": torch.get_rng_state(),
            "log": self.log,
            "best_score": self.best_score,
            "best_epoch": self.best_epoch,
            "seconds": self.seconds,
        }

    def restore(self, state: State) -> None:
        state = copy.deepcopy(state)
        self.model.load_state_dict(state["model"])
        self.best = state["best"]
        self.optimizer.load_state_dict(state["optimizer"])
        if self.schedule is not None:
            self.schedule.load_state_dict(state["schedule"])
        self.order.set_state(state["order"])
        torch.set_rng_state(state["noise"])
        self.log = state["log"]
        self.best_score, self.best_epoch = state["best_score"], state["best_epoch"]
        self.seconds = state["seconds"]

    def result(self) -> Training:
        self.model.load_state_dict(self.best)
        self.model.eval()
        task = self.splits.task
        return Training(
            self.model,
            self.log,
            self.best_epoch,
            self.seconds,
            test=evaluate(self.model, self.splits.test, task),
            validation=metrics.scores(task, *_outputs(self.model, self.validation)),
        )


def _tensors(part: Part) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(part.features), torch.from_numpy(part.target)


def _outputs(model: nn.Module, data: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    model.eval()
    features, target = data
    with torch.no_grad():
        return torch.cat([model(x) for x in features.split(EVALUATION_ROWS)]), target


def _copy_of(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def _can_be_fused(model: nn.Module) -> bool:
    """Whether torch's fused Adam takes these parameters: one pass through memory in place of ten."""
    return all(parameter.is_floating_point() and parameter.is_cpu for parameter in model.parameters())
