"""Layers of images as C: convolutions, pooling, and batch normalization."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from kafnets.export.c_text import Layer, Shape, array

NORMALIZATIONS = (nn.BatchNorm1d, nn.BatchNorm2d)


def _check_channels(wanted: int, shape: Shape, called: str) -> None:
    if len(shape) != 3 or shape[0] != wanted:
        raise ValueError(f"{called} takes images of {wanted} channels, but {shape} comes to it")


def convolution(module: nn.Conv2d, called: str, name: str, shape: Shape) -> Layer:
    """A convolution, padded by zeros."""
    _check_channels(module.in_channels, shape, called)
    if module.padding_mode != "zeros":
        raise ValueError(f"{called} must be padded by zeros to be written as C, not {module.padding_mode!r}")
    bias = torch.zeros(module.out_channels) if module.bias is None else module.bias
    # torch's own list for every kind of padding: left, right, top, bottom.
    left, right, top, bottom = module._reversed_padding_repeated_twice
    window = _window(
        shape, module.out_channels, module.kernel_size, module.stride, module.dilation,
        ((top, bottom), (left, right)), module.groups,
    )  # fmt: skip
    prefix = name.rsplit("_", 1)[0]
    tables = array(f"{name}_weight", module.weight) + array(f"{name}_bias", bias)
    call = f"{prefix}_convolution(&{name}_window, {name}_weight, {name}_bias, here, there); SWAP();"
    size = 4 * (module.weight.numel() + bias.numel())
    parts = ("WINDOW", "CONVOLUTION")
    return Layer(call, window.out, tables + window.text(name), size + window.size, parts)


def pooling(module: Any, called: str, name: str, shape: Shape) -> Layer:
    """The largest or the mean value of windows."""
    if len(shape) != 3:
        raise ValueError(f"{called} takes images, but {shape} comes to it")
    if isinstance(module, nn.AdaptiveAvgPool2d):
        wanted = _pair(module.output_size)
        goal = [size if each is None else each for each, size in zip(wanted, shape[1:], strict=True)]
        if any(size % each for size, each in zip(shape[1:], goal, strict=True)):
            raise ValueError(f"{called} must divide {shape[1:]} evenly to be written as C, got {wanted}")
        kernel = tuple(size // each for size, each in zip(shape[1:], goal, strict=True))
        stride, padding, dilation = kernel, (0, 0), (1, 1)
    else:
        kernel, stride, padding = (
            _pair(each) for each in (module.kernel_size, module.stride, module.padding)
        )
        dilation = _pair(getattr(module, "dilation", 1))
        uneven = isinstance(module, nn.AvgPool2d) and (
            module.divisor_override is not None or (any(padding) and not module.count_include_pad)
        )
        if module.ceil_mode or getattr(module, "return_indices", False) or uneven:
            raise ValueError(f"{called} has options that cannot be written as C: {module}")
    both = ((padding[0],) * 2, (padding[1],) * 2)
    window = _window(shape, shape[0], kernel, stride, dilation, both, shape[0])
    kind = "largest" if isinstance(module, nn.MaxPool2d) else "mean"
    call = f"{name.rsplit('_', 1)[0]}_{kind}(&{name}_window, here, there); SWAP();"
    return Layer(call, window.out, window.text(name), window.size, ("WINDOW", kind.upper()))


@dataclass(frozen=True)
class Window:
    """What slides over an image: the numbers of the C structure of that name, and the shape that it gives."""

    numbers: tuple[int, ...]
    out: Shape

    @property
    def size(self) -> int:
        """In bytes."""
        return 4 * len(self.numbers)

    def text(self, name: str) -> str:
        """As C."""
        values = ", ".join(map(str, self.numbers))
        return f"static const {name.rsplit('_', 1)[0]}_window {name}_window = {{{values}}};\n"


def _window(
    shape: Shape, outputs: int, kernel: Any, stride: Any, dilation: Any, padding: Any, groups: int
) -> Window:
    sides = [
        (size + before + after - step * (length - 1) - 1) // jump + 1
        for size, (before, after), length, jump, step in zip(
            shape[1:], padding, kernel, stride, dilation, strict=True
        )
    ]
    before = [each[0] for each in padding]
    numbers = (*shape, outputs, *sides, *kernel, *stride, *dilation, *before, groups)
    return Window(numbers, (outputs, *sides))


def _pair(value: Any) -> tuple[int, int]:
    return tuple(value) if isinstance(value, tuple | list) else (value, value)


def normalization(module: Any, called: str, name: str, shape: Shape) -> Layer:
    """In evaluation mode: a factor and a shift per channel."""
    if module.running_mean is None:
        raise ValueError(f"{called} keeps no statistics, so it cannot be written as C")
    if module.num_features != shape[0]:
        raise ValueError(f"{called} takes {module.num_features} channels, but {shape} comes to it")
    factor = (module.running_var.double() + module.eps).rsqrt()
    if module.weight is not None:
        factor = factor * module.weight.double()
    shift = -module.running_mean.double() * factor
    if module.bias is not None:
        shift = shift + module.bias.double()
    tables = array(f"{name}_factor", factor) + array(f"{name}_shift", shift)
    prefix, positions = name.rsplit("_", 1)[0], math.prod(shape[1:])
    call = f"{prefix}_affine({name}_factor, {name}_shift, {shape[0]}, {positions}, here);"
    return Layer(call, shape, tables, 8 * shape[0], ("AFFINE",))
