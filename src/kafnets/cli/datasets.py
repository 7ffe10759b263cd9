"""``kafnets data``."""

from typing import Annotated

import typer
from rich.console import Console

from kafnets.cli.completion import data_names
from kafnets.cli.refusals import refusing
from kafnets.cli.sweeping import AsJson, print_json
from kafnets.comparison.table import Table

data_commands = typer.Typer(no_args_is_help=True, help="List and download data sets.")


@data_commands.command("list")
def list_data(as_json: AsJson = False) -> None:
    """List all data sets, and whether each is available locally.

    Example: kafnets data list
    """
    from kafnets import data

    if as_json:
        shown = ("name", "rows", "description", "package", "here")
        print_json([{fact: getattr(each, fact) for fact in shown} for each in data.SETS.values()])
        return
    rows = tuple(
        (each.name, f"{each.rows:,}", each.description, each.package, "yes" if each.here else "no")
        for each in data.SETS.values()
    )
    title = f"Data sets; folder: {data.data_folder()}"
    Console().print(Table(title, ("name", "rows", "description", "package", "local"), rows))


@data_commands.command("get")
def get_data(
    name: Annotated[str, typer.Argument(help="A name of `kafnets data list`.", autocompletion=data_names)],
) -> None:
    """Download a data set if necessary, verify it, and describe it.

    Example: kafnets data get sensorless
    """
    from kafnets import data

    with refusing():
        found, splits = data.find(name), data.load(name)
    rows = [f"{len(part):,}" for part in (splits.train, splits.validation, splits.test)]
    parts = f"{rows[0]} training, {rows[1]} validation and {rows[2]} test rows"
    told = [f"{splits.name}: {splits.task}, {splits.inputs} features, {parts}"]
    told += [
        f"Source: {found.source}. License: {found.license}.",
        *(f"note: {note}" for note in splits.notes),
    ]
    Console().print("\n".join(told), markup=False, highlight=False)
