"""What activations with one or more parameters a channel share."""

from numbers import Integral
from typing import ClassVar

import torch
from torch import Tensor, nn

from kafnets.registry import Facts


def check_whole(name: str, value: int, least: int = 1) -> None:
    """Raise unless ``value`` is a whole number from ``least``."""
    if not _is_whole(value) or value < least:
        raise ValueError(f"{name} must be a whole number from {least}, got {value!r}")


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)  # NumPy's as well


class Activation(nn.Module):
    """An activation whose channels are along ``dim``."""

    facts: ClassVar[Facts]
    mixing_parameters: ClassVar[tuple[str, ...]] = ()
    l2_parameters: ClassVar[tuple[str, ...]] = ()
    undecayed_parameters: ClassVar[tuple[str, ...]] = ()

    def __init__(self, num_features: int, dim: int) -> None:
        super().__init__()
        check_whole("num_features", num_features)
        if not _is_whole(dim):
            raise TypeError(f"dim must be a whole number, got {dim!r}")
        self.num_features = num_features
        self.dim = dim

    @property
    def out_features(self) -> int:
        """The number of channels of the output."""
        return self.num_features

    def extra_repr(self) -> str:
        own = "".join(f", {name}={getattr(self, name)!r}" for name in self._shown)
        return f"{self.num_features}{own}, dim={self.dim}"

    _shown: ClassVar[tuple[str, ...]] = ()

    def _check_input(self, input: Tensor) -> None:
        dim, shape = self.dim, input.shape
        if -len(shape) <= dim < len(shape):
            if shape[dim] == self.num_features:
                return
            raise ValueError(
                f"{type(self).__name__} was built for num_features={self.num_features} along "
                f"dim={dim}, but the input of shape {tuple(shape)} has {shape[dim]} there"
            )
        raise ValueError(
            f"{type(self).__name__} has its channels along dim={dim}, but the input has shape "
            f"{tuple(shape)}: give an input with that axis, or another dim"
        )


class ByChannel(Activation):
    """A formula with parameters for each channel. Half precision is computed in float32."""

    def forward(self, input: Tensor) -> Tensor:
        self._check_input(input)
        if not input.is_floating_point():
            raise TypeError(
                f"input must be a floating-point tensor, got {input.dtype}: convert it, say with .float()"
            )
        # At small batches what is done here shows, so nothing is converted that need not be.
        given = dtype = input.dtype
        if dtype is not torch.float32 and dtype is not torch.float64:
            dtype = torch.promote_types(dtype, torch.float32)
        for parameter in self._parameters.values():
            if parameter is not None and parameter.dtype is not dtype:
                dtype = torch.promote_types(dtype, parameter.dtype)
        return self.activate(input) if dtype is given else self.activate(input.to(dtype)).to(given)

    def activate(self, s: Tensor) -> Tensor:
        """The formula, in float32 or float64."""
        raise NotImplementedError

    def along(self, parameter: Tensor, s: Tensor) -> Tensor:
        """``(N,)`` or ``(K, N)`` such that it meets the channels of ``s``, the K going before all axes."""
        if parameter.dtype is not s.dtype:
            parameter = parameter.to(s.dtype)
        if parameter.dim() == 1 and self.dim in (-1, s.dim() - 1):
            return parameter  # broadcasting finds the last axis by itself
        shape = [1] * s.dim()
        shape[self.dim] = self.num_features
        return parameter.reshape(*parameter.shape[:-1], *shape)
