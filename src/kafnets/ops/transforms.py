"""Whether someone looks into the computation, who must find nothing but torch's own operators there."""

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad


def needs_plain_formula(*tensors: Tensor) -> bool:
    """Whether a hand-written derivative would not be seen, and the result perhaps silently be wrong."""
    for tensor in tensors:
        # Subclasses have ideas of their own, and meta tensors no values.
        if (type(tensor) is not Tensor and type(tensor) is not nn.Parameter) or tensor.is_meta:
            return True
    return (
        torch._C._are_functorch_transforms_active()
        or forward_ad._current_level >= 0
        or torch._C._get_tracing_state() is not None
    )


def is_batched(upstream: Tensor) -> bool:
    """Whether it stands for many gradients at once, as with ``is_grads_batched`` or ``vectorize=True``."""
    return torch._C._functorch.is_legacy_batchedtensor(upstream)
