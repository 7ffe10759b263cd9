"""Write the tables and the picture of docs/tables.md from what is stored, or check what the tables say.

python -m benchmarks.tables.page [--check]
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context

from benchmarks.tables import calibration, fit_times, ingredients, run, shared, suite, summary
from benchmarks.tables.run import stored
from kafnets.files import write
from kafnets.paper.documents import filled

PAGE = Path("docs/tables.md")
DEFAULTS = ("kafnets", "kafnets-before", "mlp", "boosting", "lightgbm", "forest")
"""Those of the first comparison, which are ranked together."""

BESIDE = ("xgboost", "catboost", "realmlp-td", "tabm", "edgewise")
RECIPE = ("kafnets", "kafnets:relu", "kafnets:mish", "kafnets:pact", "kafnets:periodic")
SINGLE = ("kafnets-1", "kafnets-1:relu", "kafnets-1:mish", "kafnets-1:pact")
MEMBERS = ("kafnets", "realmlp-td-6")
TABLES = suite.GROUPS["confirmation"]
ALONE = "with nothing else running"
LEAST = 2
"""Divisions that a preliminary comparison needs on every table."""

Errors = Mapping[str, Mapping[str, float]]


def by_divisions(lines: Sequence[Mapping[str, Any]]) -> dict[int, Errors]:
    """Errors over the first so many divisions, from all of them down to the fewest that are shown."""
    return {
        count: summary.errors(lines, TABLES, "test", count) for count in range(suite.DIVISIONS, LEAST - 1, -1)
    }


def ranked(found: Mapping[int, Errors], methods: Sequence[str]) -> str:
    """The methods that have been run, the first of which is the reference; each table over like divisions.

    A table over all divisions comes first, with the methods that have finished all tables or, if these are
    not two yet, over the tables that all have. Then preliminary ones, with those that have finished fewer
    divisions on all tables.

    Args:
        found: errors by the number of divisions, see :func:`by_divisions`.
        methods: in the order of the plan.
    """
    told, shown, covered = list[str](), list[str](), 0
    for count, own in found.items():
        there = [name for name in methods if set(TABLES) <= set(own.get(name, {}))]
        if count == suite.DIVISIONS and not _comparable(there, methods):
            there = [name for name in methods if name in own]
        common = [table for table in TABLES if all(table in own[name] for name in there)]
        more = len(there) > len(shown) or len(common) > covered
        if _comparable(there, methods) and common and more:
            shown, covered = there, len(common)
            those = {name: {table: own[name][table] for table in common} for name in there}
            told += [summary.ranking(those, methods[0], common, level=True), _resting_on(covered, count)]
    if left := [name for name in methods[1:] if name not in shown]:
        told.append(f"Not finished yet: {', '.join(left)}.")
    return "\n\n".join(told)


def on_first_division(lines: Sequence[Mapping[str, Any]], methods: Sequence[str]) -> str:
    """The methods, over the tables of which all have finished the first division."""
    found = {name: own for name, own in summary.errors(lines, TABLES, "test", 1).items() if name in methods}
    common = [table for table in TABLES if all(table in own for own in found.values())]
    those = {name: {table: found[name][table] for table in common} for name in methods}
    return f"{summary.ranking(those, methods[0], common, level=True)}\n\n{_resting_on(len(common), 1)}"


def _comparable(names: Sequence[str], methods: Sequence[str]) -> bool:
    return methods[0] in names and len(names) > 1


def _resting_on(tables: int, divisions: int) -> str:
    """What a comparison rests on."""
    told = f"Over {tables} of {len(TABLES)} tables"
    if divisions == suite.DIVISIONS:
        return f"{told}."
    first = "first" if divisions == 1 else f"first {divisions}"
    return f"{told}, on the {first} of {suite.DIVISIONS} divisions: preliminary."


def beside(found: Mapping[int, Errors], lines: Sequence[Mapping[str, Any]]) -> str:
    """The default against each other method, over the tables that both have."""
    told = []
    for name in BESIDE:
        if any(name in own for own in found.values()):
            told.append(f"{name}:\n\n{ranked(found, ('kafnets', name))}")
        elif any(name == line["method"] for line in lines):
            told.append(f"{name}:\n\n{on_first_division(lines, ('kafnets', name))}")
    return "\n\n".join(told)


def errors_by_table(found: Errors) -> str:
    """A row per table, a column per method."""
    methods = [name for name in (*DEFAULTS, *BESIDE) if name in found]
    rows = [["table", *methods], ["---"] * (len(methods) + 1)]
    for table in TABLES:
        own = {method: found[method].get(table) for method in methods}
        known = [value for value in own.values() if value is not None]
        texts = [
            "" if value is None else f"**{value:.4g}**" if value == min(known) else f"{value:.4g}"
            for value in own.values()
        ]
        if known:
            rows.append([table, *texts])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def times(lines: Sequence[Mapping[str, Any]]) -> str:
    """Processor time of a fit: the median, and the longest, by method."""
    rows = [["method", "fits", "median [s]", "longest [s]"], ["---"] * 4]
    for method in (*DEFAULTS, *BESIDE, "kafnets-1"):
        own = [line["seconds"]["fit_cpu"] for line in lines if line["method"] == method and "seconds" in line]
        if own:
            rows.append([method, str(len(own)), f"{np.median(own):.3g}", f"{max(own):.3g}"])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def made_with(lines: Sequence[Mapping[str, Any]], machine: str = "on a shared machine") -> str:
    """Runs, commits and processors, and whether the machine did other work."""
    stamps = [line["provenance"] for line in lines]
    failed = sum("failed" in line for line in lines)
    commits = sorted({each["commit"][:7] for each in stamps})
    processors = sorted({each["hardware"]["processor"] for each in stamps})
    return (
        f"{len(lines)} runs, of which {failed} failed; commits {', '.join(commits)}; "
        f"{', '.join(processors)}, one thread per run, {machine}."
    )


def page(text: str, root: Path = Path()) -> str:
    """The page with its tables, from all runs that are stored below a folder."""
    lines, left_out, sharing, calibrated, timed = (
        list(stored(root / each.OUTPUT)) for each in (run, ingredients, shared, calibration, fit_times)
    )
    lines = [line for line in lines if line["part"] == "test" and line["table"] in TABLES]
    found = by_divisions(lines)
    blocks = {
        "tables-defaults": lambda: ranked(found, DEFAULTS),
        "tables-beside": lambda: beside(found, lines),
        "tables-recipe": lambda: ranked(found, RECIPE),
        "tables-single": lambda: ranked(found, SINGLE),
        "tables-members": lambda: on_first_division(lines, MEMBERS),
        "tables-ingredients": lambda: f"{ingredients.table(left_out)}\n\n{made_with(left_out)}",
        "tables-shared": lambda: f"{shared.table(sharing)}\n\n{made_with(sharing)}",
        "tables-calibration": lambda: calibration.told(calibrated),
        "tables-errors": lambda: errors_by_table(found[suite.DIVISIONS]),
        "tables-times": lambda: times(lines),
        "tables-fit-times": lambda: f"{fit_times.told(timed)}\n\n{made_with(timed, ALONE)}",
        "tables-made-with": lambda: made_with(lines),
    }
    return filled(text, blocks)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page is stale")
    check = parser.parse_args(arguments).check
    before = PAGE.read_text(encoding="utf-8")
    after = page(before)
    if check and after != before:
        sys.exit(f"{PAGE} is stale: python -m benchmarks.tables.page")
    if not check:
        write(PAGE, after)
        with rc_context({"svg.hashsalt": "kafnets"}):
            ingredients.picture(list(stored(ingredients.OUTPUT))).savefig(
                ingredients.PICTURE, metadata={"Date": None}
            )


if __name__ == "__main__":
    main()
