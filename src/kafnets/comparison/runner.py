"""Running one description in its folder."""

import warnings
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Literal, Protocol

from kafnets.comparison.record import Record
from kafnets.train.loop import Progress
from kafnets.train.processes import Processes
from kafnets.train.runs import RunFolder

Outcome = Literal["trained", "found finished", "busy elsewhere", "diverged", "killed"]
"""What became of a run."""


class Runnable(Protocol):
    """A run, described: of supervised learning or of reinforcement learning."""

    @property
    def label(self) -> str: ...
    @property
    def data(self) -> str: ...
    @property
    def hidden(self) -> tuple[int, ...]: ...
    @property
    def seed(self) -> int: ...
    @property
    def folder(self) -> Path: ...
    def config(self) -> dict[str, Any]: ...
    def processes(self) -> Processes: ...
    def train(
        self, folder: RunFolder, processes: Processes, progress: Progress | None, tensorboard: bool
    ) -> None: ...


def execute(
    description: Runnable, output: Path, *, progress: Progress | None = None, tensorboard: bool = False
) -> Outcome:
    """Run one description, or resume it, unless it is finished or another process runs it.

    Processes that ``torchrun`` has started run it together; the first of them keeps the folder.

    Args:
        description: of the run.
        output: the folder of results, below which the run has its own.
        progress: is told about each epoch.
        tensorboard: log each epoch for TensorBoard as well, in the run's folder.
    """
    processes = description.processes()
    first = processes.global_rank == 0
    folder = RunFolder(output / description.folder)
    with folder.locked() if first else nullcontext(True) as free:
        if first and free:
            folder.begin(description.config())
        outcome: Outcome = "busy elsewhere" if not free else "found finished" if folder.done else "trained"
        outcome = processes.broadcast(outcome)
        if outcome == "trained":
            try:
                description.train(folder, processes, progress, tensorboard)
            except FloatingPointError:
                outcome = "diverged"
        processes.barrier()  # or the first to leave takes the connection away from the others
    return outcome


def finished(descriptions: Iterable[Runnable], output: Path) -> list[Record]:
    """Records of those that are finished, in their order. A run with other settings is an error.

    One whose files do not describe a complete run is skipped, with a warning.

    Args:
        descriptions: of the runs.
        output: the folder of results.
    """
    found = []
    for each in descriptions:
        folder = RunFolder(output / each.folder)
        if folder.done:
            folder.refuse_other(each.config())
            try:
                found.append(Record.of(folder))
            except ValueError as error:
                warnings.warn(f"skipped: {error}", stacklevel=2)
    return found
