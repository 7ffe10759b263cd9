"""``kafnets report``."""

from pathlib import Path
from typing import Annotated

import typer

from kafnets.cli.refusals import refusing
from kafnets.cli.sweeping import console_of_this_process


def report(
    runs: Annotated[
        Path, typer.Argument(help="Folder of runs from `kafnets compare` or `kafnets reproduce`.")
    ],
    output: Annotated[
        Path | None, typer.Option(help="Output file; default: report.html in that folder.")
    ] = None,
) -> None:
    """Write an HTML page about finished runs: ranking, learning curves, cost, learned activations.

    Example: kafnets report kafnets-runs

    The page is a single file that needs no network connection.
    """
    from kafnets.report import write

    page = output or runs / "report.html"
    with refusing():
        found = write(runs, page)
    told = f"{len(found.runs)} runs"
    if found.unfinished:
        told += f", {len(found.unfinished)} unfinished"
    if found.tuned:
        told += f", {len(found.tuned)} of `reproduce wider` omitted (they have no curves)"
    if found.skipped:
        told += f", {len(found.skipped)} skipped"
    console = console_of_this_process()
    for path, why in found.skipped:
        console.print(f"note: skipped {path}: {why}", soft_wrap=True)
    console.print(f"{page}: {told}", soft_wrap=True)
