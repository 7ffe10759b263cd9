"""Run one cell of each experiment again from scratch, and hold it against what is stored.

Usage: python scripts/run_again.py [NAME ...] [--jobs N]. The new runs go into a temporary folder; what came
of them goes into benchmarks/results/again.json, which docs/results.md shows. Exit code 1 if a new mean is
farther from the stored one than its deviation.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from sections import ROOT

from kafnets.experiments import rl, wider
from kafnets.experiments.papers import EXPERIMENTS
from kafnets.experiments.runner import Runnable
from kafnets.experiments.summary import cells
from kafnets.experiments.sweep import execute_all
from kafnets.provenance import provenance

STORED = ROOT / "benchmarks/results/again.json"

CELLS: dict[str, Callable[[], Sequence[Runnable]]] = {
    "sensorless": lambda: EXPERIMENTS["sensorless"].descriptions("paper", ["kaf"], [1], 5),
    "susy": lambda: EXPERIMENTS["susy"].descriptions("sample", ["kaf"], [1], 5),
    "cifar10": lambda: EXPERIMENTS["cifar10"].descriptions("small", ["elu"], [2], 3),
    "rl": lambda: rl.descriptions(["swimmer"], ["tanh"], 300_000, 3),
    "wider": lambda: wider.descriptions(["digits"], ["kaf"], 5),
}
"""The cheapest that says something."""


def main() -> None:
    jobs = 1
    arguments = sys.argv[1:]
    if "--jobs" in arguments:
        at = arguments.index("--jobs")
        jobs, arguments = int(arguments[at + 1]), arguments[:at] + arguments[at + 2 :]
    if unknown := [name for name in arguments if name not in CELLS]:
        sys.exit(f"no cell is called {unknown[0]!r}: there are {', '.join(CELLS)}")
    names = arguments or list(CELLS)
    found = json.loads(STORED.read_text()) if STORED.exists() else {}
    for name in names:
        wanted = CELLS[name]()
        stored = cells(wanted, ROOT / "results")
        if not stored:
            print(f"{name}: nothing is stored")
            continue
        with tempfile.TemporaryDirectory() as folder:
            execute_all(wanted, Path(folder), jobs=jobs)
            (again,) = cells(wanted, Path(folder))
        (before,) = stored
        found[name] = {
            "cell": f"{before.data}, {before.label}, {before.layers} layers",
            "metric": before.metric,
            "seeds": len(before.test),
            "stored": before.mean,
            "deviation": before.deviation,
            "again": again.mean,
            "within": bool(abs(again.mean - before.mean) <= before.deviation),
            "provenance": provenance(),
        }
        print(name, {key: value for key, value in found[name].items() if key != "provenance"})
        STORED.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    sys.exit(not all(found[name]["within"] for name in names if name in found))


if __name__ == "__main__":
    main()
