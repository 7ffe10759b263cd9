"""Which axis holds the channels: followed through one forward pass, with the functions that were called."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakTensorKeyDictionary

FUNCTIONAL: dict[str, type[nn.Module]] = {
    "celu": nn.CELU,
    "elu": nn.ELU,
    "gelu": nn.GELU,
    "hardsigmoid": nn.Hardsigmoid,
    "hardswish": nn.Hardswish,
    "hardtanh": nn.Hardtanh,
    "leaky_relu": nn.LeakyReLU,
    "logsigmoid": nn.LogSigmoid,
    "mish": nn.Mish,
    "relu": nn.ReLU,
    "relu6": nn.ReLU6,
    "selu": nn.SELU,
    "sigmoid": nn.Sigmoid,
    "silu": nn.SiLU,
    "softplus": nn.Softplus,
    "softsign": nn.Softsign,
    "tanh": nn.Tanh,
}
"""The modules that compute the same, by the names of functions and of methods."""

FUSED = {
    "multi_head_attention_forward": "fused attention",
    "scaled_dot_product_attention": "fused attention",
    "lstm": "fused recurrent layer",
    "gru": "fused recurrent layer",
    "rnn_tanh": "fused recurrent layer",
    "rnn_relu": "fused recurrent layer",
}
"""Functions with activations inside that nothing can replace."""

_FROM_END = {
    "linear": 1,
    "bilinear": 1,
    "matmul": 1,
    "addmm": 1,
    "embedding": 1,
    "embedding_bag": 1,
    "multi_head_attention_forward": 1,
    "lstm": 1,
    "gru": 1,
    "rnn_tanh": 1,
    "rnn_relu": 1,
    "conv1d": 2,
    "conv2d": 3,
    "conv3d": 4,
    "conv_transpose1d": 2,
    "conv_transpose2d": 3,
    "conv_transpose3d": 4,
}
"""What makes new channels, and on which axis, counted from the end."""

_NORMS = {"batch_norm": 1, "instance_norm": 1, "group_norm": 1, "layer_norm": -1, "rms_norm": -1}
"""What takes its input's channels as they are, and where it supposes them."""

_VIEWS = {
    *("T", "mT", "t", "transpose", "swapaxes", "swapdims", "permute", "movedim", "moveaxis", "view"),
    *("reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "expand", "select", "__getitem__", "unbind"),
    *("chunk", "split", "narrow"),
}


class ChannelAxes(TorchFunctionMode):
    """Follows channels from the layers that make them through everything else that happens to tensors.

    Args:
        called: told the name of each function that is called.
    """

    def __init__(self, called: Callable[[str], None]) -> None:
        super().__init__()
        self._called = called
        self._axes: Any = WeakTensorKeyDictionary()

    def of(self, tensor: Tensor) -> int | None:
        """The channel axis, from 0; None if it cannot be told."""
        axis: int | None = self._axes.get(tensor)
        if axis is None and tensor.dim() in (1, 2, 4, 5):  # vectors, rows, images, volumes
            return min(1, tensor.dim() - 1)
        return axis

    def follow(self, before: Tensor, after: Tensor) -> None:
        """Channels stay where they are."""
        if before in self._axes:
            self._axes[after] = self._axes[before]

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        output = func(*args, **kwargs)
        name = function_name(func)
        self._called(name)
        for each in tensors_in(output):
            axis = self._axis_of(name, func, each, args, kwargs)
            if axis is not None:
                self._axes[each] = axis
        return output

    def _axis_of(
        self, name: str, func: Any, output: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> int | None:
        if name in _FROM_END:
            return output.dim() - _FROM_END[name] if output.dim() >= _FROM_END[name] else None
        given = next((each for each in tensors_in((args, kwargs)) if each in self._axes), None)
        if given is not None and name in _VIEWS:
            return _axis_of_view(func, given, self._axes[given], args, kwargs, output.shape)
        if given is not None and given.dim() == output.dim():
            return int(self._axes[given])
        return _NORMS[name] % output.dim() if name in _NORMS else None


def function_name(func: Any) -> str:
    """Without what marks operators and functions that work in place; of a property, its name."""
    name: str = func.__name__
    if name == "__get__":
        name = getattr(func.__self__, "__name__", name)
    if name in ("__matmul__", "__rmatmul__", "mm", "bmm"):
        return "matmul"
    return name if name.startswith("__") else name.rstrip("_")


def _axis_of_view(
    func: Any, given: Tensor, axis: int, args: tuple[Any, ...], kwargs: dict[str, Any], shape: torch.Size
) -> int | None:
    """By its stride: the same view of a tensor that moves in memory along the channel axis only."""
    channels = given.shape[axis]
    strides = [int(place == axis) for place in range(given.dim())]
    marker = torch.empty(channels, device=given.device).as_strided(given.shape, strides)
    try:
        viewed = func(*(marker if each is given else each for each in args), **kwargs)
    except (RuntimeError, TypeError):  # the view would mix channels with something else
        return None
    for each in tensors_in(viewed):
        if each.shape == shape and each.untyped_storage().data_ptr() == marker.untyped_storage().data_ptr():
            places = [place for place in range(each.dim()) if each.stride(place) == 1]
            fitting = [place for place in places if each.shape[place] == channels]
            return fitting[0] if len(fitting) == 1 else None
    return None


def tensors_in(values: Any) -> Iterator[Tensor]:
    """Every tensor in nested tuples, lists and mappings."""
    if isinstance(values, Tensor):
        yield values
    elif isinstance(values, Mapping):
        for each in values.values():
            yield from tensors_in(each)
    elif isinstance(values, tuple | list):
        for each in values:
            yield from tensors_in(each)
