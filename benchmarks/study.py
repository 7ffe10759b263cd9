"""What small studies share: runs stored line by line, and learning rates chosen on validation parts."""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import torch
from scipy.stats import t

from benchmarks.tables.run import append, stored
from kafnets.provenance import provenance

SEEDS, RATES = 5, (3e-3, 1e-2)


@dataclass(frozen=True)
class Run:
    """One training."""

    task: str
    method: str
    rate: float
    seed: int


def run_missing(
    runs: Iterable[Run], path: Path, train: Callable[[Run], dict[str, Any]], *packages: str
) -> None:
    """Those that are not stored yet, with their processor time."""
    torch.set_num_threads(1)
    done = {Run(*(line[key] for key in Run.__annotations__)) for line in stored(path)}
    for run in runs:
        if run not in done:
            began = time.process_time()
            result = train(run)
            seconds = {"fit_cpu": time.process_time() - began}
            append(path, asdict(run) | result | {"seconds": seconds, "provenance": provenance(*packages)})
            print(run, {name: round(value, 4) for name, value in result["scores"].items()}, flush=True)


def chosen(path: Path) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The runs of each task and method at its rate, the one with the least mean error on validation parts."""
    by_rate: dict[tuple[str, str], dict[float, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for line in stored(path):
        by_rate[line["task"], line["method"]][line["rate"]].append(line)
    return {
        key: min(rates.values(), key=lambda lines: fmean(each["scores"]["validation"] for each in lines))
        for key, rates in by_rate.items()
    }


def table(path: Path, unit: str, digits: int) -> str:
    """In Markdown: one row per task and method."""
    rows = [
        f"| task | method | parameters | rate | {unit}, test | {unit}, validation | processor s per run |",
        "|---|---|---|---|---|---|---|",
    ]
    for (task, method), lines in chosen(path).items():
        test, validation = (
            spread([each["scores"][part] for each in lines], digits) for part in ("test", "validation")
        )
        seconds = fmean(each["seconds"]["fit_cpu"] for each in lines)
        rows.append(
            f"| {task} | {method} | {lines[0]['parameters']:,} | {lines[0]['rate']:g} | {test} "
            f"| {validation} | {seconds:.1f} |"
        )
    return "\n".join(rows)


def difference(path: Path, task: str, method: str, reference: str) -> tuple[float, float]:
    """The mean of the paired differences of test errors, method minus reference; half its 95 % interval."""
    runs = chosen(path)
    scores = [
        {each["seed"]: each["scores"]["test"] for each in runs[task, name]} for name in (method, reference)
    ]
    differences = [scores[0][seed] - scores[1][seed] for seed in sorted(scores[0].keys() & scores[1].keys())]
    count = len(differences)
    return fmean(differences), float(t.ppf(0.975, count - 1)) * stdev(differences) / math.sqrt(count)


def best(path: Path, task: str, methods: Iterable[str]) -> str:
    """The one with the least mean error on validation parts."""
    runs = chosen(path)
    return min(methods, key=lambda name: fmean(each["scores"]["validation"] for each in runs[task, name]))


def comparison(path: Path, task: str, method: str, reference: str) -> str:
    """In words."""
    mean, half = difference(path, task, method, reference)
    return f"{task}: {method} minus {reference} {mean:+.2f}, from {mean - half:+.2f} to {mean + half:+.2f}"


def spread(values: Sequence[float], digits: int) -> str:
    """Mean and standard deviation."""
    return (
        f"{fmean(values):.{digits}f} ± {stdev(values):.{digits}f}"
        if len(values) > 1
        else f"{values[0]:.{digits}f}"
    )
