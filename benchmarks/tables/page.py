"""Write the tables of docs/tables.md from what is stored, or check that they say the same.

python -m benchmarks.tables.page [--check]
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables import suite, summary
from benchmarks.tables.run import OUTPUT, stored
from kafnets.files import write
from kafnets.paper.documents import filled

PAGE = Path("docs/tables.md")
DEFAULTS = ("kafnets", "kafnets-before", "mlp", "boosting", "lightgbm", "forest")
"""Those of the first comparison, which are ranked together."""

BESIDE = ("xgboost", "catboost", "realmlp-td", "tabm")
RECIPE = ("kafnets", "kafnets:relu", "kafnets:mish", "kafnets:pact", "kafnets:periodic")
SINGLE = ("kafnets-1", "kafnets-1:relu", "kafnets-1:mish", "kafnets-1:pact")
MEMBERS = ("kafnets", "realmlp-td-6")
TABLES = suite.GROUPS["confirmation"]
Errors = Mapping[str, Mapping[str, float]]


def ranked(found: Errors, methods: Sequence[str]) -> str:
    """The methods that have been run, over the tables that all of them have; the first is the reference."""
    there = [name for name in methods if name in found]
    missing = [name for name in methods if name not in found]
    if methods[0] not in there or len(there) < 2:
        return f"Not run to the end on any table yet: {', '.join(missing)}."
    common = [name for name in TABLES if all(name in found[method] for method in there)]
    if not common:
        return f"No table is complete for all of {', '.join(there)} yet."
    own = {method: {name: found[method][name] for name in common} for method in there}
    told = f"Over {len(common)} of {len(TABLES)} tables"
    told += f"; not run to the end on any table yet: {', '.join(missing)}." if missing else "."
    return f"{summary.ranking(own, methods[0], common, level=True)}\n\n{told}"


def beside(found: Errors) -> str:
    """The default against each other method, over the tables that both have."""
    return "\n\n".join(f"{name}:\n\n{ranked(found, ('kafnets', name))}" for name in BESIDE if name in found)


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


def made_with(lines: Sequence[Mapping[str, Any]]) -> str:
    """Runs, commits and processors."""
    stamps = [line["provenance"] for line in lines]
    failed = sum("failed" in line for line in lines)
    commits = sorted({each["commit"][:7] for each in stamps})
    processors = sorted({each["hardware"]["processor"] for each in stamps})
    return (
        f"{len(lines)} runs, of which {failed} failed; commits {', '.join(commits)}; "
        f"{', '.join(processors)}, one thread per run, on a shared machine."
    )


def page(text: str, lines: Sequence[Mapping[str, Any]]) -> str:
    """The page with its tables, from all stored runs."""
    lines = [line for line in lines if line["part"] == "test" and line["table"] in TABLES]
    found = summary.errors(lines, TABLES, "test")
    blocks = {
        "tables-defaults": lambda: ranked(found, DEFAULTS),
        "tables-beside": lambda: beside(found),
        "tables-recipe": lambda: ranked(found, RECIPE),
        "tables-single": lambda: ranked(found, SINGLE),
        "tables-members": lambda: ranked(found, MEMBERS),
        "tables-errors": lambda: errors_by_table(found),
        "tables-times": lambda: times(lines),
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
    after = page(before, list(stored(OUTPUT)))
    if check and after != before:
        sys.exit(f"{PAGE} is stale: python -m benchmarks.tables.page")
    if not check:
        write(PAGE, after)


if __name__ == "__main__":
    main()
