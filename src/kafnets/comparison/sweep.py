"""Running many descriptions: one after the other, side by side, or on a Ray cluster."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from multiprocessing.managers import SyncManager
from pathlib import Path
from queue import Empty, Queue
from typing import Any, Literal

import torch

from kafnets.comparison.runner import Outcome, Runnable, execute
from kafnets.data.download import SETTING
from kafnets.registry import load_plugins

Engine = Literal["local", "ray"]
Told = Callable[[Runnable, Outcome], None]
Watched = Callable[[Runnable, dict[str, Any]], None]

LOOK = 0.3
"""Seconds between two looks at what the workers have to tell."""


def execute_all(
    descriptions: Sequence[Runnable],
    output: Path,
    *,
    jobs: int = 1,
    engine: Engine = "local",
    tensorboard: bool = False,
    told: Told | None = None,
    watched: Watched | None = None,
) -> None:
    """All of them, ``jobs`` at a time, the processor's cores divided between them.

    Interrupted, what is finished stays, and the same call goes on with the rest where it was.

    Args:
        descriptions: of the runs.
        output: the folder of results. On a cluster, all machines must see it.
        jobs: how many runs side by side on this machine. A cluster has as many as it has cores.
        engine: "local", or "ray" for the cluster that RAY_ADDRESS names, or a new one on this machine.
        tensorboard: log each epoch for TensorBoard as well.
        told: is called when a run has come to its end.
        watched: is called after each epoch of a run on this machine.
    """
    if engine == "ray":
        events = _on_ray(descriptions, output, tensorboard)
    elif jobs == 1:
        events = _in_turn(descriptions, output, tensorboard, watched)
    else:
        events = _side_by_side(descriptions, output, tensorboard, jobs, watched)
    for description, outcome in events:
        if told is not None:
            told(description, outcome)


Events = Iterator[tuple[Runnable, Outcome]]


def _in_turn(
    descriptions: Sequence[Runnable], output: Path, tensorboard: bool, watched: Watched | None
) -> Events:
    for description in descriptions:

        def progress(row: dict[str, Any], description: Runnable = description) -> None:
            if watched is not None:
                watched(description, row)

        yield description, execute(description, output, progress=progress, tensorboard=tensorboard)


def _side_by_side(
    descriptions: Sequence[Runnable], output: Path, tensorboard: bool, jobs: int, watched: Watched | None
) -> Events:
    threads = max(1, (os.cpu_count() or 1) // jobs)
    # Fresh processes: a fork of one with threads may hang.
    context = multiprocessing.get_context("spawn")
    manager = SyncManager(ctx=context)
    manager.start(leave_with_parent)
    with manager:
        epochs: Queue[tuple[int, dict[str, Any]]] = manager.Queue()
        others = multiprocessing.active_children()  # the manager's process, and the caller's own
        pool = ProcessPoolExecutor(jobs, context, initializer=_begin, initargs=(threads, epochs))
        try:
            numbers = {
                pool.submit(_work, number, each, output, tensorboard): number
                for number, each in enumerate(descriptions)
            }
            pending = set(numbers)
            while pending:
                finished, pending = wait(pending, timeout=LOOK, return_when=FIRST_COMPLETED)
                _pass_on(epochs, descriptions, watched)
                for future in finished:
                    yield descriptions[numbers[future]], future.result()
        except BaseException:
            # They have saved their last epoch; nothing else is lost.
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in multiprocessing.active_children():
                if worker not in others:
                    worker.terminate()
            raise
        pool.shutdown()


def _pass_on(
    epochs: "Queue[tuple[int, dict[str, Any]]]",
    descriptions: Sequence[Runnable],
    watched: Watched | None,
) -> None:
    while True:
        try:
            number, row = epochs.get_nowait()
        except Empty:
            return
        if watched is not None:
            watched(descriptions[number], row)


_epochs: "Queue[tuple[int, dict[str, Any]]]"


def _begin(threads: int, epochs: "Queue[tuple[int, dict[str, Any]]]") -> None:
    """In each worker. Ctrl-C reaches all processes of a terminal, but only the first one acts on it."""
    global _epochs
    _epochs = epochs
    load_plugins()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(threads)
    leave_with_parent()


def leave_with_parent() -> None:
    """A first process that is killed has no time to stop the others, which would go on for nobody."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _work(number: int, description: Runnable, output: Path, tensorboard: bool) -> Outcome:
    return execute(
        description,
        output,
        progress=lambda row: _epochs.put((number, row)),
        tensorboard=tensorboard,
    )


def _on_ray(descriptions: Sequence[Runnable], output: Path, tensorboard: bool) -> Events:
    import ray

    begun_here = not ray.is_initialized()
    if begun_here:
        # Workers find data where this process does.
        folder = {SETTING: os.environ[SETTING]} if SETTING in os.environ else {}
        ray.init(runtime_env={"env_vars": folder}, log_to_driver=False, include_dashboard=False)
    remote = ray.remote(num_cpus=1, max_retries=3)(_work_on_ray)
    try:
        pending = {remote.remote(each, output.resolve(), tensorboard): each for each in descriptions}
        while pending:
            finished, _ = ray.wait(list(pending), num_returns=1)
            for reference in finished:
                yield pending.pop(reference), ray.get(reference)
    finally:
        if begun_here:
            ray.shutdown()


def _work_on_ray(description: Runnable, output: Path, tensorboard: bool) -> Outcome:
    load_plugins()
    torch.set_num_threads(1)
    return execute(description, output, tensorboard=tensorboard)
