"""How layers and numbers are written as C."""

from dataclasses import dataclass

import numpy as np
from torch import Tensor

Shape = tuple[int, ...]
"""Of what one row becomes: a width, or channels, height and width."""


@dataclass(frozen=True)
class Layer:
    """A line of the program, the tables that it needs, and the shape that comes out.

    Attributes:
        parts: names of the functions in :mod:`kafnets.export.c_parts` that it calls.
        size: of its tables, in bytes.
    """

    call: str
    shape: Shape
    tables: str = ""
    size: int = 0
    parts: tuple[str, ...] = ()


def array(name: str, values: Tensor, kind: str = "float") -> str:
    """A constant table, of numbers that must be finite."""
    flat = values.detach().cpu().flatten()
    if kind == "float":
        flat = flat.float()
        if not flat.isfinite().all():
            raise ValueError(f"{name} holds numbers that are not finite")
    texts = [number(each) if kind == "float" else str(each) for each in flat.tolist()]
    lines = [", ".join(texts[at : at + 8]) for at in range(0, len(texts), 8)]
    return f"static const {kind} {name}[{len(texts)}] = {{\n  " + ",\n  ".join(lines) + "\n};\n"


def number(value: float) -> str:
    """The shortest text that float32 reads as the same number."""
    text = np.format_float_scientific(np.float32(value), trim="0")
    return f"{text}f"
