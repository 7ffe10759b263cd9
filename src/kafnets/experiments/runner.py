"""Running descriptions, one after the other or side by side, each in its folder."""

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch

from kafnets.experiments.description import Description
from kafnets.provenance import provenance
from kafnets.train import fit
from kafnets.train.film import Film
from kafnets.train.loop import State
from kafnets.train.processes import Processes, processes_for
from kafnets.train.runs import RunFolder

Outcome = str
"""What became of a run: "trained", "found finished", or "busy elsewhere"."""


def execute(
    description: Description, output: Path, progress: Callable[[dict[str, Any]], None] | None = None
) -> Outcome:
    """Run one description, or go on with it, unless it is finished or another process is at it.

    Processes that ``torchrun`` has started run it together; the first of them keeps the folder.
    """
    processes = processes_for(description.settings)
    first = processes.global_rank == 0
    folder = RunFolder(output / description.folder)
    with folder.locked() if first else nullcontext(True) as free:
        if first and free:
            folder.begin(description.config())
        outcome = "busy elsewhere" if not free else "found finished" if folder.done else "trained"
        outcome = processes.broadcast(outcome)
        if outcome == "trained":
            _train(description, folder, processes, progress)
    return outcome


def _train(
    description: Description,
    folder: RunFolder,
    processes: Processes,
    progress: Callable[[dict[str, Any]], None] | None,
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

    trained = fit(
        model,
        splits,
        description.settings,
        seed=description.seed,
        fabric=processes,
        resume=resumed,
        save=save,
        progress=progress,
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


def execute_all(
    descriptions: Sequence[Description],
    output: Path,
    *,
    jobs: int = 1,
    told: Callable[[Description, Outcome], None] | None = None,
) -> None:
    """All of them, ``jobs`` at a time, the processor's cores divided between them.

    Interrupted, what is finished stays, and the same call goes on with the rest where it was.
    """
    if jobs == 1:
        for description in descriptions:
            outcome = execute(description, output)
            if told is not None:
                told(description, outcome)
        return
    threads = max(1, (os.cpu_count() or 1) // jobs)
    # Fresh processes: a fork of one with threads may hang.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, initializer=_use_threads, initargs=(threads,)) as pool:
        futures = {pool.submit(execute, each, output): each for each in descriptions}
        try:
            for future in as_completed(futures):
                outcome = future.result()
                if told is not None:
                    told(futures[future], outcome)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _use_threads(count: int) -> None:
    torch.set_num_threads(count)
