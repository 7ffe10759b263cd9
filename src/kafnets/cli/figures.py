"""``kafnets figures``."""

from pathlib import Path
from typing import Annotated

import typer

from kafnets.cli.refusals import refusing
from kafnets.cli.sweeping import console_of_this_process


def figures(
    output: Annotated[Path, typer.Option(help="Output folder.")] = Path("figures"),
    results: Annotated[
        Path | None,
        typer.Option(help="The store, or a folder of runs; default: results in a checkout, or kafnets-runs."),
    ] = None,
) -> None:
    """Reproduce the paper's figures and tables from stored runs.

    Example: kafnets figures --output /tmp/figures

    Where runs are missing, it prints the command that creates them.
    """
    console = console_of_this_process()
    with refusing():
        from kafnets.paper.evidence import Evidence
        from kafnets.paper.figures import write_all
        from kafnets.paper.store import CHECKSUMS

        if results is None:
            results = Path("results" if Path("results", CHECKSUMS).exists() else "kafnets-runs")
        for name, outcome in write_all(Evidence(results), output):
            console.print(f"{name}: {outcome}", soft_wrap=True)
    console.print(f"all in {output}", soft_wrap=True)
