"""Log-losses of the default, of other ways to probabilities, and of other methods.

    python -m benchmarks.tables.probabilities

It runs what is missing of the default, of the default calibrated by held-out rows, and with the best epoch by
log-loss, on the development tables of classification. Runs that are stored are not repeated; page.py writes
the tables.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.tables import suite, summary
from benchmarks.tables.run import Run, run_all, task_of

OUTPUT = Path("benchmarks/results/probabilities.jsonl")
TABLES = suite.GROUPS["development"]
DIVISIONS, LIMIT = 2, 1500
"""How often each table is divided, and how many rows are learned from at most."""

DEFAULT = "kafnets"
"""Before calibration became a part of it."""
CALIBRATED = "kafnets:calibrated"
METHODS = {
    CALIBRATED: "`calibrate_probabilities=True`",
    "kafnets:by-loss": '`metric="loss"`',
}
"""By method: what is not the default."""

Lines = Sequence[Mapping[str, Any]]


def runs() -> Iterator[Run]:
    """Table by table, so that all methods have the same tables whenever it is stopped."""
    for table, number, method in itertools.product(TABLES, range(DIVISIONS), (DEFAULT, *METHODS)):
        if task_of(suite.table(table)) != "regression":
            yield Run(table, method, number, "validation", LIMIT)


def table(lines: Lines) -> str:
    """In Markdown: log-losses and errors of each over those of the default."""
    interval = "95 % interval"
    headings = ("", "log-loss / the default's", interval, "p (Holm)", "error / the default's", interval)
    rows = []
    found = [
        {
            each.method: each.inverse
            for each in summary.pairs(summary.errors(lines, TABLES, "validation", DIVISIONS, score), DEFAULT)
        }
        for score in ("log_loss", "error")
    ]
    for method, called in METHODS.items():
        losses, errors = (each[method] for each in found)
        rows.append((called, *losses.cells(), *errors.cells()[:2]))
    return summary.markdown(headings, rows)


def beside(lines: Lines, methods: Sequence[str]) -> str:
    """In Markdown: log-losses of the calibrated default over those of others, on the confirmation tables.

    All are compared on as many divisions as it has finished on all tables.

    Args:
        lines: stored runs.
        methods: the others; the first is not calibrated.
    """
    confirmed = suite.GROUPS["confirmation"]
    every = set(summary.errors(lines, confirmed, "test", score="log_loss")[methods[0]])
    for count in range(suite.DIVISIONS, 1, -1):
        found = summary.errors(lines, confirmed, "test", count, score="log_loss")
        if every == set(found.get(CALIBRATED, ())):
            break
    else:
        return "Not finished yet."
    headings = (
        "method",
        "tables",
        "log-loss, the default's / its",
        "95 % interval",
        "p",
        "lower for the default",
    )
    rows = []
    for method in (each for each in methods if each in found):
        (pair,) = summary.pairs({name: found[name] for name in (CALIBRATED, method)}, CALIBRATED)
        both = found[CALIBRATED].keys() & found[method].keys()
        lower = sum(found[CALIBRATED][name] < found[method][name] for name in both)
        called = "kafnets, not calibrated" if method == DEFAULT else method
        rows.append((called, str(pair.tables), *pair.cells(), f"{lower} of {pair.tables}"))
    told = f"Over the tables of classification, on {_divisions(count)}."
    return f"{summary.markdown(headings, rows)}\n\n{told}"


def _divisions(count: int) -> str:
    return (
        "all divisions" if count == suite.DIVISIONS else f"the first {count} of {suite.DIVISIONS} divisions"
    )


def main() -> None:
    """Run what is missing."""
    run_all(runs(), OUTPUT)


if __name__ == "__main__":
    main()
