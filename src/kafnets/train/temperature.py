"""Probabilities that mean what they say: one number by which a network's outputs are divided."""

import torch
from torch import Tensor

from kafnets.data.splits import Task
from kafnets.train import metrics

FARTHEST = 100.0
"""Temperatures are from 1 / this to this."""


def temperature_of(task: Task, outputs: Tensor, target: Tensor, weight: Tensor | None = None) -> float:
    """The temperature with the smallest cross-entropy on rows that were not used for training.

    The cross-entropy is convex in the inverse temperature, whose derivative is brought to 0 by bisection. As
    in Platt's method and Laplace's rule, one row of each class is added to those that there are, so that rows
    that are all predicted right do not make a network infinitely sure.

    Args:
        task: of classification.
        outputs: of the network.
        target: class numbers, or labels.
        weight: of rows.
    """
    outputs, classes = outputs.double(), outputs.shape[1] if task == "multiclass" else 2
    rows = len(target) if weight is None else weight.sum().item()
    smoothing = classes / (rows + classes)
    low, high = -1.0, 1.0  # logarithms to the base FARTHEST
    for _ in range(60):
        middle = (low + high) / 2
        inverse = torch.tensor(FARTHEST**middle, dtype=torch.float64, requires_grad=True)
        loss = metrics.loss(task, outputs * inverse, target, smoothing, weight)
        (slope,) = torch.autograd.grad(loss, inverse)
        low, high = (low, middle) if slope > 0 else (middle, high)
    return float(FARTHEST**-middle)
