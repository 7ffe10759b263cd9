"""What regression may minimize."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

LOSSES: dict[str, Callable[..., Tensor]] = {
    "squared_error": functional.mse_loss,
    "absolute_error": functional.l1_loss,
    "quantile": functional.l1_loss,
    "poisson": functional.poisson_nll_loss,
}
"""By name."""


@dataclass(frozen=True)
class Loss:
    """Of numbers: which number it makes a network predict.

    Args:
        name: "squared_error" for the mean; "absolute_error" for the median; "quantile" for a quantile;
            "poisson" for the mean of counts, whose logarithm is what the network gives.
        quantile: which one, between 0 and 1; None for the others.
    """

    name: str = "squared_error"
    quantile: float | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and self.name in LOSSES):
            raise ValueError(f"loss must be {', '.join(map(repr, LOSSES))}, got {self.name!r}")
        if self.name == "quantile" and not (isinstance(self.quantile, float | int) and 0 < self.quantile < 1):
            raise ValueError(
                f"quantile must be between 0 and 1 for loss='quantile', such as 0.9, got {self.quantile!r}"
            )
        if self.name != "quantile" and self.quantile is not None:
            raise ValueError(f"quantile is for loss='quantile', got {self.quantile!r} and loss={self.name!r}")

    @property
    def logarithmic(self) -> bool:
        """Whether outputs are logarithms of predictions."""
        return self.name == "poisson"

    def __call__(self, outputs: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
        """The mean over all numbers, or, with the reduction "none", that of each."""
        if self.quantile is None:
            return LOSSES[self.name](outputs, target, reduction=reduction)
        error = target - outputs
        found = torch.maximum(self.quantile * error, (self.quantile - 1) * error)
        return found.mean() if reduction == "mean" else found

    def predictions(self, outputs: Tensor) -> Tensor:
        """Numbers, in the unit of the target."""
        return outputs.exp() if self.logarithmic else outputs

    def in_units(self, outputs: Tensor, scale: tuple[Any, Any]) -> Tensor:
        """Outputs for the target as it was before it was scaled by its mean and deviation."""
        mean, deviation = torch.tensor(scale, dtype=outputs.dtype)
        return outputs + deviation.log() if self.logarithmic else outputs * deviation + mean

    def clamped(self, outputs: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """So that predictions are within a range."""
        return outputs.clamp(low.log(), high.log()) if self.logarithmic else outputs.clamp(low, high)


SQUARED_ERROR = Loss()
