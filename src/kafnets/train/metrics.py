"""Scores of a network's outputs, the larger the better but for errors."""

import torch
from torch import Tensor
from torch.nn import functional

from kafnets.data.splits import Task
from kafnets.train.losses import SQUARED_ERROR, Loss

MAIN = {
    "binary": "auc",
    "multiclass": "accuracy",
    "multilabel": "accuracy",
    "regression": "r2",
    "control": "reward",
}
"""What decides when to stop and which activation is best; larger is better for all of them."""

SCORES: dict[Task, tuple[str, ...]] = {
    "binary": ("auc", "accuracy", "loss"),
    "multiclass": ("accuracy", "loss"),
    "multilabel": ("accuracy", "loss"),
    "regression": ("r2", "loss"),
}
"""What may decide in place of it; of losses, the smaller is better."""


def loss(
    task: Task,
    outputs: Tensor,
    target: Tensor,
    smoothing: float = 0.0,
    weight: Tensor | None = None,
    numbers: Loss = SQUARED_ERROR,
) -> Tensor:
    """Cross-entropy, or the loss of numbers: the mean over rows, of which each may have a weight.

    Args:
        task: what it is.
        outputs: of a network, ``(rows, outputs)``; of several, ``(networks, rows, outputs)``, for the mean of
            their losses.
        target: classes by number, or numbers; for several labels or numbers ``(rows, outputs)``.
        smoothing: the share of each label that is spread evenly over all classes.
        weight: of rows; they are not divided by their sum, so that batches of heavy rows count more.
        numbers: the loss of regression.
    """
    if outputs.ndim == 3:
        networks, outputs = len(outputs), outputs.flatten(0, 1)
        target = torch.cat([target] * networks)
        weight = None if weight is None else weight.repeat(networks)
    reduction = "mean" if weight is None else "none"
    if task == "multiclass":
        found = functional.cross_entropy(outputs, target, label_smoothing=smoothing, reduction=reduction)
    else:
        outputs = _like(target, outputs)
        if task == "regression":
            found = numbers(outputs, target, reduction)
        else:
            wanted = target.to(outputs.dtype)
            if smoothing:
                wanted = wanted * (1 - smoothing) + smoothing / 2
            found = functional.binary_cross_entropy_with_logits(outputs, wanted, reduction=reduction)
    return found if weight is None else (found * _beside(weight, found)).mean()


def scores(
    task: Task,
    outputs: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    numbers: Loss = SQUARED_ERROR,
) -> dict[str, float]:
    """All that are usual for the task, on all rows of a part.

    Of several numbers per row, R² is the mean of theirs; of several labels, the accuracy is the share of rows
    in which all are right.
    """
    found = {"loss": loss(task, outputs, target, weight=weight, numbers=numbers).item()}
    if weight is not None:
        found["loss"] /= weight.double().mean().item()
    counts = _counts(target, weight)

    def total(values: Tensor) -> Tensor:
        return (values * _beside(counts, values)).sum(0)

    if task == "regression":
        residual = (numbers.predictions(_like(target, outputs)) - target).double()
        spread = target - total(target.double()) / counts.sum()
        squares = total(residual.square())
        found["rmse"] = (squares / counts.sum()).mean().sqrt().item()
        found["r2"] = (1 - squares / total(spread.square())).mean().item()
        return found
    predicted = outputs.argmax(1) if task == "multiclass" else (_like(target, outputs) > 0).long()
    right = (predicted == target).double()
    found["accuracy"] = (total(right if right.ndim == 1 else right.prod(1)) / counts.sum()).item()
    if task == "multilabel":
        found["label_accuracy"] = (total(right).mean() / counts.sum()).item()
    if task == "binary":
        own = [target == label for label in (0, 1)]
        shares = [((right * counts)[each].sum() / counts[each].sum()).item() for each in own]
        found["balanced_accuracy"] = sum(shares) / 2
        found["average_precision"] = average_precision(outputs[:, 0], target, counts)
        found["auc"] = auc(outputs[:, 0], target, counts)
    return found


def average_precision(scores: Tensor, target: Tensor, weight: Tensor | None = None) -> float:
    """The mean, over positive rows, of the share of positives among all rows that score as high.

    NaN without positive rows.
    """
    rows, positives = _by_score(-scores, target, weight)
    return ((positives * positives.cumsum(0) / rows.cumsum(0)).sum() / positives.sum()).item()


def auc(scores: Tensor, target: Tensor, weight: Tensor | None = None) -> float:
    """The share of pairs of a positive and a negative row in the right order; equal scores count half."""
    rows, positives = _by_score(scores, target, weight)
    negatives = rows - positives
    below = negatives.cumsum(0) - negatives / 2
    return ((positives * below).sum() / (positives.sum() * negatives.sum())).item()


def _by_score(scores: Tensor, target: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor]:
    """For each score, from the smallest: the weight of all rows, and of positive ones, that have it."""
    counts = _counts(target, weight)
    values, places = torch.unique(scores.double(), return_inverse=True)
    both = (counts, counts * (target == 1))
    rows, positives = (torch.bincount(places, each, minlength=len(values)) for each in both)
    return rows, positives


def _counts(target: Tensor, weight: Tensor | None) -> Tensor:
    return (torch.ones(len(target), device=target.device) if weight is None else weight).double()


def _like(target: Tensor, outputs: Tensor) -> Tensor:
    """Of one number per row, without the second axis."""
    return outputs[:, 0] if target.ndim == 1 else outputs


def _beside(weight: Tensor, values: Tensor) -> Tensor:
    return weight if values.ndim == 1 else weight[:, None]
