"""The command line: ``kafnets --help``."""

import signal
import sys
import warnings
from typing import Annotated

from kafnets.packages import missing

try:
    import typer

    from kafnets.cli.activations import list_activations
    from kafnets.cli.bench import bench
    from kafnets.cli.clip import clip
    from kafnets.cli.compare import compare
    from kafnets.cli.datasets import data_commands
    from kafnets.cli.export import export
    from kafnets.cli.figures import figures
    from kafnets.cli.predict import predict
    from kafnets.cli.report import report
    from kafnets.cli.reproduce import reproduce
except ImportError as error:  # pragma: no cover
    sys.exit(missing("the kafnets command", error.name))
except KeyboardInterrupt:  # pragma: no cover
    sys.exit(130)

app = typer.Typer(no_args_is_help=True, help="Learned activation functions.")
app.command()(compare)
app.add_typer(reproduce, name="reproduce")
app.command()(predict)
app.command()(export)
app.command()(report)
app.command()(figures)
app.command()(clip)
app.add_typer(data_commands, name="data")
app.command("list")(list_activations)
app.command()(bench)


def _show_version(wanted: bool) -> None:
    if wanted:
        import kafnets

        typer.echo(f"kafnets {kafnets.__version__}")
        raise typer.Exit


@app.callback()
def _commands(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """What other packages have registered is there before any command runs."""
    if "--help" in sys.argv or context.resilient_parsing:  # nothing runs, and torch takes long to import
        return
    from kafnets.registry import load_plugins

    load_plugins()


def main() -> None:
    """Entry point of the ``kafnets`` command.

    Ctrl-C ends it at once and without a traceback, but for commands that have to say how to resume.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    warnings.formatwarning = lambda message, *_args, **_options: f"note: {message}\n"
    app()
