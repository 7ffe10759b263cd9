"""torch as an array library, for the formulas that all frameworks share."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from kafnets.arrays.library import Library


class TorchLibrary(Library):
    """torch with the few names of NumPy that it has not."""

    def __init__(self) -> None:
        super().__init__(torch)

    def transpose(self, x: Tensor, axes: tuple[int, ...]) -> Tensor:
        """The axes in another order."""
        return x.permute(axes)

    def repeat(self, x: Tensor, count: int, axis: int) -> Tensor:
        """Each value ``count`` times."""
        return x.repeat_interleave(count, axis)

    def shape(self, x: Tensor) -> torch.Size:
        """The size of each axis."""
        return x.shape

    def array(self, values: Sequence[float], like: Tensor) -> Tensor:
        return torch.tensor(values, dtype=like.dtype, device=like.device)

    def multiply_add(self, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        return torch.addcmul(c, a, b)

    def slope(self, function: Callable[[Tensor], Tensor], s: Tensor) -> Tensor:
        with torch.enable_grad():
            leaf = s.detach().requires_grad_()
            return torch.autograd.grad(function(leaf).sum(), leaf)[0]


TORCH = TorchLibrary()
