"""Several networks that learn from different rows, to be averaged."""

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from torch import nn

from kafnets.data.scaling import RobustScaling, Scaling
from kafnets.data.splits import Task
from kafnets.nn.averaged import Averaged
from kafnets.train.loop import Training
from kafnets.train.progress import FitProgress
from kafnets.train.rows import division_of, fit_rows
from kafnets.train.settings import Settings


def folds_of(target: NDArray[Any], count: int, seed: int) -> NDArray[np.int64]:
    """For each row, the number of the network that does not learn from it.

    Folds are of equal size, but for one row, and have like shares of each class, or small and large numbers.

    Args:
        target: of all rows.
        count: of networks.
        seed: which rows go together.
    """
    order = np.random.default_rng(seed).permutation(len(target))
    first = target[order] if target.ndim == 1 else target[order].sum(1)  # several labels or numbers
    folds = np.empty(len(target), dtype=np.int64)
    folds[order[np.argsort(first, kind="stable")]] = np.arange(len(target)) % count
    return folds


def fit_members(
    model: nn.Module,
    features: NDArray[np.float64],
    target: NDArray[np.int64] | NDArray[np.float32],
    settings: Settings,
    *,
    task: Task,
    validation_fraction: float | None,
    refit: bool = True,
    calibrate: bool | Literal["auto"] = False,
    scaling: Scaling | None = None,
    seed: int = 0,
    progress: FitProgress | None = None,
    **what: Any,
) -> tuple[Training, Scaling]:
    """Train one network, see :func:`fit_rows`, or each of several on all rows but a fold of its own.

    Its fold chooses a network's best epoch. All rows are learned from, by all networks but one, so that none
    has to be trained again.

    Args:
        model: a network, or several that are averaged; trained in place.
        features: of all rows, not scaled.
        target: of all rows.
        settings: how.
        task: as for :func:`fit_rows`, as are ``refit``, ``calibrate``, ``progress`` and ``what``.
        validation_fraction: the share of rows that one network holds out; None: all networks learn from all
            rows, to the last epoch.
        refit: of one network.
        calibrate: by rows that are held out; "auto": if there are any, and labels are smoothed.
        scaling: of features; by default, robustly by all rows.
        seed: of the folds, and of the order of rows.
        progress: shows all trainings.
        what: ``classes`` and ``weight``.

    Returns:
        What came of it, with the epochs of all networks, which have their "member"; and the scaling.
    """
    stops = settings.patience is not None
    division = division_of(target, task, validation_fraction, seed, early_stopping=stops)
    wanted = _is_asked_for(calibrate, settings.smoothing(task) > 0 and len(division[1]) > 0)
    if wanted and not len(division[1]):
        raise ValueError(
            f"calibrate_probabilities needs held-out rows, but validation_fraction={validation_fraction} of "
            f"{len(features)} rows leaves too few: give more rows"
        )
    what |= {"task": task, "calibrate": wanted, "progress": progress}
    data = features, target
    if not isinstance(model, Averaged):
        return fit_rows(model, *data, division, settings, scaling=scaling, refit=refit, seed=seed, **what)
    learned, count = scaling or RobustScaling.of(features), len(model.members)
    folds, trained = folds_of(target, count, seed), list[Training]()
    for number, network in enumerate(model.members):
        own = np.flatnonzero(folds != number), np.flatnonzero(folds == number)
        if not len(division[1]):  # none are held out, or they would be too few
            own = division
        what |= {"called": f"training network {number + 1} of {count}", "seed": seed + number}
        found, _ = fit_rows(network, *data, own, settings, scaling=learned, refit=False, **what)
        trained.append(found)
    return _together(model, trained), learned


def _is_asked_for(calibrate: Any, automatic: bool) -> bool:
    """Whether to calibrate, by what the user says."""
    if calibrate == "auto":
        return automatic
    if not isinstance(calibrate, bool | np.bool_):
        raise TypeError(f"calibrate_probabilities must be True, False or 'auto', got {calibrate!r}")
    return bool(calibrate)


def _together(model: nn.Module, trained: list[Training]) -> Training:
    """What came of all networks."""
    for number, each in enumerate(trained, 1):
        for row in each.epochs:
            row["member"] = number
    return Training(
        model,
        [row for each in trained for row in each.epochs],
        round(sum(each.best_epoch for each in trained) / len(trained)),
        sum(each.seconds for each in trained),
        temperature=math.prod(each.temperature for each in trained) ** (1 / len(trained)),
    )
