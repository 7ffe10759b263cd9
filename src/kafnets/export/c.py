"""Dense networks as C: one file and its header, C99, without dependencies and without allocation."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from kafnets import files
from kafnets.export.c_parts import BODY, HEADER, LOOK_UP, SCALE, SOFTMAX
from kafnets.export.predictor_module import Answer, ScaledInputs
from kafnets.nn.baked import Baked

FIXED = {
    nn.ReLU: "s > 0 ? s : 0 * s",
    nn.Tanh: "tanhf(s)",
    nn.Sigmoid: "1 / (1 + expf(-s))",
    nn.SiLU: "s / (1 + expf(-s))",
    nn.Softplus: "s > 20 ? s : log1pf(expf(s))",
    nn.Mish: "s * tanhf(s > 20 ? s : log1pf(expf(s)))",
    nn.GELU: "0.5f * s * (1 + erff(s * 0.70710678f))",
}
"""Fixed functions, at torch's default options; others are written out by name below."""


@dataclass(frozen=True)
class Layer:
    """A line of the program, the tables that it needs, and the width that comes out."""

    call: str
    tables: str
    width: int
    size: int = 0


def export_c(model: nn.Module, path: str | Path, *, name: str = "network") -> Path:
    """Write a dense network as C99: ``path`` and a header next to it.

    The file needs only the C library, allocates nothing, and contains weights and tables as ``static const``.
    The header states their size in bytes, and declares ``void network(const float *input, float *output)``
    for one row. Activations must be fixed or baked::

        kafnets.export_c(kafnets.bake(model), "model.c")

    Args:
        model: an ``nn.Sequential``, nested or not, of linear layers, baked activations, fixed ones (ReLU,
            leaky ReLU, ELU, SELU, tanh, sigmoid, SiLU, softplus, Mish, GELU), dropout and identities.
        path: of the file, which ends in ".c".
        name: of the function; a prefix of all other names.
    """
    path = Path(path)
    if path.suffix != ".c":
        raise ValueError(f"path must end in .c, got {path.name!r}")
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise ValueError(f"name must be a name in C, got {name!r}")
    modules = list(_flat(model, ""))
    widths = [each.in_features for _, each in modules if isinstance(each, nn.Linear)]
    if not widths:
        raise ValueError("model must have a linear layer, whose width is that of the input")
    layers, width = [], widths[0]
    for number, (called, module) in enumerate(modules):
        layer = _layer(module, called, f"{name}_{number}", width)
        if layer is not None:
            layers.append(layer)
            width = layer.width
    size, widest = sum(each.size for each in layers), max(widths[0], *(each.width for each in layers))
    header = HEADER.format(
        guard=f"{name.upper()}_H",
        name=name,
        NAME=name.upper(),
        inputs=widths[0],
        outputs=width,
        size=size,
        scratch=8 * widest,
    )
    tables = "\n".join(each.tables for each in layers if each.tables)
    calls = "\n".join(f"  {each.call}" for each in layers)
    body = BODY.format(
        header=path.with_suffix(".h").name,
        name=name,
        NAME=name.upper(),
        tables=tables,
        calls=calls,
        widest=widest,
        functions=_functions(modules, name),
    )
    files.write(path.with_suffix(".h"), header)
    files.write(path, body)
    return path


def _flat(module: nn.Module, called: str) -> Iterator[tuple[str, nn.Module]]:
    if not isinstance(module, nn.Sequential):
        yield called or "model", module
        return
    for name, child in module.named_children():
        yield from _flat(child, f"{called}.{name}" if called else name)


def _layer(module: nn.Module, called: str, name: str, width: int) -> Layer | None:
    prefix = name.rsplit("_", 1)[0]
    if isinstance(module, nn.Dropout | nn.AlphaDropout | nn.Identity):
        return None
    if isinstance(module, nn.Linear):
        if module.in_features != width:
            raise ValueError(f"{called} takes {module.in_features} values, but {width} come to it")
        bias = torch.zeros(module.out_features) if module.bias is None else module.bias
        tables = _array(f"{name}_weight", module.weight) + _array(f"{name}_bias", bias)
        sizes = f"{width}, {module.out_features}"
        call = f"{prefix}_linear({name}_weight, {name}_bias, {sizes}, here, there); SWAP();"
        return Layer(call, tables, module.out_features, 4 * (module.weight.numel() + bias.numel()))
    if isinstance(module, Baked):
        return _baked(module, called, name, prefix, width)
    if isinstance(module, ScaledInputs):
        parts = {each: getattr(module, each) for each in ("median", "shift", "factor")}
        tables = "".join(_array(f"{name}_{each}", values) for each, values in parts.items())
        names = ", ".join(f"{name}_{each}" for each in parts)
        call = f"{prefix}_scale({names}, {int(module.clipped)}, {width}, here);"
        return Layer(call, tables, width, 12 * width)
    if isinstance(module, Answer):
        return _answer(module, called, prefix, width)
    expression = fixed_function(module)
    if expression is None:
        raise ValueError(
            f"{called} ({type(module).__name__}) cannot be written as C: bake learned activations with "
            "kafnets.bake, and use only linear layers and fixed activations otherwise"
        )
    return Layer(
        f"for (int i = 0; i < {width}; ++i) here[i] = {prefix}_{_kind(expression)}(here[i]);", "", width
    )


def _baked(module: Baked, called: str, name: str, prefix: str, width: int) -> Layer:
    if module.num_features not in (1, width):
        raise ValueError(f"{called} takes {module.num_features} values, but {width} come to it")
    grid, (high, low) = module.grid, module.grid.width_parts
    kind = "int8_t" if module.unit is not None else "float"
    tables, unit = _array(f"{name}_table", module.table, kind), "0"
    if module.unit is not None:
        tables += _array(f"{name}_unit", module.unit)
        unit = f"{name}_unit"
    shared = width // module.groups
    call = (
        f"{prefix}_look_up_{kind}({name}_table, {unit}, {module.cells}, {module.powers}, {grid.first}, "
        f"{_f(grid.center)}, {_f(1 / grid.width)}, {_f(high)}, {_f(low)}, {_f(2 / grid.width)}, {width}, "
        f"{shared}, here);"
    )
    return Layer(call, tables, width, module.size_in_bytes)


def _answer(module: Answer, called: str, prefix: str, width: int) -> Layer:
    if module.task == "regression":
        mean, deviation = (np.broadcast_to(each, (width,)) for each in module.target_scale)
        if module.loss.logarithmic or module.target_range is not None:
            raise ValueError(f"{called}: predictions of counts, or within a range, cannot be written as C")
        lines = [f"here[{i}] = here[{i}] * {_f(deviation[i])} + {_f(mean[i])};" for i in range(width)]
        return Layer(" ".join(lines), "", width)
    scale = _f(1 / module.temperature)
    if module.task == "multilabel":
        each = f"for (int i = 0; i < {width}; ++i) here[i] = 1 / (1 + expf(-here[i] * {scale}));"
        return Layer(each, "", width)
    if module.task == "binary":
        return Layer(f"here[1] = here[0]; here[0] = 0; {prefix}_softmax({scale}, 2, here);", "", 2)
    return Layer(f"{prefix}_softmax({scale}, {width}, here);", "", width)


def fixed_function(module: nn.Module) -> str | None:
    """An expression of s; None for what is no fixed function."""
    if isinstance(module, nn.LeakyReLU | nn.RReLU):
        slope = (
            module.negative_slope if isinstance(module, nn.LeakyReLU) else (module.lower + module.upper) / 2
        )
        return f"s > 0 ? s : {_f(slope)} * s"
    if isinstance(module, nn.SELU):
        return "1.05070099f * (s > 0 ? s : 1.67326324f * expm1f(s))"
    if isinstance(module, nn.ELU):
        return f"s > 0 ? s : {_f(module.alpha)} * expm1f(s)"
    if isinstance(module, nn.Softplus) and (module.beta, module.threshold) != (1, 20):
        return None
    if isinstance(module, nn.GELU) and module.approximate != "none":
        return None
    return next((text for kind, text in FIXED.items() if isinstance(module, kind)), None)


def _kind(expression: str) -> str:
    """A name for a function: what it consists of."""
    return "f_" + re.sub(r"\W+", "_", expression.replace("-", "m").replace(".", "p")).strip("_")


def _functions(modules: list[tuple[str, nn.Module]], name: str) -> str:
    expressions = sorted({text for _, each in modules if (text := fixed_function(each)) is not None})
    text = "\n".join(
        f"static float {name}_{_kind(each)}(float s) {{\n  return {each};\n}}\n" for each in expressions
    )
    if any(isinstance(each, ScaledInputs) for _, each in modules):
        text += SCALE.format(name=name)
    if any(isinstance(each, Answer) and each.task in ("binary", "multiclass") for _, each in modules):
        text += SOFTMAX.format(name=name)
    for kind in ("float", "int8_t"):
        if any(
            isinstance(each, Baked) and (each.unit is not None) == (kind == "int8_t") for _, each in modules
        ):
            unit = " * unit[f * powers + k]" if kind == "int8_t" else ""
            text += LOOK_UP.format(name=name, kind=kind, unit=unit, ignored="" if unit else "  (void)unit;\n")
    return text


def _array(name: str, values: Tensor, kind: str = "float") -> str:
    flat = values.detach().cpu().flatten()
    if kind == "float":
        flat = flat.float()
        if not flat.isfinite().all():
            raise ValueError(f"{name} holds numbers that are not finite")
    texts = [_f(each) if kind == "float" else str(each) for each in flat.tolist()]
    lines = [", ".join(texts[at : at + 8]) for at in range(0, len(texts), 8)]
    return f"static const {kind} {name}[{len(texts)}] = {{\n  " + ",\n  ".join(lines) + "\n};\n"


def _f(value: float) -> str:
    """The shortest text that float32 reads as the same number."""
    text = np.format_float_scientific(np.float32(value), trim="0")
    return f"{text}f"
