"""Running many descriptions: sequentially, in parallel, or on a Ray cluster."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Literal

import torch

from kafnets.comparison.runner import Outcome, Runnable, execute
from kafnets.data.download import SETTING
from kafnets.registry import load_plugins

Engine = Literal["local", "ray"]
Told = Callable[[Runnable, Outcome], None]
Watched = Callable[[Runnable, dict[str, Any]], None]


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

    After an interruption, finished runs are kept, and the same call resumes the others.

    Args:
        descriptions: of the runs.
        output: the folder of results. On a cluster, all machines must see it.
        jobs: number of runs in parallel on this machine; a cluster runs as many as it has cores.
        engine: "local", or "ray" for the cluster that RAY_ADDRESS names, or a new one on this machine.
        tensorboard: log each epoch for TensorBoard as well.
        told: called when a run has ended.
        watched: called after each epoch of a run on this machine.
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


class _Worker:
    """A worker process. If it is killed, the run that it was working on is known."""

    def __init__(self, threads: int) -> None:
        context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, threads), daemon=True)
        with _interrupts_held():
            self.process.start()
        theirs.close()
        self.run: Runnable

    def begin(self, run: Runnable, output: Path, tensorboard: bool) -> None:
        self.run = run
        # A process that was killed is noticed when it is asked for news.
        with suppress(OSError):
            self.connection.send((run, output, tensorboard))


def _side_by_side(
    descriptions: Sequence[Runnable], output: Path, tensorboard: bool, jobs: int, watched: Watched | None
) -> Events:
    threads = max(1, (os.cpu_count() or 1) // jobs)
    waiting, workers = deque(descriptions), dict[Any, _Worker]()
    try:
        while waiting or workers:
            while waiting and len(workers) < jobs:
                worker = _Worker(threads)
                workers[worker.connection] = worker
                worker.begin(waiting.popleft(), output, tensorboard)
            for connection in wait(list(workers)):
                worker = workers[connection]
                try:
                    news: Any = worker.connection.recv()
                except (EOFError, OSError):
                    del workers[connection]
                    yield worker.run, "killed"
                    continue
                if isinstance(news, dict):
                    if watched is not None:
                        watched(worker.run, news)
                    continue
                if isinstance(news, BaseException):
                    raise news
                finished = worker.run
                if waiting:
                    worker.begin(waiting.popleft(), output, tensorboard)
                else:
                    workers.pop(connection).process.terminate()
                yield finished, news
    finally:
        for worker in workers.values():  # they have saved their last epoch; nothing else is lost
            worker.process.terminate()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C waits, and a process that is started meanwhile never gets it: the first one stops all."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(connection: Any, threads: int) -> None:
    """In each worker: carry out what is sent, tell of each epoch, then of the outcome or an error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _leave_with_parent()
    load_plugins()
    torch.set_num_threads(threads)
    with suppress(EOFError, OSError):
        while True:
            run, output, tensorboard = connection.recv()
            try:
                news: Any = execute(run, output, progress=connection.send, tensorboard=tensorboard)
            except Exception as error:
                news = error
            connection.send(news)


def _leave_with_parent() -> None:
    """Stop if the first process has been killed, which could not stop its workers."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


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
