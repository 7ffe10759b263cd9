"""The command line: ``kafnets --help``."""

import json
import sys
from pathlib import Path
from typing import Annotated, NoReturn

try:
    import typer
    from rich.console import Console
    from rich.table import Table

    from kafnets.listing import activation_table, result_table, run_progress
except ImportError as error:  # pragma: no cover
    sys.exit(f"the kafnets command needs {error.name}: pip install 'kafnets[cli]'")

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Learned activation functions.")


@app.callback()
def _commands() -> None:
    """What other packages have registered is there before any command runs."""
    from kafnets.registry import load_plugins

    load_plugins()


@app.command()
def bench(
    output: Annotated[Path, typer.Option(help="Folder for result.json and the picture.")] = Path("benchmark"),
    quick: Annotated[bool, typer.Option(help="Fewer repetitions, for a first look.")] = False,
    rivals: Annotated[bool, typer.Option(help="The other activations, beside plain torch.")] = False,
) -> None:
    """Check that the fused kernels are right, then time them beside torch's activations.

    Example: kafnets bench --quick --output /tmp/bench

    Leave the machine alone meanwhile: it takes some minutes, fewer with --quick.
    """
    from kafnets.benchmark import report, run
    from kafnets.benchmark import rivals as zoo

    console = Console()
    output.mkdir(parents=True, exist_ok=True)
    stored = output / ("rivals.json" if rivals else "result.json")
    try:
        with console.status("starting") as status:
            result = (zoo if rivals else run).run(quick=quick, say=status.update)
    except KeyboardInterrupt:
        console.print("stopped; nothing was written")
        raise typer.Exit(130) from None
    (zoo if rivals else report).print_result(result, console)
    stored.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n")
    if not rivals:
        report.draw(result, output / "result.png")
    console.print(f"stored in {stored}")


@app.command("list")
def list_activations(
    family: Annotated[str | None, typer.Option(help="One family only, such as splines.")] = None,
) -> None:
    """Every activation by name: what it is, what it learns, and how it behaves.

    Example: kafnets list --family parametric

    "set by" is the option for its flexibility, "params" the learned parameters a neuron. "local" tells
    whether a parameter acts on a part of the line; "decay" whether weight decay may act on it ("own": a
    penalty of its own does). A wide terminal shows options and sources as well.
    """
    import kafnets
    from kafnets.registry import facts_of

    found = kafnets.names(family)
    if not found:
        families = dict.fromkeys(facts_of(name).family for name in kafnets.names())
        _refuse(f"no family is called {family!r}: give one of {', '.join(families)}")
    console = Console()
    console.print(activation_table(found, console.width))


data_commands = typer.Typer(no_args_is_help=True, help="Data sets: what there is, and fetching it.")
app.add_typer(data_commands, name="data")


@data_commands.command("list")
def list_data() -> None:
    """Every data set by name, and whether it is here.

    Example: kafnets data list
    """
    from kafnets import data

    folder = data.data_folder()
    table = Table("name", "what", "here", title=f"Data sets; folder: {folder}")
    for name, what in data.DESCRIPTIONS.items():
        here = name in data.SHIPPED or (folder / f"{name}.npz").exists()
        table.add_row(name, what, "yes" if here else "no")
    Console().print(table)


@data_commands.command("get")
def get_data(name: Annotated[str, typer.Argument(help="One of the names of `kafnets data list`.")]) -> None:
    """Download a data set if it is not here, check it, and tell what it holds.

    Example: kafnets data get sensorless
    """
    from kafnets import data

    try:
        splits = data.load(name)
    except ImportError as error:
        _refuse_without(error)
    except (ValueError, OSError) as error:
        _refuse(str(error))
    rows = [f"{len(part):,}" for part in (splits.train, splits.validation, splits.test)]
    parts = f"{rows[0]} rows to learn from, {rows[1]} to validate, {rows[2]} to test"
    Console().print(f"{splits.name}: {splits.task}, {splits.inputs} features, {parts}")


@app.command()
def reproduce(
    experiment: Annotated[str, typer.Argument(help="sensorless, susy or cifar10.")],
    profile: Annotated[str, typer.Option(help="paper, or quick for a smaller setting.")] = "paper",
    activations: Annotated[str, typer.Option(help="Names, with commas between them.")] = "",
    layers: Annotated[str, typer.Option(help="Numbers of hidden layers, with commas.")] = "",
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each.")] = 5,
    jobs: Annotated[int, typer.Option(min=1, help="Runs side by side.")] = 1,
    output: Annotated[Path, typer.Option(help="Folder for the run folders.")] = Path("results"),
) -> None:
    """Run one of the paper's experiments again, beside its published numbers.

    Example: kafnets reproduce sensorless --profile quick --activations tanh,kaf --seeds 2

    Finished runs are kept: interrupt it whenever you like, and the same command goes on where it was. "kaf
    from tanh" and "kaf frozen" are names too.
    """
    from kafnets.experiments import summary
    from kafnets.experiments.papers import EXPERIMENTS
    from kafnets.experiments.runner import execute_all

    if experiment not in EXPERIMENTS:
        _refuse(f"no experiment is called {experiment!r}: there are {', '.join(EXPERIMENTS)}")
    paper = EXPERIMENTS[experiment]
    try:
        chosen = paper.descriptions(
            profile,
            activations.split(",") if activations else paper.activations,
            [int(each) for each in layers.split(",")] if layers else (),
            seeds,
        )
    except ValueError as error:
        _refuse(str(error))
    console = Console()
    try:
        with run_progress(console, len(chosen)) as told:
            execute_all(chosen, output, jobs=jobs, told=told)
    except KeyboardInterrupt:
        console.print(f"stopped; the same command goes on from what is in {output}")
        raise typer.Exit(130) from None
    except ImportError as error:
        _refuse_without(error)
    except (ValueError, OSError, FloatingPointError) as error:
        _refuse(str(error))
    found = summary.cells(chosen, output)
    console.print(result_table(found, paper.published, f"{experiment}, {profile} profile"))


def _refuse_without(error: ImportError) -> NoReturn:
    _refuse(f"this needs {error.name}: pip install 'kafnets[experiments]'")


def _refuse(message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(2)


def main() -> None:
    """Entry point of the ``kafnets`` command."""
    app()
