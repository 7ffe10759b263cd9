"""The command line: ``kafnets --help``."""

import json
import sys
from pathlib import Path
from typing import Annotated

try:
    import typer
    from rich.console import Console
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
) -> None:
    """Check that the fused kernels are right, then time them beside torch's activations.

    Example: kafnets bench --quick --output /tmp/bench

    Leave the machine alone meanwhile: it takes some minutes, fewer with --quick.
    """
    from kafnets.benchmark import report, run

    console = Console()
    output.mkdir(parents=True, exist_ok=True)
    try:
        with console.status("starting") as status:
            result = run.run(quick=quick, say=status.update)
    except KeyboardInterrupt:
        console.print("stopped; nothing was written")
        raise typer.Exit(130) from None
    report.print_result(result, console)
    (output / "result.json").write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n")
    report.draw(result, output / "result.png")
    console.print(f"stored in {output / 'result.json'} and {output / 'result.png'}")


def main() -> None:
    """Entry point of the ``kafnets`` command."""
    app()
