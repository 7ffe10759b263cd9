"""Networks as C: one file and its header, C99, without dependencies and without allocation."""

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from torch import nn

from kafnets import files
from kafnets.export.c_layers import fixed_function, layer_of, name_of
from kafnets.export.c_parts import BODY, HEADER, PARTS, part
from kafnets.export.c_text import Layer, Shape


def export_c(
    model: nn.Module,
    path: str | Path,
    *,
    name: str = "network",
    input_shape: Sequence[int] | None = None,
) -> Path:
    """Write a network as C99: ``path`` and a header next to it.

    The file needs only the C library, allocates nothing, and contains weights and tables as ``static const``.
    The header states their size in bytes, and declares ``void network(const float *input, float *output)``
    for one row. Activations must be fixed or baked::

        kafnets.export_c(kafnets.bake(model), "model.c")
        kafnets.export_c(kafnets.bake(cnn), "cnn.c", input_shape=(3, 32, 32))

    Args:
        model: an ``nn.Sequential``, nested or not, of linear layers, two-dimensional convolutions, pooling,
            batch normalization, flattening, baked activations, fixed ones (ReLU, leaky ReLU, ELU, SELU, tanh,
            sigmoid, SiLU, softplus, Mish, GELU), dropout and identities.
        path: of the file, which ends in ".c".
        name: of the function; a prefix of all other names.
        input_shape: of one row, ``(channels, height, width)`` for images. None: the width of the first linear
            layer.
    """
    path = Path(path)
    if path.suffix != ".c":
        raise ValueError(f"path must end in .c, got {path.name!r}")
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise ValueError(f"name must be a name in C, got {name!r}")
    modules = list(_flat(model, ""))
    shapes, layers = [_input_shape(modules, input_shape)], []
    for number, (called, module) in enumerate(modules):
        layer = layer_of(module, called, f"{name}_{number}", shapes[-1])
        if layer is not None:
            layers.append(layer)
            shapes.append(layer.shape)
    widths = [math.prod(shape) for shape in shapes]
    names = {"name": name, "NAME": name.upper(), "header": path.with_suffix(".h").name}
    header = HEADER.format(
        inputs=widths[0],
        outputs=widths[-1],
        size=sum(each.size for each in layers),
        scratch=8 * max(widths),
        **names,
    )
    body = BODY.format(
        tables="\n".join(each.tables for each in layers if each.tables),
        calls="\n".join(f"  {each.call}" for each in layers if each.call),
        widest=max(widths),
        functions=_functions(modules, layers, name),
        **names,
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


def _input_shape(modules: Sequence[tuple[str, nn.Module]], given: Sequence[int] | None) -> Shape:
    if given is not None:
        shape = tuple(given)
        if len(shape) not in (1, 3) or not all(isinstance(each, int) and each > 0 for each in shape):
            raise ValueError(f"input_shape must be (width,) or (channels, height, width), got {given!r}")
        return shape
    for called, module in modules:
        if isinstance(module, nn.Linear):
            return (module.in_features,)
        if isinstance(module, nn.Conv2d):
            raise ValueError(
                f"input_shape must be given for {called} (Conv2d), which takes images of any size: "
                f"({module.in_channels}, height, width)"
            )
    raise ValueError("input_shape must be given for a model without a linear layer")


def _functions(modules: Sequence[tuple[str, nn.Module]], layers: Sequence[Layer], name: str) -> str:
    expressions = sorted({text for _, each in modules if (text := fixed_function(each)) is not None})
    fixed = (
        f"static float {name}_{name_of(each)}(float s) {{\n  return {each};\n}}\n" for each in expressions
    )
    called = {each for layer in layers for each in layer.parts}
    return "\n".join(fixed) + "".join(part(each, name) for each in PARTS if each in called)
