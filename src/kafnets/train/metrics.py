"""Scores of a network's outputs, the larger the better but for errors."""

import torch
from torch import Tensor
from torch.nn import functional

from kafnets.data.splits import Task

MAIN = {"binary": "auc", "multiclass": "accuracy", "regression": "r2", "control": "reward"}
"""What decides when to stop and which activation is best; larger is better for all of them."""

SCORES: dict[Task, tuple[str, ...]] = {
    "binary": ("auc", "accuracy"),
    "multiclass": ("accuracy",),
    "regression": ("r2",),
}
"""What may decide in place of it."""


def loss(task: Task, outputs: Tensor, target: Tensor, smoothing: float = 0.0) -> Tensor:
    """Cross-entropy, or the squared error.

    Args:
        task: what it is.
        outputs: of a network.
        target: classes by number, or numbers.
        smoothing: the share of each label that is spread evenly over all classes.
    """
    if task == "multiclass":
        return functional.cross_entropy(outputs, target, label_smoothing=smoothing)
    if task == "binary":
        wanted = target.to(outputs.dtype)
        if smoothing:
            wanted = wanted * (1 - smoothing) + smoothing / 2
        return functional.binary_cross_entropy_with_logits(outputs[:, 0], wanted)
    return functional.mse_loss(outputs[:, 0], target)


def scores(task: Task, outputs: Tensor, target: Tensor) -> dict[str, float]:
    """All that are usual for the task, on all rows of a part."""
    found = {"loss": loss(task, outputs, target).item()}
    if task == "regression":
        residual = (outputs[:, 0] - target).double()
        spread = (target - target.double().mean()).double()
        found["rmse"] = residual.square().mean().sqrt().item()
        found["r2"] = 1 - (residual.square().sum() / spread.square().sum()).item()
        return found
    predicted = outputs.argmax(1) if task == "multiclass" else (outputs[:, 0] > 0).long()
    found["accuracy"] = (predicted == target).double().mean().item()
    if task == "binary":
        shares = [(predicted == target)[target == label].double().mean().item() for label in (0, 1)]
        found["balanced_accuracy"] = sum(shares) / 2
        found["average_precision"] = average_precision(outputs[:, 0], target)
        found["auc"] = auc(outputs[:, 0], target)
    return found


def average_precision(scores: Tensor, target: Tensor) -> float:
    """The mean, over positive rows, of the share of positives among all rows that score as high.

    NaN without positive rows.
    """
    values, places = torch.unique(-scores.double(), return_inverse=True)
    rows = torch.bincount(places, minlength=len(values)).cumsum(0)
    positives = torch.bincount(places[target == 1], minlength=len(values))
    return (((positives * positives.cumsum(0)).double() / rows).sum() / positives.sum()).item()


def auc(scores: Tensor, target: Tensor) -> float:
    """The share of pairs of a positive and a negative row in the right order; equal scores count half."""
    _, places, counts = torch.unique(scores.double(), return_inverse=True, return_counts=True)
    ends = counts.cumsum(0).double()
    ranks = (ends - (counts - 1) / 2)[places]  # mean rank of equal scores, from 1
    positive = target == 1
    here, there = int(positive.sum()), int((~positive).sum())
    if here == 0 or there == 0:
        return float("nan")
    return ((ranks[positive].sum() - here * (here + 1) / 2) / (here * there)).item()
