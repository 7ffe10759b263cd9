"""Running descriptions, one after the other or side by side, each in its folder."""

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import torch

from kafnets.experiments.description import Description
from kafnets.provenance import provenance
from kafnets.train import fit
from kafnets.train.runs import RunFolder
from kafnets.train.shapes import record

Outcome = str
"""What became of a run: "trained", "found finished", or "busy elsewhere"."""


def execute(
    description: Description, output: Path, progress: Callable[[dict[str, Any]], None] | None = None
) -> Outcome:
    """Run one description, or go on with it, unless it is finished or another process is at it."""
    folder = RunFolder(output / description.folder)
    with folder.locked() as free:
        if not free:
            return "busy elsewhere"
        folder.begin(description.config())
        if folder.done:
            return "found finished"
        splits = description.load()
        model = description.build(splits)
        features = torch.from_numpy(splits.test.features)
        shapes = record(model, features, "start")
        trained = fit(
            model,
            splits,
            description.settings,
            seed=description.seed,
            resume=folder.load_checkpoint(),
            save=folder.save_checkpoint,
            progress=progress,
        )
        shapes |= record(model, features, "end")
        report = {
            "data": {
                "name": splits.name,
                "sha256": splits.digest,
                "notes": splits.notes,
                "task": splits.task,
            },
            "rows": [len(part) for part in (splits.train, splits.validation, splits.test)],
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "trained_parameters": sum(each.numel() for each in model.parameters() if each.requires_grad),
            "test": trained.test,
            "validation": trained.validation,
            "best_epoch": trained.best_epoch,
            "seconds_of_training": trained.seconds,
            "epochs": trained.epochs,
            "threads": torch.get_num_threads(),
            "provenance": provenance(),
        }
        folder.finish(report, model.state_dict(), shapes)
        return "trained"


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
