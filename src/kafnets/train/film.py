"""How activations move while they learn: their shapes at some moments of a run."""

import torch
from torch import Tensor, nn

from kafnets.train.shapes import Shapes, record


class Film:
    """Shapes at the start and the end; if ``whole``, after epochs 1, 2, 4, 8, ... as well.

    One whole film a setting is enough to look at, and thousands of them would fill a disk.
    """

    def __init__(self, whole: bool) -> None:
        self.whole = whole
        self.shapes: Shapes = {}

    def take(self, model: nn.Module, features: Tensor, moment: str) -> None:
        """Add what it looks like now."""
        self.shapes |= record(model, features, moment)

    def after_epoch(self, epoch: int, model: nn.Module, features: Tensor) -> None:
        """Add a picture if it is time for one."""
        if self.whole and epoch & (epoch - 1) == 0:
            self.take(model, features, f"epoch {epoch}")

    def state(self) -> dict[str, Tensor]:
        """For a checkpoint."""
        return {name: torch.from_numpy(values) for name, values in self.shapes.items()}

    def restore(self, state: dict[str, Tensor]) -> None:
        """From a checkpoint."""
        self.shapes = {name: values.numpy() for name, values in state.items()}
