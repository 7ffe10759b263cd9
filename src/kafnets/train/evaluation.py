"""What a model gives for rows, and how good that is."""

import torch
from torch import Tensor, nn

from kafnets.data.splits import Part, Task
from kafnets.train import metrics
from kafnets.train.processes import OneProcess, Processes

EVALUATION_ROWS = 4096


def evaluate(model: nn.Module, part: Part, task: Task) -> dict[str, float]:
    """Scores on all rows, in evaluation mode."""
    like = next(model.parameters(), torch.zeros(()))
    data = tensors(part, like.device)
    return metrics.scores(task, *outputs_of(model, data, OneProcess(like.device)))


def tensors(part: Part, device: torch.device) -> tuple[Tensor, Tensor]:
    """Features and target of some rows, on a device."""
    return torch.from_numpy(part.features).to(device), torch.from_numpy(part.target).to(device)


def outputs_of(model: nn.Module, data: tuple[Tensor, Tensor], fabric: Processes) -> tuple[Tensor, Tensor]:
    """Of all rows, each process having found those of its share."""
    model.eval()
    features, target = data
    processes, rank = fabric.world_size, fabric.global_rank
    with torch.no_grad():
        if processes == 1:
            return torch.cat([model(x).float() for x in features.split(EVALUATION_ROWS)]), target
        # All find equally many; those beyond the last row are found for nothing.
        own = torch.arange(rank, -(-len(target) // processes) * processes, processes) % len(target)
        found = torch.cat([model(x).float() for x in features[own].split(EVALUATION_ROWS)])
        return fabric.all_gather(found).transpose(0, 1).flatten(0, 1)[: len(target)], target
