"""How long the default's fit takes beside that of RealMLP-TD-S, on the development tables.

    python -m benchmarks.tables.fit_times

Both fit each table one after the other in one process. Runs that are stored are not repeated; page.py writes
what they show.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.tables import suite
from benchmarks.tables.run import Run, run_all

OUTPUT = Path("benchmarks/results/fit_times.jsonl")
OURS, THEIRS = "kafnets", "realmlp-td-s"
BAR = 2.0
"""The default's fit should take at most so many times as long."""


def runs() -> Iterator[Run]:
    """Table by table."""
    for table, method in itertools.product(suite.GROUPS["development"], (OURS, THEIRS)):
        yield Run(table, method, 0, "validation")


def ratios(lines: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """By table: our processor time over theirs."""
    found = {
        (line["table"], line["method"]): line["seconds"]["fit_cpu"] for line in lines if "seconds" in line
    }
    return {
        table: seconds / found[table, THEIRS]
        for (table, method), seconds in found.items()
        if method == OURS and (table, THEIRS) in found
    }


def told(lines: Sequence[Mapping[str, Any]]) -> str:
    """In words."""
    found = ratios(lines)
    mean = math.exp(fmean(map(math.log, found.values())))
    slowest, most = max(found.items(), key=lambda each: each[1])
    within = sum(ratio <= BAR for ratio in found.values())
    return (
        f"On {len(found)} development tables, a fit of the default takes {mean:.2f} times as long as one of "
        f"RealMLP-TD-S (geometric mean), from {min(found.values()):.2f} to {most:.2f} times (`{slowest}`), "
        f"and at most {BAR:g} times on {within} of them."
    )


def main() -> None:
    """Run what is missing."""
    run_all(runs(), OUTPUT)


if __name__ == "__main__":
    main()
