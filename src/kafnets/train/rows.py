"""Training on rows that have no validation part yet."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from kafnets.data.scaling import RobustScaling, Scaling
from kafnets.data.splits import Part, Task, held_out_rows
from kafnets.train.loop import Progress, Training, fit
from kafnets.train.settings import Settings

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
    features: NDArray[np.float64],
    target: NDArray[np.int64] | NDArray[np.float32],
    division: tuple[Rows, Rows],
    settings: Settings,
    *,
    task: Task,
    classes: int | None = None,
    scaling: Scaling | None = None,
    refit: bool = True,
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[Training, Scaling]:
    """Find the best epoch by rows that are held out; then train again on all rows, for as many epochs.

    The second training begins with the same weights and lets all schedules end at its own last epoch. Its
    weights are those of the model in the end; the log is that of the first training, which has validation.

    Args:
        model: as for :func:`kafnets.train.fit`.
        features: of all rows, not scaled.
        target: of all rows.
        division: numbers of rows to learn from, and of rows to validate by. If there are none of these, the
            model is trained to the last epoch.
        settings: how.
        task: as for :func:`kafnets.train.fit`.
        classes: as for :func:`kafnets.train.fit`.
        scaling: of features; by default, robustly by the rows that are learned from.
        refit: whether to train again; if not, the best weights of the first training are kept.
        seed: as for :func:`kafnets.train.fit`.
        progress: is told about each epoch of the first training.

    Returns:
        What came of it, and the scaling of the rows that made the weights.
    """

    def run(
        model: nn.Module, rows: Rows, held_out: Rows, settings: Settings, progress: Progress | None
    ) -> tuple[Training, Scaling]:
        learned = scaling or RobustScaling.of(features[rows])
        train, validation = (Part(learned.apply(features[own]), target[own]) for own in (rows, held_out))
        options: dict[str, Any] = {"task": task, "classes": classes, "seed": seed, "progress": progress}
        return fit(model, train, settings, validation=validation, **options), learned

    rows, held_out = division
    again = refit and len(held_out) > 0
    found, learned = run(copy.deepcopy(model) if again else model, rows, held_out, settings, progress)
    if again:
        settings = replace(settings, epochs=max(1, found.best_epoch))
        _, learned = run(model, np.sort(np.concatenate(division)), held_out[:0], settings, None)
        found.model = model
    return found, learned
