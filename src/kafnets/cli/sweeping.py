"""What commands that run sweeps have in common."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

import typer
from rich.console import Console

from kafnets.cli.listing import run_progress
from kafnets.cli.refusals import refuse, refusing
from kafnets.experiments.description import Description


class EngineName(StrEnum):
    """Where runs go."""

    local = "local"
    ray = "ray"


def run_all(
    descriptions: Sequence[Description],
    output: Path,
    console: Console,
    *,
    jobs: int,
    engine: EngineName,
    tensorboard: bool,
) -> None:
    """Run them with a progress bar. Ctrl-C says how to go on."""
    from kafnets.experiments.sweep import execute_all

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
            f"Stopped. Finished runs are kept in {output}, unfinished ones up to their last epoch: "
            "the same command goes on from there."
        )
        raise typer.Exit(130) from None


def whole_numbers(option: str, given: str) -> list[int]:
    """Of a list with commas; anything else is refused."""
    try:
        found = [int(each) for each in given.split(",")]
    except ValueError:
        refuse(f"{option} must be whole numbers with commas between them, got {given!r}")
    if min(found) < 1:
        refuse(f"{option} must be numbers from 1, got {given!r}")
    return found
