"""Probabilities that mean what they say: one number by which a network's outputs are divided."""

import math

import torch
from torch import Tensor

from kafnets.data.splits import Task
from kafnets.train import metrics

FARTHEST = 100.0
"""Temperatures are from 1 / this to this."""

SPREAD = 0.2
"""Standard deviation of the logarithm of the temperature, before any row is seen."""

SIGNIFICANT = 1.92
"""By how much the log-likelihood must grow: half the 5 % quantile of chi-squared, for one parameter."""


def temperature_of(task: Task, outputs: Tensor, target: Tensor, weight: Tensor | None = None) -> float:
    """The most likely temperature, by rows that were not used for training; 1 if it is hardly better than 1.

    The cross-entropy of all rows, plus a penalty for the distance of the temperature's logarithm from 0, is
    minimized by bisection of its derivative. The penalty is that of a normal distribution: it decides if rows
    are few, counts nothing if they are many, and keeps a network finite that predicts all of them right.

    A temperature that a likelihood-ratio test at the 5 % level cannot tell from 1 is not used, since the
    error of a temperature from few rows may be larger than what it mends.

    Args:
        task: of classification.
        outputs: of the network.
        target: class numbers, or labels.
        weight: of rows.
    """
    outputs = outputs.double()

    def entropy(sharpness: Tensor) -> Tensor:
        """Of all rows together, by the logarithm of the inverse temperature."""
        return target.numel() * metrics.loss(task, outputs * sharpness.exp(), target, weight=weight)

    high = math.log(FARTHEST)
    low, middle = -high, 0.0
    for _ in range(60):
        middle = (low + high) / 2
        sharpness = torch.tensor(middle, dtype=torch.float64, requires_grad=True)
        (slope,) = torch.autograd.grad(entropy(sharpness) + (sharpness / SPREAD).square() / 2, sharpness)
        low, high = (low, middle) if slope > 0 else (middle, high)
    before, after = (entropy(torch.tensor(each, dtype=torch.float64)) for each in (0.0, middle))
    return math.exp(-middle) if before - after > SIGNIFICANT else 1.0
