"""Training on rows that have no validation part yet."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from kafnets.checks import is_number
from kafnets.data.scaling import RobustScaling, Scaling
from kafnets.data.splits import Part, Task, held_out_rows
from kafnets.train.evaluation import outputs_of, tensors
from kafnets.train.loop import Training, fit
from kafnets.train.processes import OneProcess
from kafnets.train.progress import FitProgress
from kafnets.train.settings import Settings
from kafnets.train.temperature import temperature_of

LEAST_HELD_OUT = 10
"""Fewer rows are too few to choose an epoch."""

Rows = NDArray[np.int64]


def division_of(
    target: NDArray[np.int64] | NDArray[np.float32],
    task: Task,
    validation_fraction: float | None,
    seed: int,
    *,
    early_stopping: bool,
) -> tuple[Rows, Rows]:
    """Numbers of rows to learn from, and of rows to hold out: none, if the share is None or of too few rows.

    Args:
        target: of all rows.
        task: what it is.
        validation_fraction: the share to hold out.
        seed: of the division.
        early_stopping: whether there must be rows to stop by, that differ; if there are none it is an error.
    """
    everything, share = np.arange(len(target)), validation_fraction
    if share is None and not early_stopping:
        return everything, everything[:0]
    if not (is_number(share) and 0 < share < 1):
        raise ValueError(f"validation_fraction must be between 0 and 1, got {share!r}")
    rows, held_out = held_out_rows(target, task, share, np.random.default_rng(seed))
    if early_stopping and (len(held_out) < 2 or len(np.unique(target[held_out], axis=0)) < 2):
        raise ValueError(
            f"validation_fraction={share} of {len(target)} rows is too little to decide when to stop, "
            f"since it leaves one class or value: give more rows, or early_stopping=False"
        )
    if not early_stopping and len(held_out) < LEAST_HELD_OUT:
        return everything, everything[:0]
    return rows, held_out


def fit_rows(
    model: nn.Module,
    features: NDArray[np.float64],
    target: NDArray[np.int64] | NDArray[np.float32],
    division: tuple[Rows, Rows],
    settings: Settings,
    *,
    task: Task,
    classes: int | None = None,
    weight: NDArray[np.float32] | None = None,
    scaling: Scaling | None = None,
    refit: bool = True,
    calibrate: bool = False,
    seed: int = 0,
    progress: FitProgress | None = None,
    called: str = "training",
) -> tuple[Training, Scaling]:
    """Find the best epoch by rows that are held out; then train again on all rows, for as many epochs.

    The second training begins with the same weights; the log is that of the first training.

    Args:
        model: as for :func:`kafnets.train.fit`.
        features: of all rows, not scaled.
        target: of all rows.
        division: numbers of rows to learn from, and of rows to validate by, if any; else to the last epoch.
        settings: how.
        task: what it is.
        classes: how many.
        weight: of all rows, 1 on average; None: all the same.
        scaling: of features; by default, robustly by the rows that are learned from.
        refit: whether to train again; if not, the best weights of the first training are kept.
        calibrate: find the temperature of probabilities by the rows that the first training held out.
        seed: of all that is random.
        progress: shows both trainings.
        called: what is shown of the first one.

    Returns what came of it, and the scaling of the rows that made the weights.
    """

    def run(model: nn.Module, division: tuple[Rows, Rows], settings: Settings, what: str) -> Any:
        learned = scaling or RobustScaling.of(features[division[0]])
        train, validation = (
            Part(learned.apply(features[own]), target[own], weight if weight is None else weight[own])
            for own in division
        )
        options: dict[str, Any] = {"validation": validation, "task": task, "classes": classes, "seed": seed}
        options["progress"] = progress and progress(what, settings.epochs)
        return fit(model, train, settings, **options), learned, validation

    again = refit and len(division[1]) > 0
    found, learned, held_out = run(copy.deepcopy(model) if again else model, division, settings, called)
    if calibrate:
        found.temperature = temperature_by(found.model, held_out, task)
    if again:
        settings = replace(settings, epochs=max(1, found.best_epoch))
        everything = np.sort(np.concatenate(division)), division[1][:0]
        _, learned, _ = run(model, everything, settings, "training on all rows")
        found.model = model
    return found, learned


def temperature_by(model: nn.Module, held_out: Part, task: Task) -> float:
    """That of a network's probabilities, by rows that it did not learn from."""
    x, y, weight = tensors(held_out, next(model.parameters()).device)
    return temperature_of(task, outputs_of(model, x, OneProcess(x.device)), y, weight)
