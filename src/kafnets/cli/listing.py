"""What the command line shows of runs: progress and results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

if TYPE_CHECKING:  # they import torch, which takes long, and a command's help needs none of them
    from kafnets.comparison.runner import Runnable
    from kafnets.comparison.summary import Cell
    from kafnets.comparison.sweep import Told, Watched


@contextmanager
def run_progress(console: Console, total: int) -> Iterator[tuple[Told, Watched]]:
    """A bar over runs; call what it gives after each run, and after each epoch of one."""
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("starting", total=total)

        def told(description: Runnable, outcome: str) -> None:
            progress.update(bar, advance=1, description=f"{_called(description)}: {outcome}")

        def watched(description: Runnable, row: dict[str, Any]) -> None:
            score = next(value for name, value in reversed(row.items()) if name.startswith("validation_"))
            how_far = (
                f"{row['steps']:,} steps, reward {score:.1f}"
                if "steps" in row
                else (f"epoch {row['epoch']}, validation {score:.4f}")
            )
            text = f"{_called(description)}: {how_far}"
            progress.update(bar, description=text)

        yield told, watched


def _called(description: Runnable) -> str:
    from kafnets.comparison.summary import in_layers

    layers = len(description.hidden)
    where = getattr(
        description,
        "environment",
        in_layers(layers) if layers else description.data,
    )
    return f"{description.label}, {where}, seed {description.seed}"


def ranked_table(cells: list[Cell], ratios: Mapping[str, float], title: str) -> Table:
    """Best first: means and deviations over seeds, sizes, the time of a step if there are any."""
    headings = ["", "activation", f"test {cells[0].metric}", "parameters"]
    table = Table(*headings, *(["time a step / ReLU's"] if ratios else []), title=title)
    for place, cell in enumerate(_best_first(cells), 1):
        runs = "" if len(cell.test) == cell.wanted else f" ({len(cell.test)} of {cell.wanted} runs)"
        ratio = ratios.get(cell.label)
        table.add_row(
            str(place),
            cell.label,
            str(cell) + runs,
            f"{cell.parameters:,}",
            *(["-" if ratio is None else f"{ratio:.2f}"] if ratios else []),
        )
    return table


def verdict(cells: list[Cell], baseline: str) -> str:
    """Whether the best differs from the baseline by more than noise."""
    from kafnets.comparison.summary import complete

    best = _best_first(complete(cells))[0]
    base = next((cell for cell in cells if cell.label == baseline), None)
    if base is None:
        return f"No run of {baseline} came to its end, so there is nothing to test against."
    if len(cells) == 1:
        return f"Only {baseline} was run: name others with --activations."
    if best is base:
        return f"Nothing did better than {baseline}."
    tested = best.against(base)
    if tested is None:
        return (
            f"So few seeds tell nothing about noise between {best.label} and {baseline}: give more --seeds."
        )
    rivals = len(cells) - 1
    found = tested.corrected(rivals)
    what = "more than noise" if found.significant else "no more than noise may do"
    corrected = f", times {rivals} for as many rivals" if rivals > 1 else ""
    return (
        f"{best.label} differs from {baseline} by {found.difference:+.4f}: {what} "
        f"({found.name}, p = {found.p_value:.2g}{corrected})."
    )


def _best_first(cells: list[Cell]) -> list[Cell]:
    return sorted(cells, key=lambda cell: -cell.mean)
