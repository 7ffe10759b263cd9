"""Predictors as one module, from rows of numbers to probabilities or numbers."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from kafnets.data.scaling import CLIPPED_AT, FARTHEST


class ScaledInputs(nn.Module):
    """A predictor's scaling, in float64: gaps to the median, then z = (x - shift) / spread.

    Attributes:
        clipped: whether z then becomes z / sqrt(1 + (z / 3)²).
    """

    median: Tensor
    shift: Tensor
    factor: Tensor

    def __init__(self, scaling: Any) -> None:
        super().__init__()
        self.clipped = scaling.kind == "robust"
        if self.clipped:
            shift, spread = scaling.median, scaling.spread
        else:
            shift, spread = (scaling.low + scaling.high) / 2, (scaling.high - scaling.low) / 2
        with np.errstate(divide="ignore"):
            factor = np.where(spread > 0, 1 / spread, 0.0)  # what was constant becomes 0
        for name, each in (("median", scaling.median), ("shift", shift), ("factor", factor)):
            self.register_buffer(name, torch.tensor(each, dtype=torch.float64))

    def forward(self, rows: Tensor) -> Tensor:
        """In float32."""
        filled = torch.where(rows.isnan(), self.median, rows)
        z = ((filled - self.shift) * self.factor).clamp(-FARTHEST, FARTHEST)
        if self.clipped:
            z = z / (1 + (z / CLIPPED_AT).square()).sqrt()
        return z.float()


class Answer(nn.Module):
    """A network's outputs as a predictor gives them: probabilities of classes or labels, or numbers."""

    def __init__(self, predictor: Any) -> None:
        super().__init__()
        self.task, self.temperature, self.loss = predictor.task, predictor.temperature, predictor.loss
        self.target_scale, self.target_range = predictor.target_scale, predictor.target_range

    def forward(self, outputs: Tensor) -> Tensor:
        """``(rows, classes)``, or ``(rows, numbers)``."""
        if self.task == "regression":
            outputs = self.loss.in_units(outputs, self.target_scale)
            if self.target_range is not None:
                outputs = self.loss.clamped(outputs, *torch.tensor(self.target_range, dtype=outputs.dtype))
            return self.loss.predictions(outputs)
        outputs = outputs / self.temperature
        if self.task == "multilabel":
            return outputs.sigmoid()
        if self.task == "binary":
            outputs = torch.cat([torch.zeros_like(outputs), outputs], 1)
        return outputs.softmax(1)


def prepared(predictor: Any, model: nn.Module) -> nn.Sequential:
    """Scaling, the network and what its outputs mean, for encoded rows ``(rows, features)`` in float64."""
    parts = model if isinstance(model, nn.Sequential) else [model]
    return nn.Sequential(ScaledInputs(predictor.scaling), *parts, Answer(predictor)).eval()


def columns_of(predictor: Any) -> list[dict[str, Any]]:
    """What rows consist of: names, and the categories of text. Dates are refused by name."""
    if predictor.encoding is None:
        return [{"name": name, "categories": None} for name in predictor.feature_names]
    for column in predictor.encoding.columns:
        if column.parts:
            raise ValueError(
                f"the column {column.name!r} holds dates, which cannot be exported: train on its "
                f"{', '.join(column.parts)} as columns of numbers"
            )
    return [{"name": each.name, "categories": each.categories} for each in predictor.encoding.columns]
