"""``kafnets export``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kafnets.cli.refusals import refusing


class Format(StrEnum):
    """What a network can become."""

    ONNX = "onnx"
    C = "c"
    TORCH = "torch"


SUFFIXES = {Format.ONNX: ".onnx", Format.C: ".c", Format.TORCH: ".pt2"}


def export(
    predictor: Annotated[Path, typer.Argument(help="A saved network: the folder `best` of a comparison.")],
    to: Annotated[Format, typer.Option(help="ONNX, C99 or a program of torch.export.")] = Format.ONNX,
    output: Annotated[Path | None, typer.Option(help="The file; default: model.onnx, .c or .pt2.")] = None,
    baked: Annotated[bool, typer.Option(help="Convert learned activations to lookup tables.")] = True,
) -> None:
    """Export a trained network with its preprocessing.

    Example: kafnets export kafnets-runs/compare/patients-1f0c2a/best --to onnx --output patients.onnx
    """
    with refusing():
        from kafnets.train.predictor import Predictor

        path = Path(f"model{SUFFIXES[to]}") if output is None else output
        if path.suffix != SUFFIXES[to]:
            raise ValueError(f"--output must end in {SUFFIXES[to]} for --to {to}, got {path.name!r}")
        network = Predictor.load(predictor)
        network.export(path, baked=baked)
        sizes = [f"{each} ({each.stat().st_size:,} bytes)" for each in (path, path.with_suffix(".h"))
                 if each.exists() and (each == path or to is Format.C)]  # fmt: skip
        typer.echo(", ".join(sizes))
