"""Who hears of each epoch: the caller, and TensorBoard on request."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from kafnets.train.loop import Progress


@contextmanager
def listening(progress: Progress | None, run: Path, *, tensorboard: bool) -> Iterator[Progress]:
    """Passes each epoch's row on to ``progress``, and logs it below ``run`` if TensorBoard is wanted."""
    with epochs_logged(run) if tensorboard else nullcontext() as logged:

        def told(row: dict[str, Any]) -> None:
            for listener in (progress, logged):
                if listener is not None:
                    listener(row)

        yield told


@contextmanager
def epochs_logged(run: Path) -> Iterator[Progress]:
    """Writes every number of an epoch's row below ``run``, for ``tensorboard --logdir``.

    A resumed run appends to the existing log.
    """
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(run / "tensorboard")) as writer:

        def write(row: dict[str, Any]) -> None:
            for name, value in row.items():
                if name != "epoch":
                    writer.add_scalar(name, value, row["epoch"])
            writer.flush()

        yield write
