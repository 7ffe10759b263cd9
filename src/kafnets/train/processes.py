"""Where training runs: one process, or several that share each batch.

Lightning Fabric does several processes and lower precision. One process in full precision needs none of it,
and Fabric's wrapping of each step would cost a small network a tenth of its speed (``kafnets bench
training`` measures both), so :class:`OneProcess` stands in for it there.
"""

import atexit
import functools
import os
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor, nn

from kafnets.train.settings import FULL_PRECISION, Settings

T = TypeVar("T")


class Processes(Protocol):
    """The part of ``lightning_fabric.Fabric`` that the loop uses."""

    @property
    def device(self) -> torch.device: ...
    @property
    def global_rank(self) -> int: ...
    @property
    def world_size(self) -> int: ...
    def setup(self, module: nn.Module, *optimizers: torch.optim.Optimizer) -> Any: ...
    def backward(self, tensor: Tensor) -> None: ...
    def all_gather(self, data: Tensor) -> Any: ...
    def broadcast(self, obj: T) -> T: ...
    def barrier(self) -> None: ...


class OneProcess:
    """All alone."""

    global_rank, world_size = 0, 1

    def __init__(self, device: str | torch.device = "cpu") -> None:
        self.device = torch.device(device)

    def setup(self, module: nn.Module, *optimizers: torch.optim.Optimizer) -> Any:
        """Nothing to be wrapped."""
        return module, *optimizers

    def backward(self, tensor: Tensor) -> None:
        """Gradients."""
        tensor.backward()

    def all_gather(self, data: Tensor) -> Tensor:
        """From all processes, which is one."""
        return data[None]

    def broadcast(self, obj: T) -> T:
        """To nobody."""
        return obj

    def barrier(self) -> None:
        """Nobody to wait for."""


def processes_for(settings: Settings) -> Processes:
    """Those that ``torchrun`` has started, if it has; else this one."""
    device = device_of(settings)
    if settings.precision == FULL_PRECISION and total_processes() == 1:
        return OneProcess(device)
    return _fabric(device, settings.precision)


def device_of(settings: Settings) -> str:
    """With "auto" resolved."""
    if settings.device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if settings.device.startswith("cuda") and not torch.cuda.is_available():
        raise ValueError(f"device={settings.device!r} needs a GPU that torch sees: give 'cpu' or 'auto'")
    return settings.device


def is_first() -> bool:
    """Whether this is the process that talks and writes."""
    return total_processes() == 1 or os.environ.get("RANK") == "0"


def total_processes() -> int:
    """How many ``torchrun`` has started; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", "1")) if torch.distributed.is_torchelastic_launched() else 1


@functools.cache  # process groups are set up once, however many runs follow
def _fabric(device: str, precision: Any) -> Processes:
    from lightning_fabric import Fabric

    total = total_processes()
    here = int(os.environ.get("LOCAL_WORLD_SIZE", "1")) if total > 1 else 1
    fabric = Fabric(
        accelerator=device,
        devices=here,
        num_nodes=total // here,
        strategy="ddp" if total > 1 else "auto",
        precision=precision,
    )
    fabric.launch()
    if total > 1:
        # Threads of a connection that is still open abort a process on its way out.
        atexit.register(torch.distributed.destroy_process_group)
    return fabric
