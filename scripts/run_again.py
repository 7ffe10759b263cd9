"""Run one cell of each experiment again from scratch, and hold it against what is stored.

The new runs go into a temporary folder; their scores go into benchmarks/results/again.json, which
docs/results.md shows beside the stored ones. Exit code 1 if a new mean is farther from the stored one than
its deviation.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from measurements import changing
from sections import ROOT

from kafnets.comparison.summary import cells
from kafnets.comparison.sweep import execute_all
from kafnets.paper.again import CELLS, repetition
from kafnets.provenance import provenance

STORED = ROOT / "benchmarks/results/again.json"


def run(name: str, jobs: int) -> bool:
    """Whether it lands within the stored deviation."""
    wanted = CELLS[name]()
    stored = cells(wanted, ROOT / "results")
    if not stored:
        print(f"{name}: nothing is stored")
        return False
    with tempfile.TemporaryDirectory() as folder:
        execute_all(wanted, Path(folder), jobs=jobs)
        (again,) = cells(wanted, Path(folder))
    with changing(STORED) as found:
        found[name] = {"scores": again.test, "provenance": provenance()}
    compared = repetition(stored[0], again.test)
    if compared is None:
        print(f"{name}: fewer than two seeds are stored")
        return False
    print(f"{name}: {compared.stored.mean} ± {compared.stored.deviation}, again {compared.again.mean}")
    return compared.within


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CELLS)}; all by default")
    parser.add_argument("--jobs", type=int, default=1, help="runs side by side")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in CELLS]:
        parser.error(f"no cell is called {unknown[0]!r}: there are {', '.join(CELLS)}")
    if options.jobs < 1:
        parser.error(f"--jobs must be 1 at least, got {options.jobs}")
    landed = [run(name, options.jobs) for name in options.names or CELLS]
    sys.exit(not all(landed))


if __name__ == "__main__":
    main()
