"""The command line: ``kafnets --help``."""

import json
import sys
from pathlib import Path
from typing import Annotated

try:
    import typer
    from rich.console import Console

    from kafnets.listing import activation_table
except ImportError as error:  # pragma: no cover
    sys.exit(f"the kafnets command needs {error.name}: pip install 'kafnets[cli]'")

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Learned activation functions.")


@app.callback()
def _commands() -> None:
    """Keeps the commands' names when there is only one."""


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

    "params" are learned parameters a neuron, in terms of the options. "local" tells whether a parameter acts
    on a part of the line; "decay" whether weight decay may act on it ("own": a penalty of its own does). A
    wide terminal shows options and sources as well.
    """
    import kafnets
    from kafnets.registry import facts_of

    found = kafnets.names(family)
    if not found:
        families = dict.fromkeys(facts_of(name).family for name in kafnets.names())
        typer.echo(f"no family is called {family!r}: give one of {', '.join(families)}", err=True)
        raise typer.Exit(2)
    console = Console()
    console.print(activation_table(found, console.width))


def main() -> None:
    """Entry point of the ``kafnets`` command."""
    app()
