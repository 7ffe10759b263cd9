"""``kafnets list``."""

from typing import Annotated

import typer
from rich.console import Console

from kafnets.cli.listing import activation_table
from kafnets.cli.refusals import refusing


def list_activations(
    family: Annotated[str | None, typer.Option(help="One family only, such as splines.")] = None,
) -> None:
    """Every activation by name: what it is, what it learns, and how it behaves.

    Example: kafnets list --family parametric

    "set by" is the option for its flexibility, "params" the learned parameters a neuron. "local" tells
    whether a parameter acts on a part of the line; "decay" whether weight decay may act on it ("own": a
    penalty of its own does). Columns that do not fit into the terminal are left out.
    """
    import kafnets

    with refusing():
        found = kafnets.names(family)
    console = Console()
    console.print(activation_table(found, console.width))
