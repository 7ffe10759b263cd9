"""The command line: ``kafnets --help``."""

import sys
from typing import Annotated

try:
    import typer

    from kafnets.cli.activations import list_activations
    from kafnets.cli.bench import bench
    from kafnets.cli.clip import clip
    from kafnets.cli.compare import compare
    from kafnets.cli.datasets import data_commands
    from kafnets.cli.figures import figures
    from kafnets.cli.report import report
    from kafnets.cli.reproduce import reproduce
except ImportError as error:  # pragma: no cover
    sys.exit(f"the kafnets command needs {error.name}: pip install 'kafnets[cli]'")

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Learned activation functions.")
app.command()(compare)
app.add_typer(reproduce, name="reproduce")
app.command()(report)
app.command()(figures)
app.command()(clip)
app.add_typer(data_commands, name="data")
app.command("list")(list_activations)
app.command()(bench)


def _tell_version(wanted: bool) -> None:
    if wanted:
        import kafnets

        typer.echo(f"kafnets {kafnets.__version__}")
        raise typer.Exit


@app.callback()
def _commands(
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Which one this is.")
    ] = False,
) -> None:
    """What other packages have registered is there before any command runs."""
    from kafnets.registry import load_plugins

    load_plugins()


def main() -> None:
    """Entry point of the ``kafnets`` command."""
    app()
