"""Functions at some moments of a run."""

from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from kafnets.inspection.curves import Columns, as_arrays
from kafnets.inspection.recorder import recorded

FIRST = 12
"""Functions of each layer in a snapshot, but for the last one of a run that keeps all."""


class Snapshots:
    """The first functions at the start and the end.

    If ``whole``, after epochs 1, 2, 4, 8, ... as well, and all functions at the end. One whole record
    per setting is enough to look at, and thousands of them would fill a disk.
    """

    def __init__(self, whole: bool, columns: Columns | None = None) -> None:
        self.whole, self.columns = whole, columns
        self.arrays: dict[str, NDArray[Any]] = {}

    def take(self, model: nn.Module, features: Tensor, moment: str) -> None:
        """Add what it looks like now."""
        functions = None if self.whole and moment == "end" else FIRST
        with_influence = moment == "end"  # it takes time
        self.arrays |= as_arrays(recorded(model, features, moment, functions, self.columns, with_influence))

    def after_epoch(self, epoch: int, model: nn.Module, features: Tensor) -> None:
        """Add a snapshot if it is time for one."""
        if self.whole and epoch & (epoch - 1) == 0:
            self.take(model, features, f"epoch {epoch}")

    def state(self) -> dict[str, Tensor]:
        """For a checkpoint."""
        return {name: torch.from_numpy(values) for name, values in self.arrays.items()}

    def restore(self, state: dict[str, Tensor]) -> None:
        """From a checkpoint."""
        self.arrays = {name: values.numpy() for name, values in state.items()}
