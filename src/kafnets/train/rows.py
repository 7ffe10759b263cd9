"""Training on rows that have no validation part yet."""

import copy
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from torch import nn

from kafnets.data.splits import Splits, Task, held_out_rows
from kafnets.train.loop import Progress, Training, fit
from kafnets.train.settings import Settings

FEW = 2
"""Rows that stand in for a part that decides nothing."""

LEAST_HELD_OUT = 10
"""By fewer rows, epochs are not told apart."""

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
    if share is None or not 0 < share < 1:
        raise ValueError(f"validation_fraction must be between 0 and 1, got {share!r}")
    rows, held_out = held_out_rows(target, task, share, np.random.default_rng(seed))
    if early_stopping and (len(held_out) < 2 or len(np.unique(target[held_out])) < 2):
        raise ValueError(
            f"validation_fraction={share} of {len(target)} rows is too little to decide when to stop, "
            "for it leaves one class or value: give more rows, or early_stopping=False"
        )
    if not early_stopping and len(held_out) < LEAST_HELD_OUT:
        return everything, everything[:0]
    return rows, held_out


def fit_rows(
    model: nn.Module,
    prepared: Callable[[Rows, Rows], Splits],
    rows: Rows,
    held_out: Rows,
    settings: Settings,
    *,
    refit: bool,
    seed: int,
    progress: Progress | None = None,
) -> tuple[Training, Splits]:
    """Find the best epoch by rows that are held out; then train again on all rows, for as many epochs.

    The second training begins with the same weights and lets all schedules end at its own last epoch. Its
    weights are those of the model in the end; the log is that of the first training, which has validation.

    Args:
        model: as for :func:`kafnets.train.fit`.
        prepared: makes splits from the numbers of rows to learn from and of rows to validate by.
        rows: to learn from.
        held_out: to validate by. If there are none, the model is trained to the last epoch, and that is kept.
        settings: how.
        refit: whether to train again; if not, the best weights of the first training are kept.
        seed: as for :func:`kafnets.train.fit`.
        progress: is told about each epoch of the first training.

    Returns:
        What came of it, and the splits of the training that made the weights.
    """
    to_the_end = replace(settings, patience=None, keep="last")
    if len(held_out) == 0:
        splits = prepared(rows, rows[:FEW])
        return fit(model, splits, to_the_end, seed=seed, progress=progress), splits
    splits = prepared(rows, held_out)
    searched = copy.deepcopy(model) if refit else model
    found = fit(searched, splits, settings, seed=seed, progress=progress)
    if refit:
        splits = prepared(np.sort(np.concatenate([rows, held_out])), held_out[:FEW])
        fit(model, splits, replace(to_the_end, epochs=max(1, found.best_epoch)), seed=seed)
        found.model = model
    return found, splits
