"""Run methods on the suite, one line of JSON per run, from where an earlier call left off.

    python -m benchmarks.tables.run --group development --methods kafnets,lightgbm

A run is a table, a method, a division and the part it is scored on. Those that are stored are not repeated.
"""

import argparse
import itertools
import json
import logging
import os
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import log_loss, roc_auc_score
from threadpoolctl import threadpool_limits

from benchmarks.tables import rivals, suite
from kafnets.data.splits import Task
from kafnets.data.tables import Table
from kafnets.provenance import provenance

OUTPUT = Path("benchmarks/results/tables.jsonl")
UNBALANCED = 0.1
"""With a smaller class below that share of the rows, 1 - AUC is the error of two classes."""


@dataclass(frozen=True)
class Run:
    """What is run. ``part`` is what it is scored on, "validation" or "test".

    With a ``limit``, so many random rows of training are learned from, and the rest is scored, too.
    """

    table: str
    method: str
    division: int
    part: str
    limit: int | None = None

    def result(self) -> dict[str, Any]:
        """Learn and score. If that fails, the reason."""
        table = suite.table(self.table)
        train, validation, test = table.rows(self.division)
        if self.part == "validation":
            rows, held_out = train, validation
        else:
            rows, held_out = np.concatenate([train, validation]), test
        if self.limit is not None:
            rows = np.random.default_rng(self.division).permutation(rows)
            rows, held_out = rows[: self.limit], np.concatenate([held_out, rows[self.limit :]])
        about = {"rows": [len(rows), len(held_out)], "sha256": table.digest}
        try:
            return about | self._scored(table, rows, held_out)
        except ModuleNotFoundError:
            raise
        except Exception as error:  # whatever a method may raise: the others go on
            return about | {"failed": f"{type(error).__name__}: {error}"}

    def _scored(self, table: Table, rows: NDArray[np.int64], held_out: NDArray[np.int64]) -> dict[str, Any]:
        frame, target = table.frame(), table.target
        model = rivals.model_for(self.method, task_of(table), self.division)
        given, asked = (frame.iloc[own].reset_index(drop=True) for own in (rows, held_out))
        began, began_cpu = time.perf_counter(), time.process_time()
        model.fit(given, target[rows])
        fitted, fitted_cpu = time.perf_counter(), time.process_time()
        if table.class_values:
            outputs = rivals.probabilities(model, asked, len(table.class_values))
        else:
            outputs = np.asarray(model.predict(asked), dtype=np.float64).reshape(len(asked))
        seconds = {"fit": fitted - began, "fit_cpu": fitted_cpu - began_cpu}
        seconds["predict"] = time.perf_counter() - fitted
        return {"scores": scores(table, outputs, target[held_out]), "seconds": seconds}


def task_of(table: Table) -> Task:
    """Of a table."""
    known: dict[int, Task] = {0: "regression", 2: "binary"}
    return known.get(len(table.class_values), "multiclass")


def scores(table: Table, outputs: NDArray[np.float64], target: NDArray[Any]) -> dict[str, float]:
    """All that may be asked for; "error" is what is compared.

    Args:
        table: decides which of them that is.
        outputs: probabilities of classes, or numbers.
        target: class numbers, or numbers.
    """
    if not table.class_values:
        rmse = float(np.sqrt(np.mean((outputs - target) ** 2)))
        return {"error": rmse, "rmse": rmse, "r2": float(1 - rmse**2 / np.var(target))}
    count = len(table.class_values)
    error_rate = float(np.mean(outputs.argmax(1) != target))
    found = {"error": error_rate, "error_rate": error_rate}
    safe = np.clip(outputs, 1e-12, 1)
    found["log_loss"] = float(log_loss(target, safe / safe.sum(1, keepdims=True), labels=np.arange(count)))
    if count == 2:
        found["auc"] = float(roc_auc_score(target, outputs[:, 1]))
        if np.bincount(table.target.astype(np.int64)).min() < UNBALANCED * len(table.target):
            found["error"] = 1 - found["auc"]
    return found


def stored(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file. One that a crash has cut short is left out."""
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                yield json.loads(line)
            except ValueError:
                continue


def append(path: Path, record: dict[str, Any]) -> None:
    """Add a line, all of it in one write, behind whatever other processes have added."""
    path.parent.mkdir(parents=True, exist_ok=True)
    line = json.dumps(record).encode() + b"\n"
    with path.open("ab+") as stream:
        if stream.tell():
            stream.seek(-1, os.SEEK_END)
            if stream.read(1) != b"\n":
                line = b"\n" + line
        os.write(stream.fileno(), line)
        os.fsync(stream.fileno())


def run_all(runs: Iterable[Run], path: Path, *, retry: bool = False) -> None:
    """Those that are not stored yet, on one thread.

    Args:
        runs: what to run.
        path: where results are added.
        retry: run those again that have failed.
    """
    torch.set_num_threads(1)
    keys = Run.__dataclass_fields__
    done = {tuple(map(line.get, keys)) for line in stored(path) if not (retry and "failed" in line)}
    left = [run for run in runs if tuple(asdict(run).values()) not in done]
    try:
        for number, run in enumerate(left, 1):
            told = _run_and_store(run, path)
            print(
                f"{number}/{len(left)} {run.table} {run.method} {run.division} {run.part}: {told}", flush=True
            )
    except KeyboardInterrupt:
        print("interrupted: the same command continues")


def _run_and_store(run: Run, path: Path) -> str:
    """What came of it, in words."""
    package = rivals.PACKAGES.get(run.method.removesuffix(rivals.TUNED), "scikit-learn")
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of methods about their own defaults
        result = run.result()
    asked = {name: value for name, value in asdict(run).items() if value is not None}
    append(path, asked | result | {"provenance": provenance(package)})
    return result.get("failed") or f"{result['scores']['error']:.5g} in {result['seconds']['fit']:.1f} s"


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--group", choices=suite.GROUPS, default="development")
    parser.add_argument("--tables", help="comma-separated names; default: all of the group")
    parser.add_argument(
        "--methods", required=True, help=f"of kafnets, kafnets:relu, {', '.join(rivals.PACKAGES)}"
    )
    parser.add_argument("--divisions", type=int, default=suite.DIVISIONS, help="how many")
    parser.add_argument("--part", choices=["validation", "test"], help="default: test for confirmation only")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--retry", action="store_true", help="run those again that have failed")
    given = parser.parse_args(arguments)
    tables = given.tables.split(",") if given.tables else suite.GROUPS[given.group]
    if strange := set(tables) - set(suite.GROUPS[given.group]):
        parser.error(f"not in the group {given.group}: {', '.join(sorted(strange))}")
    part = given.part or ("test" if given.group == "confirmation" else "validation")
    if given.group == "confirmation" and part != "test":
        parser.error("nothing is chosen on confirmation tables: their part is test")
    logging.getLogger("pytorch_lightning.utilities.rank_zero").setLevel(
        logging.ERROR
    )  # what it has not found
    runs = itertools.starmap(
        Run, itertools.product(tables, given.methods.split(","), range(given.divisions), [part])
    )
    run_all(runs, given.output, retry=given.retry)


if __name__ == "__main__":
    main()
