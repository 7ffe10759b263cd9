"""Running a sweep with its progress: a bar in terminals and notebooks, a line now and then elsewhere."""

import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kafnets.comparison.runner import Outcome, Runnable
from kafnets.comparison.summary import in_layers
from kafnets.comparison.sweep import Engine, execute_all
from kafnets.files import make_folder
from kafnets.train.processes import is_first, total_processes
from kafnets.train.progress import bar

SECONDS_BETWEEN_LINES = 30.0


def run_all(
    descriptions: Sequence[Runnable],
    output: Path,
    *,
    jobs: int = 1,
    engine: Engine = "local",
    tensorboard: bool = False,
    quiet: bool = False,
) -> list[str]:
    """Run all of them, as :func:`execute_all` does, and tell which did not finish."""
    if total_processes() > 1 and (jobs > 1 or engine != "local"):
        raise ValueError("under torchrun all processes share each run: omit --jobs and --engine")
    make_folder(output)
    shown = _Progress(len(descriptions), quiet=quiet or not is_first())
    options: dict[str, Any] = {"jobs": jobs, "engine": engine, "tensorboard": tensorboard}
    try:
        execute_all(descriptions, output, **options, told=shown.told, watched=shown.watched)
    finally:
        shown.end()
    return shown.unfinished


class _Progress:
    def __init__(self, total: int, *, quiet: bool) -> None:
        self.total, self.quiet, self.unfinished = total, quiet, list[str]()
        self.outcomes, self.began, self.last = Counter[str](), time.monotonic(), time.monotonic()
        self.bar: Any = None if quiet else bar(total=total, unit="run")

    def told(self, run: Runnable, outcome: Outcome) -> None:
        self.outcomes[outcome] += 1
        if outcome in ("diverged", "killed", "busy elsewhere"):
            why = {
                "diverged": "diverged: its loss became infinite or NaN",
                "killed": "was killed, possibly for lack of memory: use fewer jobs, and run it again",
                "busy elsewhere": "is being run by another process",
            }
            self.unfinished.append(f"{_called(run)} {why[outcome]}")
        if self.bar is not None:
            self.bar.update()
        self._say(f"{_called(run)}: {outcome}")

    def watched(self, run: Runnable, row: dict[str, Any]) -> None:
        score = next((value for name, value in reversed(row.items()) if name.startswith("validation_")), None)
        how_far = (
            f"{row['steps']:,} steps, reward {score:.1f}"
            if "steps" in row
            else f"epoch {row['epoch']}, validation {score:.4f}"
        )
        self._say(f"{_called(run)}: {how_far}")

    def end(self) -> None:
        if self.bar is not None:
            self.bar.close()
        elif not self.quiet and self.outcomes:
            counted = ", ".join(f"{number} {outcome}" for outcome, number in self.outcomes.items())
            print(
                f"{sum(self.outcomes.values())} of {self.total} runs: {counted}", file=sys.stderr, flush=True
            )

    def _say(self, text: str) -> None:
        if self.bar is not None:
            self.bar.set_postfix_str(text)
        elif not self.quiet and time.monotonic() - self.last >= SECONDS_BETWEEN_LINES:
            self.last = time.monotonic()
            done = f"{sum(self.outcomes.values())} of {self.total} runs, {self.last - self.began:.0f} s"
            print(f"{done}; {text}", file=sys.stderr, flush=True)


def _called(run: Runnable) -> str:
    layers = len(run.hidden)
    where = getattr(run, "environment", in_layers(layers) if layers else run.data)
    return f"{run.label}, {where}, seed {run.seed}"
