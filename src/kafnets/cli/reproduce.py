"""``kafnets reproduce``."""

from pathlib import Path
from typing import Annotated

import typer

from kafnets.cli.listing import result_table
from kafnets.cli.refusals import refuse, refusing
from kafnets.cli.sweeping import EngineName, console_of_this_process, run_all, whole_numbers, words


def reproduce(
    experiment: Annotated[str, typer.Argument(help="sensorless, susy or cifar10.")],
    profile: Annotated[
        str, typer.Option(help="paper, or a smaller setting: quick; sample (susy); small (cifar10).")
    ] = "paper",
    activations: Annotated[str, typer.Option(help="Names, with commas between them.")] = "",
    layers: Annotated[str, typer.Option(help="Numbers of hidden layers or modules, with commas.")] = "",
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each.")] = 5,
    jobs: Annotated[int, typer.Option(min=1, help="Runs side by side.")] = 1,
    output: Annotated[Path, typer.Option(help="Folder for the run folders.")] = Path("results"),
    engine: Annotated[EngineName, typer.Option(help="This machine, or a Ray cluster.")] = EngineName.local,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Log for TensorBoard too.")] = False,
) -> None:
    """Run one of the paper's experiments again, beside its published numbers.

    Example: kafnets reproduce sensorless --profile quick --activations tanh,kaf --seeds 2

    Finished runs are kept: interrupt it whenever you like, and the same command goes on where it was. "kaf
    from tanh" and "kaf frozen" are names too, for sensorless.
    """
    from kafnets.experiments import summary
    from kafnets.experiments.papers import EXPERIMENTS

    if experiment not in EXPERIMENTS:
        refuse(f"no experiment is called {experiment!r}: there are {', '.join(EXPERIMENTS)}")
    paper = EXPERIMENTS[experiment]
    with refusing():
        chosen = paper.descriptions(
            profile,
            words(activations) or paper.activations,
            whole_numbers("--layers", layers) if layers else (),
            seeds,
        )
    console = console_of_this_process()
    run_all(chosen, output, console, jobs=jobs, engine=engine, tensorboard=tensorboard)
    found = summary.cells(chosen, output)
    console.print(result_table(found, paper.published, experiment, profile))
