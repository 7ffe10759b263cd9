"""``kafnets bench``."""

from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from kafnets.cli.refusals import refusing
from kafnets.cli.sweeping import AsJson, console_of_this_process, print_json, steps_shown
from kafnets.files import as_json, make_folder, write, written_at_once


class What(StrEnum):
    """What is measured, by the module of the same name."""

    kernels = "kernels"
    instruction_sets = "instruction-sets"
    rivals = "rivals"
    training = "training"
    images = "images"
    acting = "acting"
    frameworks = "frameworks"
    peers = "peers"


def bench(
    what: Annotated[
        What,
        typer.Argument(
            help="kernels: KAFs and torch's activations. instruction-sets: the kernels for AVX-512, AVX2 and "
            "any processor, where this one can run them. rivals: the other activations and plain torch. "
            "training: the training loop and a minimal one. images: the paper's convolutional network. "
            "acting: policies on MuJoCo. "
            "frameworks: JAX, Keras and autograd. peers: networks of other packages that are installed."
        ),
    ] = What.kernels,
    output: Annotated[Path, typer.Option(help="Output folder.")] = Path("benchmark"),
    quick: Annotated[bool, typer.Option(help="Fewer repetitions, for a first look.")] = False,
    json: AsJson = False,
) -> None:
    """Check the fast implementations for correctness, then time them against alternatives.

    Example: kafnets bench --quick --output /tmp/bench

    It takes several minutes, fewer with --quick; nothing else should run on the machine meanwhile.
    """
    from kafnets.benchmark import instruction_sets, report

    measured = import_module(f"kafnets.benchmark.{what.name}")
    console = console_of_this_process()
    stored = output / f"{what}.json"
    try:
        with refusing(), steps_shown(console) as say:
            make_folder(output)
            result = measured.run(quick=quick, say=say)
    except KeyboardInterrupt:
        console.print("stopped; nothing was written")
        raise typer.Exit(130) from None
    write(stored, as_json(result))
    if json:
        print_json(result)
    else:
        for table in (report if what == What.kernels else measured).tables(result):
            console.print(table)
        if "bars" in result:
            console.print(report.bars_table(result))
        console.print(report.source(result), soft_wrap=True)
    drawing = {What.kernels: report.draw, What.instruction_sets: instruction_sets.draw}
    if what in drawing:
        with written_at_once(output / f"{what}.png") as temporary:
            drawing[what](result, temporary)
    typer.echo(f"stored in {stored}", err=True)
