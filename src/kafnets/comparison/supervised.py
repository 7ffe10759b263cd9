"""Training a network in its run folder."""

from typing import Any

import numpy as np
import torch
from torch import nn

from kafnets.data.splits import Splits
from kafnets.inspection.curves import Columns
from kafnets.inspection.snapshots import Snapshots
from kafnets.provenance import provenance
from kafnets.train import fit
from kafnets.train.loop import Progress, State
from kafnets.train.processes import Processes
from kafnets.train.runs import RunFolder
from kafnets.train.settings import Settings
from kafnets.train.tensorboard import listening


def train(
    model: nn.Module,
    splits: Splits,
    settings: Settings,
    seed: int,
    folder: RunFolder,
    processes: Processes,
    progress: Progress | None,
    tensorboard: bool,
) -> None:
    """To the end, from where the folder's checkpoint left off; results are kept by the first process."""
    features = torch.from_numpy(splits.test.features)
    resumed = processes.broadcast(checkpoint_of(folder, splits) if processes.global_rank == 0 else None)
    snapshots = Snapshots(seed == 0, Columns.of(splits))
    if resumed is None:
        snapshots.take(model, features, "start")
    else:
        snapshots.restore(resumed.pop("snapshots"))

    def save(state: State) -> None:
        snapshots.after_epoch(len(state["log"]), model, features.to(processes.device))
        folder.save_checkpoint(state | {"snapshots": snapshots.state(), "sha256": splits.digest})

    with listening(progress, folder.path, tensorboard=tensorboard) as told:
        trained = fit(
            model, splits, settings, seed=seed, fabric=processes, resume=resumed, save=save, progress=told
        )
    if processes.global_rank > 0:
        return
    model.cpu()
    snapshots.take(model, features, "end")
    report = about(splits) | {
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
    folder.finish(report, model.state_dict(), snapshots.arrays)


def checkpoint_of(folder: RunFolder, splits: Splits) -> dict[str, Any] | None:
    """What the folder was left with, if anything; an error if the data have changed since."""
    found = folder.load_checkpoint()
    if found is not None and found.pop("sha256", splits.digest) != splits.digest:
        raise ValueError(f"{folder.path} holds a run that began on other data: delete it, and run it again")
    return found


def about(splits: Splits) -> dict[str, Any]:
    """What a report tells of the data."""
    rarest = (
        {"rarest": int(np.bincount(splits.test.target, minlength=2).min())} if splits.task == "binary" else {}
    )
    return {
        "data": {
            "name": splits.name,
            "sha256": splits.digest,
            "notes": splits.notes,
            "task": splits.task,
            "classes": splits.classes,
        }
        | rarest,
        "rows": [len(part) for part in (splits.train, splits.validation, splits.test)],
    }
