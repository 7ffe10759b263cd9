"""What each ingredient of the recipe is worth: the default with one left out, on the development tables.

python -m benchmarks.tables.ingredients

PLAN.md says what is run. Runs that are stored are not repeated; page.py writes their table and picture.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks.tables import suite, summary
from benchmarks.tables.run import Run, run_all, task_of
from kafnets.plot import style

OUTPUT = Path("benchmarks/results/ingredients.jsonl")
PICTURE = Path("docs/images/ingredients.svg")
TABLES = suite.GROUPS["development"]
DIVISIONS, LIMIT = 1, 1500
"""How often each table is divided, and how many rows are learned from at most."""

DEFAULT = "kafnets"
CLASSES_ONLY, NUMBERS_ONLY = ("kafnets:no-smoothing",), ("kafnets:clamped",)
LEFT_OUT = {
    "kafnets:no-learned": ("learned functions", "Mish, no embeddings"),
    "kafnets:relu": ("KAFs inside", "ReLU"),
    "kafnets:mish": ("KAFs inside", "Mish"),
    "kafnets:no-base": ("Mish as base of KAFs", "KAFs alone"),
    "kafnets:no-embedding": ("KAF embeddings in every second network", "in none"),
    "kafnets:embed-all": ("KAF embeddings in every second network", "in all"),
    "kafnets:periodic": ("KAF embeddings in every second network", "periodic ones"),
    "kafnets:standardized": ("robust scaling with smooth clipping", "standardization"),
    "kafnets:beta-0.999": ("AdamW with beta2 = 0.95", "0.999"),
    "kafnets:one-cosine": ("four cosines", "one cosine"),
    "kafnets:no-dropout": ("dropout", "none"),
    "kafnets:no-decay": ("weight decay", "none"),
    "kafnets:steady": ("dropout and decay that end at zero", "constant"),
    "kafnets:no-smoothing": ("label smoothing", "none"),
    "kafnets:last-epoch": ("best epoch", "last epoch"),
    "kafnets-1": ("six networks", "one network"),
}
"""By method: the ingredient, and what is there instead."""

ADDED = {
    "kafnets:biases": "initial biases drawn from training rows",
    "kafnets:slow-kafs": "a tenth of the learning rate for KAFs",
    "kafnets:tails": "linear tails of KAFs",
    "kafnets:clamped": "predictions clipped to the range of the target",
}
"""By method: what the default does without."""

Lines = Sequence[Mapping[str, Any]]


def runs() -> Iterator[Run]:
    """Table by table, so that all methods have the same tables whenever it is stopped."""
    for methods in (LEFT_OUT, ADDED):
        for table, method in itertools.product(TABLES, (DEFAULT, *methods)):
            excluded = CLASSES_ONLY if task_of(suite.table(table)) == "regression" else NUMBERS_ONLY
            if method not in excluded:
                yield from (Run(table, method, number, "validation", LIMIT) for number in range(DIVISIONS))


def errors(lines: Lines, methods: Iterable[str] = LEFT_OUT) -> dict[str, dict[str, float]]:
    """By method and table, of tables that all methods have, but for those of classes or of numbers only."""
    found, names = summary.errors(lines, TABLES, "validation", DIVISIONS), (DEFAULT, *methods)
    every = [set(found.get(name, {})) for name in names if name not in CLASSES_ONLY + NUMBERS_ONLY]
    common = set.intersection(*every)
    return {
        name: {table: value for table, value in found.get(name, {}).items() if table in common}
        for name in names
    }


def effects(lines: Lines, methods: Iterable[str] = LEFT_OUT) -> list[summary.Pair]:
    """For each method, its errors over those of the default, in their order."""
    against = {each.method: each.inverse for each in summary.pairs(errors(lines, methods), DEFAULT)}
    return [against[method] for method in methods if method in against]


def table(lines: Lines) -> str:
    """In Markdown: a row per ingredient."""
    head = ["ingredient", "instead", "tables", "error without / with", "95 % interval", "p (Holm)"]
    return _table(lines, LEFT_OUT, head, [[*LEFT_OUT[each.method], *_cells(each)] for each in effects(lines)])


def added_table(lines: Lines) -> str:
    """In Markdown: a row per addition."""
    head = ["addition", "tables", "error with / without", "95 % interval", "p (Holm)"]
    return _table(lines, ADDED, head, [[ADDED[each.method], *_cells(each)] for each in effects(lines, ADDED)])


def _cells(each: summary.Pair) -> tuple[str, ...]:
    return (str(each.tables), *each.cells())


def _table(lines: Lines, methods: Iterable[str], head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    covered = len(errors(lines, methods)[DEFAULT])
    told = f"Over {covered} of {len(TABLES)} development tables, one division each; exploratory."
    return f"{summary.markdown(head, rows)}\n\n{told}"


def picture(lines: Lines) -> Figure:
    """A row per ingredient: small dots for tables, a large one and a line for the mean and its interval."""
    found, own = errors(lines), effects(lines)
    figure, (panel,) = style.grid(1, 1, width=7.5, height=0.28 * len(own) + 0.7)
    for place, each in enumerate(own):
        ratios = np.array([value / found[DEFAULT][name] for name, value in found[each.method].items()])
        panel.plot(ratios, [place] * len(ratios), "o", color="#555555", alpha=0.3, markersize=3.5)
        panel.plot(each.interval, [place] * 2, color="#cc3311", linewidth=2)
        panel.plot(each.ratio, place, "o", color="#cc3311", markersize=6)
    panel.set_xscale("log")
    marks = [0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.5, 2, 3]
    low, high = panel.get_xlim()
    marks = [mark for mark in marks if low <= mark <= high]
    panel.set_xticks(marks, [f"{mark:g}" for mark in marks], fontsize=8)
    panel.minorticks_off()
    panel.axvline(1, **style.REFERENCE)
    names = [f"{what} → {instead}" for what, instead in (LEFT_OUT[each.method] for each in own)]
    panel.set_yticks(range(len(own)), names, fontsize=8)
    panel.invert_yaxis()
    figure.supxlabel(
        "error without the ingredient / error with it; dots: tables, lines: geometric means, 95 % intervals",
        fontsize=8,
    )
    return figure


def main() -> None:
    """Run what is missing."""
    run_all(runs(), OUTPUT)


if __name__ == "__main__":
    main()
