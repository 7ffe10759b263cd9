"""Timing side by side: one repetition of each in turn, so that a slow moment of the machine hits all.

A turn of a short run begins with a call that is not timed. Otherwise it would pay for what the run
before it threw out of the caches, which says nothing about either.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import numpy as np
import torch
from numpy.typing import NDArray

SHORT = 0.02
"""Seconds up to which a run is called once before it is timed."""


Clock = Callable[[], float]


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
    runs: Mapping[str, Callable[[], None]],
    *,
    seconds_a_run: float,
    least: int = 5,
    most: int = 300,
    clock: Clock = time.perf_counter,
) -> dict[str, Timing]:
    """Time each run as often as fits into its seconds, all of them taking turns.

    By ``time.thread_time`` what other programs take meanwhile does not count, nor do other threads.
    """
    wanted, short, times = {}, {}, {name: list[float]() for name in runs}
    for name, run in runs.items():
        run()
        seconds = _seconds(run, clock)
        wanted[name] = int(np.clip(seconds_a_run / seconds, least, most))
        short[name] = seconds < SHORT
    for turn in range(max(wanted.values())):
        for name, run in runs.items():
            if turn < wanted[name]:
                if short[name]:
                    run()
                times[name].append(_seconds(run, clock))
    return {name: _summary(np.array(found) * 1e3) for name, found in times.items()}


def in_turns(runs: Mapping[str, Callable[[], None]], turns: int) -> dict[str, NDArray[np.float64]]:
    """Seconds of each run by turn, for ratios within a turn: what lasts longer drops out of them."""
    times = {name: np.empty(turns) for name in runs}
    for run in runs.values():
        run()
    for turn in range(turns):
        for name, run in runs.items():
            times[name][turn] = _seconds(run)
    return times


def _seconds(run: Callable[[], None], clock: Clock = time.perf_counter) -> float:
    began = clock()
    run()
    return clock() - began


def _summary(milliseconds: np.ndarray) -> Timing:
    p10, median, p90 = np.percentile(milliseconds, [10, 50, 90])
    return Timing(float(median), float(p10), float(p90), len(milliseconds))


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Set the number of threads of torch for the length of a ``with`` block."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
