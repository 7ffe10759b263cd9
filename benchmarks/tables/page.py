"""Write the tables and the picture of docs/tables.md from what is stored, or check what the tables say.

python -m benchmarks.tables.page [--check]
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from matplotlib import rc_context

from benchmarks.tables import (
    calibration,
    comparisons,
    fit_times,
    ingredients,
    probabilities,
    run,
    shared,
    suite,
)
from benchmarks.tables.comparisons import TABLES, made_with
from benchmarks.tables.run import stored
from kafnets.files import write
from kafnets.paper.documents import filled

PAGE = Path("docs/tables.md")
ALONE = "with nothing else running"
LOG_LOSSES = (probabilities.DEFAULT, *comparisons.DEFAULTS[1:], *comparisons.TUNED, "xgboost", "realmlp-td")


def page(text: str, root: Path = Path()) -> str:
    """The page with its tables, from all runs that are stored below a folder."""
    lines, left_out, sharing, calibrated, timed, losses = (
        list(stored(root / each.OUTPUT))
        for each in (run, ingredients, shared, calibration, fit_times, probabilities)
    )
    lines = [line for line in lines if line["part"] == "test" and line["table"] in TABLES]
    found = comparisons.by_divisions(lines)
    complete = found[suite.DIVISIONS]
    blocks = {
        "tables-outcomes": lambda: comparisons.outcomes(found, lines),
        "tables-defaults": lambda: comparisons.defaults(complete),
        "tables-field": lambda: comparisons.field(complete),
        "tables-apart": lambda: comparisons.apart(complete),
        "tables-beside": lambda: comparisons.beside(found, lines),
        "tables-recipe": lambda: comparisons.ranked(found, comparisons.RECIPE),
        "tables-single": lambda: comparisons.ranked(found, comparisons.SINGLE),
        "tables-members": lambda: comparisons.on_first_division(lines, comparisons.MEMBERS),
        "tables-ingredients": lambda: f"{ingredients.table(left_out)}\n\n{made_with(left_out)}",
        "tables-additions": lambda: ingredients.added_table(left_out),
        "tables-shared": lambda: f"{shared.table(sharing)}\n\n{made_with(sharing)}",
        "tables-calibration": lambda: calibration.told(calibrated),
        "tables-log-loss": lambda: probabilities.beside(lines, LOG_LOSSES),
        "tables-probabilities": lambda: f"{probabilities.table(losses)}\n\n{made_with(losses)}",
        "tables-errors": lambda: comparisons.errors_by_table(complete),
        "tables-times": lambda: comparisons.times(lines),
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
