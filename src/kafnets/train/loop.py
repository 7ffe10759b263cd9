"""The supervised training loop.

All rows stay in memory. An epoch gathers them once in a new order and splits them into batches, without a
sampler, collation or work per row. Several processes share the rows of each batch, so that a step is the same
as in one process.
"""

import copy
import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from kafnets.data.splits import Part, Splits, Task, splits_of
from kafnets.train import adaptation, metrics
from kafnets.train.evaluation import outputs_of, tensors
from kafnets.train.optimizers import Steps, optimizer_for
from kafnets.train.processes import OneProcess, Processes, device_of, processes_for
from kafnets.train.schedules import LearningRates, Regularization
from kafnets.train.selection import Selection, copy_of
from kafnets.train.settings import Settings

State = dict[str, Any]
Progress = Callable[[dict[str, Any]], None]
"""Called after each epoch with its row of the log."""


@dataclass
class Training:
    """The result of :func:`fit`. ``model`` has the weights of the chosen epoch."""

    model: nn.Module
    epochs: list[dict[str, Any]] = field(default_factory=list)
    best_epoch: int = 0
    seconds: float = 0.0
    test: dict[str, float] = field(default_factory=dict)
    validation: dict[str, float] = field(default_factory=dict)
    temperature: float = 1.0


def fit(
    model: nn.Module,
    train: Splits | Part,
    settings: Settings | None = None,
    *,
    validation: Part | None = None,
    test: Part | None = None,
    task: Task | None = None,
    classes: int | None = None,
    seed: int = 0,
    fabric: Processes | None = None,
    resume: State | None = None,
    save: Callable[[State], None] | None = None,
    progress: Progress | None = None,
) -> Training:
    """Train a network, with early stopping and the choice of the best epoch as in ``settings``.

    All randomness (order of rows, dropout, noise) is determined by ``seed``; torch's global generator is not
    changed. With the state that ``save`` received after some epoch, ``resume`` continues from there, with
    bit-identical results.

    Args:
        model: a module from features to one number per row, or one per class if there are more than two.
        train: splits, with all parts and the task; or the training rows, with the next four arguments.
        settings: None: the paper's.
        validation: rows that determine which epoch's weights are kept, and when to stop. Without them, the
            weights of the last epoch are kept.
        test: rows for the final scores.
        task: default: "regression" for targets with fractions, else by the number of classes.
        classes: number of classes; default: from the largest one in ``train``.
        seed: of the order of rows, dropout and noise, not of the model's initial weights.
        fabric: a launched ``lightning_fabric.Fabric``. None: this process, or those that ``torchrun``
            started, as in the settings.
        resume: a state to continue from.
        save: called with the state after each epoch, in the first process only.
        progress: called after each epoch, in the first process only.
    """
    splits = train if isinstance(train, Splits) else splits_of(train, validation, test, task, classes)
    settings = settings or Settings()
    fabric = fabric or processes_for(settings)
    first = fabric.global_rank == 0
    with torch.random.fork_rng(devices=[fabric.device] if fabric.device.type == "cuda" else []):
        if resume is None:
            adaptation.check(model, settings, fabric.world_size)
        else:
            model.load_state_dict(resume["model"])  # which may bring other parameters for the optimizer
        run = _Run(model, splits, settings, seed, fabric)
        if resume is not None:
            run.restore(resume)
        try:
            while not run.finished:
                row = run.epoch()
                state = run.state() if save or fabric.world_size > 1 else {}  # to which all contribute
                if save is not None and first:
                    save(state)
                if progress is not None and first:
                    progress(row)
        finally:
            run.end()
        return run.result()


def stepper(
    model: nn.Module, splits: Splits, settings: Settings | None = None, *, batches: int = 10
) -> Callable[[], None]:
    """Trains for so many batches, always the same rows, each time it is called: to be timed."""
    settings = settings or Settings()
    settings = replace(settings, batch_size=settings.rows_a_step(len(splits.train)))
    few = replace(splits, train=splits.train[: batches * settings.rows_a_step(len(splits.train))])
    with torch.random.fork_rng(devices=[]):
        run = _Run(model, few, settings, 0, OneProcess(device_of(settings)))

    def steps() -> None:
        run.pass_through_the_data()

    return steps


class _Run:
    def __init__(
        self, model: nn.Module, splits: Splits, settings: Settings, seed: int, fabric: Processes
    ) -> None:
        self.model = model.to(fabric.device)
        self.splits, self.settings, self.fabric, self.seed = splits, settings, fabric, seed
        self.train, self.validation, self.test = (
            tensors(part, fabric.device) for part in (splits.train, splits.validation, splits.test)
        )
        rows = len(splits.train)
        self.optimizer = optimizer_for(model, settings, rows)
        epochs, steps = settings.epochs, -(-rows // settings.rows_a_step(rows))
        self.schedule = LearningRates(settings.schedule, epochs, self.optimizer, steps)
        decay = settings.regularization_schedule
        self.regularization = Regularization(decay, epochs, model, self.optimizer)
        # What steps are made with: the same parameters, seen through whatever compiles, shares or rounds.
        compiled: Any = torch.compile(model) if settings.compile else model
        self.stepped, stepper = fabric.setup(compiled, self.optimizer)
        self.steps = Steps(stepper)
        self.order = torch.Generator().manual_seed(seed)
        torch.manual_seed(seed + fabric.global_rank)
        self.validated = len(splits.validation) > 0
        self.kept = Selection(settings.kept if self.validated else "last", model)
        self.log, self.seconds = list[dict[str, Any]](), 0.0
        self.watch = adaptation.watch(model, settings)

    @property
    def finished(self) -> bool:
        patience = self.settings.patience if self.validated else None
        waited = len(self.log) - self.kept.improved
        return len(self.log) >= self.settings.epochs or (patience is not None and waited >= patience)

    def epoch(self) -> dict[str, Any]:
        self.regularization.begin(len(self.log))
        began = time.perf_counter()
        adaptation.before_epoch(
            self.model, self.settings, len(self.log), self.train[0], self.optimizer, self.seed
        )
        mean_loss = self.pass_through_the_data()
        self.seconds += time.perf_counter() - began
        if not math.isfinite(mean_loss):
            raise FloatingPointError(
                f"the loss became {mean_loss} in epoch {len(self.log) + 1}: try a smaller learning_rate, or "
                "another activation"
            )
        self.schedule.after_epoch()
        found = self._scores(self.validation)
        deciding = self.settings.deciding(self.splits.task)
        score, loss = found.get(deciding, math.nan), found.get("loss", math.nan)
        if math.isnan(score) or deciding == "loss":  # or one class only in this part, the same in all epochs
            score = -loss
        number = len(self.log) + 1
        self.kept.consider(number, score, loss, self.model)
        row = {"epoch": number, "train_loss": mean_loss}
        row |= {f"validation_{name}": value for name, value in found.items()}
        row |= {} if self.watch is None else self.watch.summary()
        self.log.append(row)
        return row

    def pass_through_the_data(self) -> float:
        self.stepped.train()
        self.steps.begin()
        features, target, weight = self.train
        order = torch.randperm(len(target), generator=self.order).to(target.device)
        size, task = self.settings.rows_a_step(len(target)), self.splits.task
        smoothing, numbers = self.settings.smoothing(task), self.settings.numbers
        losses: list[Tensor] = []
        rows: list[int] = []
        weights = itertools.repeat(None) if weight is None else weight[order].split(size)
        for x, y, w in zip(features[order].split(size), target[order].split(size), weights, strict=False):
            x, y, w, share = self._own_share(x, y, w)
            self.steps.zero_grad()
            outputs = self.stepped(x)
            if outputs.shape[-2:] != (len(y), self.splits.outputs):
                raise ValueError(
                    f"model must give the shape (rows, {self.splits.outputs}) for this {task} task, got "
                    f"{tuple(outputs.shape)} for {len(y)} rows"
                )
            loss = metrics.loss(task, outputs, y, smoothing, w, numbers)
            self.fabric.backward(loss if share == 1 else loss * share)
            self.steps.step()
            self.schedule.after_step()
            losses.append(loss.detach())
            rows.append(len(y) if share else 0)
        total = torch.stack(losses).double() @ torch.tensor(rows, dtype=torch.float64, device=target.device)
        if self.fabric.world_size > 1:
            total = self.fabric.all_gather(total).sum()
        return (total / len(target)).item()

    def _own_share(
        self, x: Tensor, y: Tensor, weight: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor | None, float]:
        """This process's rows of a batch, and what their mean counts in the mean of all processes.

        Gradients are averaged over processes, so unequal shares need weights; a process that is left
        without a row takes one all the same, at weight 0, since all have to make every step together.
        """
        processes, rank = self.fabric.world_size, self.fabric.global_rank
        if processes == 1:
            return x, y, weight, 1.0
        own = slice(rank, None, processes) if rank < len(y) else slice(1)
        share = len(y[own]) * processes / len(y) if rank < len(y) else 0.0
        return x[own], y[own], None if weight is None else weight[own], share

    def state(self) -> State:
        """Everything that the next epochs depend on: tensors, numbers and text only."""
        return {
            "model": copy_of(self.model),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state(),
            "order": self.order.get_state(),
            "noise": self._noise(),
            "log": self.log,
            "seconds": self.seconds,
        } | self.kept.state()

    def _noise(self) -> dict[str, Tensor]:
        """The state of every process's own generators, one row per process."""
        own = {"cpu": torch.get_rng_state()}
        if self.fabric.device.type == "cuda":
            own["cuda"] = torch.cuda.get_rng_state(self.fabric.device)
        return {kind: self._gathered(state) for kind, state in own.items()}

    def _gathered(self, state: Tensor) -> Tensor:
        return (
            state[None]
            if self.fabric.world_size == 1
            else self.fabric.all_gather(state.to(self.fabric.device)).cpu()
        )

    def restore(self, state: State) -> None:
        """Go on from a state that as many processes, on as such devices, have saved; the model has it."""
        state = copy.deepcopy(state)
        noise, rank = state["noise"], self.fabric.global_rank
        if len(noise["cpu"]) != self.fabric.world_size or ("cuda" in noise) != (
            self.fabric.device.type == "cuda"
        ):
            raise ValueError(
                f"the run was begun by {len(noise['cpu'])} processes on "
                f"{'GPUs' if 'cuda' in noise else 'CPUs'}: resume it with the same number, or start over"
            )
        self.kept.restore(state)
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.restore(state["schedule"])
        self.order.set_state(state["order"])
        # Cloned: torch reads a row of a table from the table's beginning.
        torch.set_rng_state(noise["cpu"][rank].clone())
        if "cuda" in noise:
            torch.cuda.set_rng_state(noise["cuda"][rank].clone(), self.fabric.device)
        self.log, self.seconds = state["log"], state["seconds"]

    def result(self) -> Training:
        self.model.load_state_dict(self.kept.weights)
        self.model.eval()
        return Training(
            self.model,
            self.log,
            self.kept.epoch,
            self.seconds,
            test=self._scores(self.test),
            validation=self._scores(self.validation),
        )

    def end(self) -> None:
        """Leave the model without schedules and hooks."""
        self.regularization.end()
        if self.watch is not None:
            self.watch.remove()

    def _scores(self, data: tuple[Tensor, Tensor, Tensor | None]) -> dict[str, float]:
        features, target, weight = data
        if len(target) == 0:
            return {}
        outputs, numbers = outputs_of(self.stepped, features, self.fabric), self.settings.numbers
        if self.settings.clamp_outputs and self.splits.task == "regression":
            outputs = numbers.clamped(outputs, self.train[1].amin(0), self.train[1].amax(0))
        return metrics.scores(self.splits.task, outputs, target, weight, numbers)
