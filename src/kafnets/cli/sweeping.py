"""What commands that run sweeps have in common."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from kafnets.cli.listing import run_progress
from kafnets.cli.refusals import refuse, refusing

if TYPE_CHECKING:
    from kafnets.comparison.runner import Runnable


class EngineName(StrEnum):
    """Where runs go."""

    local = "local"
    ray = "ray"


def run_all(
    descriptions: Sequence[Runnable],
    output: Path,
    console: Console,
    *,
    jobs: int,
    engine: EngineName,
    tensorboard: bool,
) -> None:
    """Run them with a progress bar. Ctrl-C says how to go on.

    Of several processes that ``torchrun`` has started, only the first comes back.
    """
    from kafnets.comparison.sweep import execute_all
    from kafnets.train.processes import is_first, total_processes

    if total_processes() > 1 and (jobs > 1 or engine != EngineName.local):
        refuse("under torchrun all processes share each run: leave out --jobs and --engine")
    try:
        with refusing(), run_progress(console, len(descriptions)) as (told, watched):
            execute_all(
                descriptions,
                output,
                jobs=jobs,
                engine=engine.value,
                tensorboard=tensorboard,
                told=told,
                watched=watched,
            )
    except KeyboardInterrupt:
        console.print(
            f"Stopped. Finished runs are kept in {output}, and unfinished ones as far as they were: "
            "the same command goes on from there."
        )
        raise typer.Exit(130) from None
    if not is_first():
        raise typer.Exit


def console_of_this_process() -> Console:
    """Silent in all processes of ``torchrun`` but the first."""
    from kafnets.train.processes import is_first

    return Console(quiet=not is_first())


def words(given: str) -> list[str]:
    """Of a list with commas. Those in parentheses are part of a word: ``relu,kaf(base=silu,init=elu)``."""
    return [word.strip() for word in re.split(r",(?![^(]*\))", given) if word.strip()]


def whole_numbers(option: str, given: str) -> list[int]:
    """Of a list with commas; anything else is refused."""
    try:
        found = [int(each) for each in given.split(",")]
    except ValueError:
        refuse(f"{option} must be whole numbers with commas between them, got {given!r}")
    if min(found) < 1:
        refuse(f"{option} must be numbers from 1, got {given!r}")
    return found


def sizes_by_epoch(given: str) -> dict[int, int] | None:
    """Of ``10:20,30:40``; None if nothing is given."""
    try:
        return {
            int(epoch): int(size) for epoch, _, size in (each.partition(":") for each in words(given))
        } or None
    except ValueError:
        refuse(f"--refine must be dictionary sizes by epochs, such as 10:20,30:40, got {given!r}")
