"""The fixed functions of :mod:`kafnets.fixed_functions` for tensors: torch's own."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional


def _softplus(s: Tensor) -> Tensor:
    # torch's own threshold of 20, beyond which it returns s, is right for float32 only.
    return functional.softplus(s, threshold=40.0)


TORCH_FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "elu": functional.elu,
    "gelu": functional.gelu,
    "identity": lambda s: s,
    "leaky_relu": functional.leaky_relu,
    "mish": functional.mish,
    "relu": functional.relu,
    "selu": functional.selu,
    "sigmoid": torch.sigmoid,
    "silu": functional.silu,
    "softplus": _softplus,
    "swish": functional.silu,
    "tanh": torch.tanh,
}
