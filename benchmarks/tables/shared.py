"""What members that share weights are worth, and what they take, on the development tables.

    python -m benchmarks.tables.shared

PLAN.md says what is run. Runs that are stored are not repeated; page.py writes their table.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.tables import suite, summary
from benchmarks.tables.run import Run, run_all

OUTPUT = Path("benchmarks/results/shared.jsonl")
TABLES = suite.GROUPS["development"]
DIVISIONS, LIMIT = 2, 3000
"""How often each table is divided, and how many rows are learned from at most."""

ONE = "kafnets-1"
METHODS = {
    ONE: "one network",
    "kafnets-1-longer": "one network, three times the epochs",
    "kafnets-3": "three separate networks",
    "kafnets-shared": "eight members that share weights",
    "kafnets-shared:relu": "the same, with ReLU",
    "kafnets": "six separate networks, the default",
}
"""By method: what it is."""

Lines = Sequence[Mapping[str, Any]]


def runs() -> Iterator[Run]:
    """Table by table, so that all methods have the same tables whenever it is stopped."""
    for table, number, method in itertools.product(TABLES, range(DIVISIONS), METHODS):
        yield Run(table, method, number, "validation", LIMIT)


def errors(lines: Lines) -> dict[str, dict[str, float]]:
    """By method and table, of tables that all methods have."""
    found = summary.errors(lines, TABLES, "validation", DIVISIONS)
    common = set.intersection(*(set(found.get(name, {})) for name in METHODS))
    return {method: {table: own[table] for table in sorted(common)} for method, own in found.items()}


def times(lines: Lines) -> dict[str, float]:
    """By method: processor time of learning over that of one network, the median over all runs."""
    seconds = {
        (line["method"], line["table"], line["division"]): line["seconds"]["fit_cpu"]
        for line in lines
        if "seconds" in line
    }
    return {
        method: median(
            value / seconds[ONE, table, number]
            for (own, table, number), value in seconds.items()
            if own == method and (ONE, table, number) in seconds
        )
        for method in METHODS
    }


def table(lines: Lines) -> str:
    """In Markdown: a row per method, and members against one network of more time in a line of their own."""
    found, taken = errors(lines), times(lines)
    against = {each.method: each.inverse for each in summary.pairs(found, ONE)}
    headings = ("", "error / one network's", "95 % interval", "p (Holm)", "time / one network's")
    rows = [(METHODS[ONE], "1", "", "", "1")]
    for method, called in METHODS.items():
        if method != ONE:
            rows.append((called, *against[method].cells(), f"{taken[method]:.2f}"))
    longer = {name: found[name] for name in ("kafnets-shared", "kafnets-1-longer")}
    (pair,) = summary.pairs(longer, "kafnets-shared")
    told = (
        f"Over {pair.tables} of {len(TABLES)} development tables, {DIVISIONS} divisions each, at most "
        f"{LIMIT:,} rows; exploratory. Members that share weights against one network with three times the "
        f"epochs: {pair.ratio:.3f} of its errors, from {pair.interval[0]:.3f} to {pair.interval[1]:.3f}, "
        f"p = {pair.p:.2g}."
    )
    return f"{summary.markdown(headings, rows)}\n\n{told}"


def main() -> None:
    """Run what is missing."""
    run_all(runs(), OUTPUT)


if __name__ == "__main__":
    main()
