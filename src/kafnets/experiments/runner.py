"""Running one description in its folder."""

from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any, Literal

import torch

from kafnets.experiments.description import Description
from kafnets.provenance import provenance
from kafnets.train import fit
from kafnets.train.film import Film
from kafnets.train.loop import Progress, State
from kafnets.train.processes import Processes, processes_for
from kafnets.train.runs import RunFolder
from kafnets.train.tensorboard import epochs_logged

Outcome = Literal["trained", "found finished", "busy elsewhere", "diverged"]
"""What became of a run."""


def execute(
    description: Description, output: Path, *, progress: Progress | None = None, tensorboard: bool = False
) -> Outcome:
    """Run one description, or go on with it, unless it is finished or another process is at it.

    Processes that ``torchrun`` has started run it together; the first of them keeps the folder.

    Args:
        description: of the run.
        output: the folder of results, below which the run has its own.
        progress: is told about each epoch.
        tensorboard: log each epoch for TensorBoard as well, in the run's folder.
    """
    processes = processes_for(description.settings)
    first = processes.global_rank == 0
    folder = RunFolder(output / description.folder)
    with folder.locked() if first else nullcontext(True) as free:
        if first and free:
            folder.begin(description.config())
        outcome: Outcome = "busy elsewhere" if not free else "found finished" if folder.done else "trained"
        outcome = processes.broadcast(outcome)
        if outcome == "trained":
            try:
                _train(description, folder, processes, progress, tensorboard)
            except FloatingPointError:
                outcome = "diverged"
        processes.barrier()  # or the first to leave takes the connection away from the others
    return outcome


def _train(
    description: Description,
    folder: RunFolder,
    processes: Processes,
    progress: Progress | None,
    tensorboard: bool,
) -> None:
    splits = description.load()
    model = description.build(splits)
    features = torch.from_numpy(splits.test.features)
    resumed = processes.broadcast(folder.load_checkpoint() if processes.global_rank == 0 else None)
    film = Film(description.seed == 0)
    if resumed is None:
        film.take(model, features, "start")
    else:
        film.restore(resumed.pop("film"))

    def save(state: State) -> None:
        film.after_epoch(len(state["log"]), model, features.to(processes.device))
        folder.save_checkpoint(state | {"film": film.state()})

    with ExitStack() as stack:
        logged = stack.enter_context(epochs_logged(folder.path)) if tensorboard else None

        def told(row: dict[str, Any]) -> None:
            for listener in (progress, logged):
                if listener is not None:
                    listener(row)

        trained = fit(
            model,
            splits,
            description.settings,
            seed=description.seed,
            fabric=processes,
            resume=resumed,
            save=save,
            progress=told,
        )
    if processes.global_rank > 0:
        return
    model.cpu()
    film.take(model, features, "end")
    report = {
        "data": {
            "name": splits.name,
            "sha256": splits.digest,
            "notes": splits.notes,
            "task": splits.task,
            "classes": splits.classes,
        },
        "rows": [len(part) for part in (splits.train, splits.validation, splits.test)],
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "trained_parameters": sum(each.numel() for each in model.parameters() if each.requires_grad),
        "test": trained.test,
        "validation": trained.validation,
        "best_epoch": trained.best_epoch,
        "seconds_of_training": trained.seconds,
        "epochs": trained.epochs,
        "processes": processes.world_size,
        "threads": torch.get_num_threads(),
        "provenance": provenance(),
    }
    folder.finish(report, model.state_dict(), film.shapes)
