"""What the command line shows: the table of all activations, progress, results."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from kafnets.experiments.description import Description
from kafnets.experiments.published import Published
from kafnets.experiments.summary import Cell
from kafnets.registry import facts_of, options_of


@contextmanager
def run_progress(console: Console, total: int) -> Iterator[Callable[[Description, str], None]]:
    """A bar over runs; call what it gives after each of them."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("runs", total=total)

        def told(description: Description, outcome: str) -> None:
            progress.update(bar, advance=1, description=f"{description.folder.parent.name}: {outcome}")

        yield told


def result_table(cells: list[Cell], published: Mapping[tuple[str, int], Published], title: str) -> Table:
    """Means and deviations over seeds, best first, the paper's value beside."""
    metric = cells[0].metric if cells else "score"
    table = Table(
        "activation", "layers", f"test {metric}", "seeds", "parameters", "paper", "difference", title=title
    )
    for cell in sorted(cells, key=lambda each: -each.mean):
        paper = published.get((cell.label, cell.layers))
        table.add_row(
            cell.label,
            str(cell.layers),
            f"{cell.mean:.4f} ± {cell.deviation:.4f}",
            str(len(cell.values)) + (f" of {cell.wanted}" if len(cell.values) < cell.wanted else ""),
            f"{cell.parameters:,}",
            "-" if paper is None else f"{paper.mean:.4f}",
            "-" if paper is None else f"{cell.mean - paper.mean:+.4f}",
        )
    return table


def activation_table(names: list[str], width: int) -> Table:
    """One row a name. Narrow terminals get fewer columns."""
    headings = ["name", "formula", "set by", "params", "smooth", "local", "decay", "plot"]
    if width >= 120:
        headings += ["options", "source"]
    table = Table(*headings, title="Activations", row_styles=["", "dim"])
    for column in table.columns:
        column.overflow = "fold"  # wrapped, never cut
    table.columns[0].no_wrap = True
    family = ""
    for name in names:
        facts = facts_of(name)
        if facts.family != family:
            table.add_section()
            family = facts.family
        cells = {
            "name": name,
            "formula": facts.formula,
            "options": ", ".join(_shown(*option) for option in options_of(name).items()),
            "set by": facts.hyperparameter or "-",
            "params": facts.parameters,
            "smooth": _yes_or_no(facts.smooth),
            "local": facts.local or "-",
            "decay": facts.regularization or "-",
            "plot": _yes_or_no(facts.plottable),
            "source": facts.source,
        }
        table.add_row(*(cells[heading] for heading in headings))
    return table


def _yes_or_no(fact: bool | None) -> str:
    return "?" if fact is None else "yes" if fact else "no"


def _shown(option: str, default: object) -> str:
    if default is None:
        return option
    return f"{option}={default:.3g}" if isinstance(default, float) else f"{option}={default}"
