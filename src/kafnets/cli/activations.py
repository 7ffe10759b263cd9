"""``kafnets list``."""

import dataclasses
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from kafnets.cli.refusals import refusing
from kafnets.cli.sweeping import AsJson, print_json

COLUMNS = {
    "name": 0,
    "formula": 0,
    "parameters": 0,
    "smooth": 100,
    "local": 100,
    "decay": 100,
    "source": 120,
    "options": 160,
}
"""By heading: the width of terminal from which it is shown."""


def list_activations(
    family: Annotated[str | None, typer.Option(help="One family only, such as splines.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the activations with their formulas, parameters and properties.

    Example: kafnets list --family parametric

    "parameters": per neuron. "local": whether a parameter affects only a part of the input's range. "decay":
    whether weight decay applies ("own": the activation has a penalty of its own instead). Wide terminals show
    more columns.
    """
    from kafnets import registry
    from kafnets.registry import facts_of, options_of

    with refusing():
        names = registry.names(family)
    if as_json:
        print_json([{"name": name, **dataclasses.asdict(facts_of(name))} for name in names])
        return
    console = Console()
    shown = [heading for heading, width in COLUMNS.items() if console.width >= width]
    table = Table(*shown, box=SIMPLE_HEAD, pad_edge=False)
    table.columns[0].no_wrap = True
    for column in table.columns:
        column.overflow = "fold"  # wrapped, never cut
    previous = None
    for name in names:
        facts = facts_of(name)
        if previous not in (None, facts.family):
            table.add_section()
        previous = facts.family
        cells = {
            "name": name,
            "formula": facts.formula,
            "parameters": facts.parameters,
            "smooth": {None: "?", True: "yes", False: "no"}[facts.smooth],
            "local": facts.local or "-",
            "decay": facts.regularization or "-",
            "source": facts.source,
            "options": ", ".join(_option(*option) for option in options_of(name).items()),
        }
        table.add_row(*(cells[heading] for heading in shown))
    console.print(table)


def _option(name: str, default: object) -> str:
    if default is None:
        return name
    return f"{name}={default:.3g}" if isinstance(default, float) else f"{name}={default}"
