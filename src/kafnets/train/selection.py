"""Which epoch's weights are kept."""

import math
from typing import Any

from torch import Tensor, nn


class Selection:
    """The best epoch so far, with its weights, and the one of the last improvement.

    Args:
        keep: "best", "last" or "first", as in ``Settings``.
        model: with its initial weights.
    """

    def __init__(self, keep: str, model: nn.Module) -> None:
        self.keep = keep
        self.score, self.loss = -math.inf, math.inf
        self.epoch = self.improved = 0
        self.weights = copy_of(model)

    def consider(self, epoch: int, score: float, loss: float, model: nn.Module) -> None:
        """Take the weights after an epoch, numbered from 1, if its validation score and loss deserve it."""
        equal = score == self.score and self.keep == "best"  # ties are broken by the loss
        better = score > self.score or (equal and loss < self.loss)
        if better or self.keep == "last" or (equal and loss == self.loss):
            self.epoch, self.weights = epoch, copy_of(model)
        if better:
            self.score, self.loss, self.improved = score, loss, epoch

    def state(self) -> dict[str, Any]:
        """For a checkpoint."""
        return {
            "best": self.weights,
            "best_score": self.score,
            "best_loss": self.loss,
            "best_epoch": self.epoch,
            "improved_epoch": self.improved,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """From a checkpoint; earlier ones have neither losses nor epochs of improvement."""
        self.weights, self.score, self.epoch = state["best"], state["best_score"], state["best_epoch"]
        self.loss = state.get("best_loss", math.inf)
        self.improved = state.get("improved_epoch", self.epoch)


def copy_of(model: nn.Module) -> dict[str, Tensor]:
    """Its weights now."""
    return {name: value.detach().clone() for name, value in model.state_dict().items()}
