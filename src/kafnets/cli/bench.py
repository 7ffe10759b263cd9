"""``kafnets bench``."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


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
