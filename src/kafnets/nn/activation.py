"""Base classes of activations with parameters per channel."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.fx import Proxy

from kafnets.arguments import checked_layer
from kafnets.nn.resettable import Resettable
from kafnets.ops.formula import Formula
from kafnets.ops.layout import in_groups
from kafnets.registry import Facts


class Activation(Resettable):
    """An activation whose channels are along ``dim``, with one function per channel or per group of channels.

    Args:
        num_features: N, the number of channels along ``dim``. With 1, the default, one function is shared by
            any number of channels, as in ``nn.PReLU()``.
        dim: the channel axis.
        groups: the number of functions, each shared by N / groups neighboring channels. None: one per
            channel.
    """

    facts: ClassVar[Facts]
    mixing_parameters: ClassVar[tuple[str, ...]] = ()
    l2_parameters: ClassVar[tuple[str, ...]] = ()
    undecayed_parameters: ClassVar[tuple[str, ...]] = ()
    inputs: ClassVar[int] = 1
    """Channels that one function takes."""
    sharable: ClassVar[bool] = True
    """Whether one function can serve any number of channels."""

    def __init__(self, num_features: int = 1, dim: int = 1, groups: int | None = None) -> None:
        super().__init__()
        self.groups = checked_layer(num_features, dim, groups, self.inputs)
        self.num_features = num_features
        self.dim = int(dim)
        self._any_width = self.sharable and num_features == 1
        self._shares = self._any_width or self.groups != max(1, num_features // self.inputs)

    @property
    def out_features(self) -> int:
        """The number of channels of the output."""
        return self.num_features

    def extra_repr(self) -> str:
        own = "".join(f", {name}={getattr(self, name)!r}" for name in self._shown)
        return f"{self._width}{own}, dim={self.dim}"

    @property
    def _width(self) -> str:
        """Of ``repr``."""
        shared = self._shares and not self._any_width
        return f"{self.num_features}, groups={self.groups}" if shared else f"{self.num_features}"

    _shown: ClassVar[tuple[str, ...]] = ()

    def forward(self, input: Tensor) -> Tensor:
        if type(input) is not Tensor and isinstance(input, Proxy):
            return leaf_of_trace(self, input)
        dim, shape = self.dim, input.shape
        fits = self._any_width or (-len(shape) <= dim < len(shape) and shape[dim] == self.num_features)
        if not (fits and input.is_floating_point()):
            self._refuse(input)
        return self.compute_shared(input) if self._shares else self.compute(input, dim)

    def compute(self, s: Tensor, dim: int) -> Tensor:
        """The functions' values, for any floating-point input with its own function for each channel."""
        raise NotImplementedError

    def compute_shared(self, input: Tensor) -> Tensor:
        """The same where channels share functions."""
        return in_groups(self.compute, input, self.groups, self.dim)

    def exact_formula(self) -> tuple[Formula, Tensor] | None:
        """Formula and coefficients, ``(groups, ...)``, if these are all there is and cheaper than a table."""
        return None

    def _refuse(self, input: Tensor) -> None:
        dim, shape = self.dim, input.shape
        if not input.is_floating_point():
            raise TypeError(
                f"input must be a floating-point tensor, got {input.dtype}: convert it, for example with "
                ".float()"
            )
        if -len(shape) <= dim < len(shape):
            fits = shape[-1] == self.num_features
            raise ValueError(
                f"{type(self).__name__} was built for num_features={self.num_features} along "
                f"dim={dim}, but the input of shape {tuple(shape)} has {shape[dim]} there"
                + (": for channels along the last axis, give dim=-1" if fits else "")
            )
        raise ValueError(
            f"{type(self).__name__} has its channels along dim={dim}, but the input has shape "
            f"{tuple(shape)}: give an input with that axis, or another dim"
        )


class ByChannel(Activation):
    """Base class of formulas with parameters per channel. Half precision is computed in float32."""

    def compute(self, s: Tensor, dim: int) -> Tensor:
        # At small batches what is done here shows, so nothing is converted that need not be.
        given = dtype = s.dtype
        if dtype is not torch.float32 and dtype is not torch.float64:
            dtype = torch.promote_types(dtype, torch.float32)
        for parameter in self._parameters.values():
            if parameter is not None and parameter.dtype is not dtype:
                dtype = torch.promote_types(dtype, parameter.dtype)
        return self.activate(s, dim) if dtype is given else self.activate(s.to(dtype), dim).to(given)

    def activate(self, s: Tensor, dim: int) -> Tensor:
        """The formula, in float32 or float64, for one channel per function along ``dim``."""
        raise NotImplementedError

    def along(self, parameter: Tensor, s: Tensor, dim: int) -> Tensor:
        """``(N,)`` or ``(K, N)`` such that it meets the channels of ``s``, the K going before all axes."""
        if parameter.dtype is not s.dtype:
            parameter = parameter.to(s.dtype)
        if parameter.dim() == 1 and dim in (-1, s.dim() - 1):
            return parameter  # broadcasting finds the last axis by itself
        shape = [1] * s.dim()
        shape[dim] = parameter.shape[-1]
        return parameter.reshape(*parameter.shape[:-1], *shape)


def leaf_of_trace(module: nn.Module, *inputs: Any) -> Any:
    """What symbolic tracing by ``torch.fx`` gets: a call of the module as a whole, as for torch's own."""
    tracer: Any = inputs[0].tracer
    return tracer.create_proxy("call_module", tracer.path_of_module(module), inputs, {})


def full_precision(s: Tensor) -> AbstractContextManager[None]:
    """Keeps autocast from multiplying matrices in half precision."""
    if s.is_meta or not torch.is_autocast_enabled(s.device.type):
        return nullcontext()
    return torch.autocast(s.device.type, enabled=False)


class TorchSource:
    """How torch draws initial values: see :class:`kafnets.starts.Source`."""

    def __init__(self, like: Tensor | None = None, generator: torch.Generator | None = None) -> None:
        self.like, self.generator = like, generator

    def normal(self, std: float, shape: tuple[int, ...]) -> Tensor:
        """In the dtype of ``like`` and on its device."""
        assert self.like is not None
        return self.like.new_empty(shape).normal_(0.0, std, generator=self.generator)

    def call(self, function: Callable[..., Any], *places: NDArray[np.float64]) -> NDArray[np.float64]:
        """With float64 tensors, on the CPU whatever the default device is: a solution is found there."""
        with torch.no_grad(), torch.device("cpu"):
            values = function(*(torch.from_numpy(np.array(each)) for each in places))
            return torch.as_tensor(values, dtype=torch.float64).numpy()
