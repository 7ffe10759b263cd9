"""What commands that run sweeps have in common."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from kafnets import files
from kafnets.cli.refusals import refuse, refusing

if TYPE_CHECKING:
    from kafnets.comparison.runner import Runnable


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def print_json(content: Any) -> None:
    """On standard output, where nothing else is."""
    typer.echo(files.as_json(content), nl=False)


class EngineName(StrEnum):
    """Where runs go."""

    local = "local"
    ray = "ray"


def run_all(
    descriptions: Sequence[Runnable], output: Path, *, jobs: int, engine: EngineName, tensorboard: bool
) -> None:
    """Run them with their progress shown, and tell which did not finish.

    Of several processes that ``torchrun`` has started, only the first comes back.
    """
    from kafnets.comparison import progress
    from kafnets.train.processes import is_first

    with refusing(), interruptible(output):
        unfinished = progress.run_all(
            descriptions, output, jobs=jobs, engine=engine.value, tensorboard=tensorboard
        )
    if not is_first():
        raise typer.Exit
    for note in unfinished:
        typer.echo(f"note: {note}", err=True)


@contextmanager
def interruptible(output: Path) -> Iterator[None]:
    """Ctrl-C ends the command with a sentence on how to resume it."""
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(
            f"Stopped. Runs are kept in {output}, unfinished ones up to their last epoch: the same command "
            "resumes them.",
            err=True,
        )
        raise typer.Exit(130) from None
    finally:
        signal.signal(signal.SIGINT, before)


def console_of_this_process() -> Console:
    """Silent in all processes of ``torchrun`` but the first. Names are printed as they are: no markup."""
    from kafnets.train.processes import is_first

    return Console(quiet=not is_first(), markup=False, highlight=False, emoji=False)


@contextmanager
def steps_shown(console: Console) -> Iterator[Callable[[str], None]]:
    """A function that shows the current step: in place in terminals, else as lines on standard error."""
    if console.is_terminal:
        with console.status("starting") as status:
            yield status.update
    else:
        yield lambda step: typer.echo(step, err=True)


def words(given: str) -> list[str]:
    """Of a comma-separated list; parentheses may hold commas: ``relu,kaf(base=silu,init=elu)``."""
    return [word.strip() for word in re.split(r",(?![^(]*\))", given) if word.strip()]


def whole_numbers(option: str, given: str) -> list[int]:
    """Of a comma-separated list; anything else is refused."""
    try:
        found = [int(each) for each in given.split(",")]
    except ValueError:
        refuse(f"{option} must be comma-separated integers, got {given!r}")
    if min(found) < 1:
        refuse(f"{option} must be integers ≥ 1, got {given!r}")
    return found


def sizes_by_epoch(given: str) -> dict[int, int] | None:
    """Of ``10:20,30:40``; None if nothing is given."""
    try:
        return {
            int(epoch): int(size) for epoch, _, size in (each.partition(":") for each in words(given))
        } or None
    except ValueError:
        refuse(f"--refine must be dictionary sizes by epochs, such as 10:20,30:40, got {given!r}")
