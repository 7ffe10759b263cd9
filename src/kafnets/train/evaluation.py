"""What a model gives for rows, and how good that is."""

import torch
from torch import Tensor, nn

from kafnets.data.splits import Part, Task
from kafnets.train import metrics
from kafnets.train.losses import SQUARED_ERROR, Loss
from kafnets.train.processes import OneProcess, Processes

EVALUATION_ROWS = 4096


def evaluate(model: nn.Module, part: Part, task: Task, numbers: Loss = SQUARED_ERROR) -> dict[str, float]:
    """Scores on all rows, in evaluation mode; ``numbers`` is the loss of regression."""
    like = next(model.parameters(), torch.zeros(()))
    features, target, weight = tensors(part, like.device)
    outputs = outputs_of(model, features, OneProcess(like.device))
    return metrics.scores(task, outputs, target, weight, numbers)


def tensors(part: Part, device: torch.device) -> tuple[Tensor, Tensor, Tensor | None]:
    """Features, target and weights of some rows, on a device."""
    weight = None if part.weight is None else torch.from_numpy(part.weight).to(device)
    return torch.from_numpy(part.features).to(device), torch.from_numpy(part.target).to(device), weight


def outputs_of(model: nn.Module, features: Tensor, fabric: Processes) -> Tensor:
    """Of all rows, each process having found those of its share."""
    model.eval()
    processes, rank = fabric.world_size, fabric.global_rank
    with torch.no_grad():
        if processes == 1:
            return torch.cat([model(x).float() for x in features.split(EVALUATION_ROWS)])
        # All find equally many; those beyond the last row are found for nothing.
        own = torch.arange(rank, -(-len(features) // processes) * processes, processes) % len(features)
        found = torch.cat([model(x).float() for x in features[own].split(EVALUATION_ROWS)])
        return fabric.all_gather(found).transpose(0, 1).flatten(0, 1)[: len(features)]
