"""Training on rows that have no validation part yet."""

import copy
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from torch import nn

from kafnets.data.splits import Splits
from kafnets.train.loop import Progress, Training, fit
from kafnets.train.settings import Settings

FEW = 2
"""Rows that stand in for a part that decides nothing."""

Rows = NDArray[np.int64]


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
