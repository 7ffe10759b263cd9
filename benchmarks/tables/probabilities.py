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
METHODS = {
    "kafnets:calibrated": "`calibrate_probabilities=True`",
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
    rows = [
        [
            "",
            "log-loss / the default's",
            "95 % interval",
            "p (Holm)",
            "error / the default's",
            "95 % interval",
        ]
    ]
    rows.append(["---"] * len(rows[0]))
    found = [
        {
            each.method: each.inverse
            for each in summary.pairs(summary.errors(lines, TABLES, "validation", DIVISIONS, score), DEFAULT)
        }
        for score in ("log_loss", "error")
    ]
    for method, called in METHODS.items():
        losses, errors = (each[method] for each in found)
        rows.append([called, *_ratio(losses), f"{losses.p:.2g}", *_ratio(errors)])
    return _markdown(rows)


def beside(lines: Lines, methods: Sequence[str]) -> str:
    """In Markdown: log-losses of the default over those of other methods, on the confirmation tables."""
    found = summary.errors(lines, suite.GROUPS["confirmation"], "test", score="log_loss")
    rows = [
        ["method", "tables", "log-loss, the default's / its", "95 % interval", "p", "lower for the default"]
    ]
    rows.append(["---"] * len(rows[0]))
    for method in methods:
        (pair,) = summary.pairs({name: found[name] for name in (DEFAULT, method)}, DEFAULT)
        both = found[DEFAULT].keys() & found[method].keys()
        lower = sum(found[DEFAULT][name] < found[method][name] for name in both)
        rows.append([method, str(pair.tables), *_ratio(pair), f"{pair.p:.2g}", f"{lower} of {pair.tables}"])
    return _markdown(rows)


def _ratio(pair: summary.Pair) -> tuple[str, str]:
    low, high = pair.interval
    return f"{pair.ratio:.3f}", f"{low:.3f} to {high:.3f}"


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main() -> None:
    """Run what is missing."""
    run_all(runs(), OUTPUT)


if __name__ == "__main__":
    main()
