"""Timing side by side: one repetition of each in turn, so that a slow moment of the machine hits all."""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

import numpy as np


@dataclass(frozen=True)
class Timing:
    """Milliseconds over the repetitions."""

    median: float
    p10: float
    p90: float
    repetitions: int

    def as_dict(self) -> dict[str, float]:
        """For the result file."""
        return asdict(self)


def interleaved(
    runs: Mapping[str, Callable[[], None]], *, seconds_a_run: float, least: int = 5, most: int = 300
) -> dict[str, Timing]:
    """Time each run as often as fits into its seconds, all of them taking turns."""
    wanted, times = {}, {name: list[float]() for name in runs}
    for name, run in runs.items():
        run()
        began = time.perf_counter()
        run()
        wanted[name] = int(np.clip(seconds_a_run / (time.perf_counter() - began), least, most))
    for turn in range(max(wanted.values())):
        for name, run in runs.items():
            if turn < wanted[name]:
                began = time.perf_counter()
                run()
                times[name].append(time.perf_counter() - began)
    return {name: _summary(np.array(found) * 1e3) for name, found in times.items()}


def _summary(milliseconds: np.ndarray) -> Timing:
    p10, median, p90 = np.percentile(milliseconds, [10, 50, 90])
    return Timing(float(median), float(p10), float(p90), len(milliseconds))
