"""Functions that an activation can start as."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kafnets.nn.initializers import TARGETS

Start = str | Callable[[Tensor], Tensor]


def check_start(init: Start, argument: str = "init") -> None:
    """Raise if a name is not known."""
    if not isinstance(init, str) and not callable(init):
        raise TypeError(f"{argument} must be a name or a function, got {init!r}")
    if isinstance(init, str) and init not in TARGETS:
        raise ValueError(f"{argument} {init!r} is not known: give one of {', '.join(TARGETS)}, or a function")


def values_at(init: Start, places: NDArray[np.float64]) -> NDArray[np.float64]:
    """The function's values, in float64."""
    function = TARGETS[init] if isinstance(init, str) else init
    with torch.no_grad():
        values = torch.as_tensor(function(torch.from_numpy(places)), dtype=torch.float64)
    if values.shape != places.shape or not values.isfinite().all():
        raise ValueError(
            f"init must give a finite value for each of its {places.size} inputs, got shape "
            f"{tuple(values.shape)} with {int((~values.isfinite()).sum())} values that are not finite"
        )
    return values.numpy()
