"""Epochs for TensorBoard, on request."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kafnets.train.loop import Progress


@contextmanager
def epochs_logged(run: Path) -> Iterator[Progress]:
    """Writes every number of an epoch's row below ``run``, for ``tensorboard --logdir``.

    A run that goes on appends to what is there.
    """
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(run / "tensorboard")) as writer:

        def write(row: dict[str, Any]) -> None:
            for name, value in row.items():
                if name != "epoch":
                    writer.add_scalar(name, value, row["epoch"])
            writer.flush()

        yield write
