"""Layers of a network as C: a line of the program for each, and the tables that it needs."""

import math
import re
from typing import Any

import numpy as np
import torch
from torch import nn

from kafnets.export import c_images
from kafnets.export.c_parts import LARGEST_GRID
from kafnets.export.c_text import Layer, Shape, array, number
from kafnets.export.predictor_module import Answer, ScaledInputs
from kafnets.kernels import Gaussian
from kafnets.nn.baked import Baked, Baked2D
from kafnets.ops.baked import Grid
from kafnets.ops.hinges import Hinges

FIXED = {
    nn.ReLU: "s < 0 ? 0 : s",
    nn.Tanh: "tanhf(s)",
    nn.Sigmoid: "1 / (1 + expf(-s))",
    nn.SiLU: "s / (1 + expf(-s))",
    nn.Softplus: "s > 20 ? s : log1pf(expf(s))",
    nn.Mish: "s * tanhf(s > 20 ? s : log1pf(expf(s)))",
    nn.GELU: "0.5f * s * (1 + erff(s * 0.70710678f))",
}
"""Fixed functions, at torch's default options; others are written out by name below."""


def layer_of(module: nn.Module, called: str, name: str, shape: Shape) -> Layer | None:
    """A module as C; None for what does nothing, and a ValueError for what cannot be written.

    Args:
        module: a part of a network.
        called: its name in the network, for messages.
        name: a prefix for its tables; up to the last underscore, that of all names of the file.
        shape: of what comes to it.
    """
    prefix, width = name.rsplit("_", 1)[0], math.prod(shape)
    if isinstance(module, nn.Dropout | nn.Dropout2d | nn.AlphaDropout | nn.Identity):
        return None
    if isinstance(module, nn.Flatten):
        return _flattened(module, called, shape)
    if isinstance(module, nn.Linear):
        _check_width(module.in_features, shape, called)
        bias = torch.zeros(module.out_features) if module.bias is None else module.bias
        tables = array(f"{name}_weight", module.weight) + array(f"{name}_bias", bias)
        sizes = f"{width}, {module.out_features}"
        call = f"{prefix}_linear({name}_weight, {name}_bias, {sizes}, here, there); SWAP();"
        size = 4 * (module.weight.numel() + bias.numel())
        return Layer(call, (module.out_features,), tables, size, ("LINEAR",))
    if isinstance(module, nn.Conv2d):
        return c_images.convolution(module, called, name, shape)
    if isinstance(module, nn.MaxPool2d | nn.AvgPool2d | nn.AdaptiveAvgPool2d):
        return c_images.pooling(module, called, name, shape)
    if isinstance(module, c_images.NORMALIZATIONS):
        return c_images.normalization(module, called, name, shape)
    if isinstance(module, Baked2D):
        return _pairs(module, called, name, shape)
    if isinstance(module, Baked):
        return _baked(module, called, name, shape)
    if isinstance(module, ScaledInputs):
        parts = {each: getattr(module, each) for each in ("median", "shift", "factor")}
        tables = "".join(array(f"{name}_{each}", values) for each, values in parts.items())
        names = ", ".join(f"{name}_{each}" for each in parts)
        call = f"{prefix}_scale({names}, {int(module.clipped)}, {width}, here);"
        return Layer(call, shape, tables, 12 * width, ("SCALE",))
    if isinstance(module, Answer):
        return _answer(module, called, prefix, width)
    expression = fixed_function(module)
    if expression is None:
        raise ValueError(
            f"{called} ({type(module).__name__}) cannot be written as C: bake learned activations with "
            "kafnets.bake, and use linear layers, convolutions, pooling and fixed activations besides"
        )
    call = f"for (int i = 0; i < {width}; ++i) here[i] = {prefix}_{name_of(expression)}(here[i]);"
    return Layer(call, shape)


def _check_width(wanted: int, shape: Shape, called: str) -> None:
    if shape != (wanted,):
        told = f"{shape[0]} come to it" if len(shape) == 1 else f"images of shape {shape} come to it"
        more = "" if len(shape) == 1 else ": put nn.Flatten() before it"
        raise ValueError(f"{called} takes {wanted} values, but {told}{more}")


def _flattened(module: nn.Flatten, called: str, shape: Shape) -> Layer:
    if module.start_dim != 1 or module.end_dim not in (-1, len(shape)):
        raise ValueError(f"{called} must flatten all axes but the first to be written as C, got {module}")
    return Layer("", (math.prod(shape),))


def _check_baked(module: Baked, called: str, shape: Shape) -> None:
    if module.num_features not in (1, shape[0]) or shape[0] % module.inputs:
        raise ValueError(f"{called} takes {module.num_features} channels, but {shape} comes to it")
    if module.num_features > 1 and module.dim not in (1, -len(shape)):
        raise ValueError(f"{called} must have its channels along dim=1 to be written as C, not {module.dim}")


def _pairs(module: Baked2D, called: str, name: str, shape: Shape) -> Layer:
    _check_baked(module, called, shape)
    expansion: Any = module.formula.expansion  # type: ignore[attr-defined]
    if (
        not isinstance(expansion.kernel, Gaussian)
        or module.formula.learned
        or expansion.shape[0] > LARGEST_GRID
    ):
        raise ValueError(
            f"{called} must have a Gaussian kernel of fixed bandwidth and at most {LARGEST_GRID} elements to "
            "be written as C"
        )
    elements = torch.from_numpy(expansion.dictionary.elements)
    tables = array(f"{name}_table", module.table) + array(f"{name}_elements", elements)
    pairs, positions = shape[0] // 2, math.prod(shape[1:])
    sizes = f"{len(elements)}, {pairs}, {positions}, {pairs * positions // module.groups}"
    names = f"{name}_table, {name}_elements, {number(expansion.gamma)}"
    call = f"{name.rsplit('_', 1)[0]}_pairs({names}, {sizes}, here, there); SWAP();"
    size = module.size_in_bytes + 4 * len(elements)
    return Layer(call, (pairs, *shape[1:]), tables, size, ("PAIRS",))


def _baked(module: Baked, called: str, name: str, shape: Shape) -> Layer:
    width = math.prod(shape)
    _check_baked(module, called, shape)
    prefix, kind = name.rsplit("_", 1)[0], "float" if module.unit is None else "int8_t"
    tables, names = array(f"{name}_table", module.table, kind), [f"{name}_table"]
    for part in ("unit", "hinge"):
        values = getattr(module, part)
        names.append("0" if values is None else f"{name}_{part}")
        tables += "" if values is None else array(f"{name}_{part}", values)
    sizes = f"{width}, {width // module.groups}"
    if isinstance(module.formula, Hinges):
        hinges, formula = module.table.shape[1] // 2, module.formula
        numbers = f"{hinges}, {formula.to_the_right}, {int(formula.rectified)}"
        call = f"{prefix}_hinges({names[0]}, {numbers}, {sizes}, here);"
        return Layer(call, shape, tables, module.size_in_bytes, ("HINGES",))
    grid = module.grid or Grid(0, 2.0, 0.0, module.powers)  # a polynomial is one cell, in which t is s
    places = (grid.center, 1 / grid.width, *grid.width_parts, 2 / grid.width)
    numbers = f"{module.cells}, {module.powers}, {grid.first}, {', '.join(map(number, places))}"
    call = f"{prefix}_look_up_{kind}({', '.join(names)}, {numbers}, {sizes}, here);"
    return Layer(call, shape, tables, module.size_in_bytes, (f"LOOK_UP_{kind}",))


def _answer(module: Answer, called: str, prefix: str, width: int) -> Layer:
    if module.task == "regression":
        mean, deviation = (np.broadcast_to(each, (width,)) for each in module.target_scale)
        if module.loss.logarithmic or module.target_range is not None:
            raise ValueError(f"{called}: predictions of counts, or within a range, cannot be written as C")
        lines = [f"here[{i}] = here[{i}] * {number(deviation[i])} + {number(mean[i])};" for i in range(width)]
        return Layer(" ".join(lines), (width,))
    scale = number(1 / module.temperature)
    if module.task == "multilabel":
        each = f"for (int i = 0; i < {width}; ++i) here[i] = 1 / (1 + expf(-here[i] * {scale}));"
        return Layer(each, (width,))
    softmax = f"{prefix}_softmax({scale}, {max(width, 2)}, here);"
    if module.task == "binary":
        softmax = f"here[1] = here[0]; here[0] = 0; {softmax}"
    return Layer(softmax, (max(width, 2),), parts=("SOFTMAX",))


def fixed_function(module: nn.Module) -> str | None:
    """An expression of s; None for what is no fixed function."""
    if isinstance(module, nn.LeakyReLU | nn.RReLU):
        slope = (
            module.negative_slope if isinstance(module, nn.LeakyReLU) else (module.lower + module.upper) / 2
        )
        return f"s > 0 ? s : {number(slope)} * s"
    if isinstance(module, nn.SELU):
        return "1.05070099f * (s > 0 ? s : 1.67326324f * expm1f(s))"
    if isinstance(module, nn.ELU):
        return f"s > 0 ? s : {number(module.alpha)} * expm1f(s)"
    if isinstance(module, nn.Softplus) and (module.beta, module.threshold) != (1, 20):
        return None
    if isinstance(module, nn.GELU) and module.approximate != "none":
        return None
    return next((text for kind, text in FIXED.items() if isinstance(module, kind)), None)


def name_of(expression: str) -> str:
    """A name for a function: what it consists of."""
    return "f_" + re.sub(r"\W+", "_", expression.replace("-", "m").replace(".", "p")).strip("_")
