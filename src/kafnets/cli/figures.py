"""``kafnets figures``."""

from pathlib import Path
from typing import Annotated

import typer

from kafnets.cli.refusals import refusing
from kafnets.cli.sweeping import console_of_this_process


def figures(
    output: Annotated[Path, typer.Option(help="Folder for the pictures and tables.")] = Path("figures"),
    results: Annotated[
        Path | None,
        typer.Option(
            help="The store, or a folder of runs; by default results in a checkout, or kafnets-runs."
        ),
    ] = None,
) -> None:
    """Draw every figure of the paper again, and write its tables.

    Example: kafnets figures --output /tmp/figures

    Figures of trained networks are drawn from stored runs; where there are none, it says how to get them.
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
