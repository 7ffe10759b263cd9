"""``kafnets clip``."""

from pathlib import Path
from typing import Annotated

import typer

from kafnets.cli.refusals import refusing
from kafnets.cli.sweeping import console_of_this_process, steps_shown


def clip(
    runs: Annotated[
        list[Path], typer.Argument(help="Run folders of `kafnets reproduce rl`, shown side by side.")
    ],
    output: Annotated[Path, typer.Option(help="Output file: .webp, .gif or .png.")] = Path("clip.webp"),
    seconds: Annotated[float, typer.Option(min=0.1, help="Length of the animation.")] = 10.0,
    size: Annotated[
        int, typer.Option(min=32, max=480, help="Width and height of each policy's picture in pixels.")
    ] = 240,
) -> None:
    """Record trained policies as an animation.

    Example: kafnets clip kafnets-runs/rl/paper/swimmer/kaf-2x64/seed-0 --output swimmer.webp
    """
    console = console_of_this_process()
    with refusing(), steps_shown(console) as say:
        from kafnets.rl.clip import write_clip

        write_clip(runs, output, seconds=seconds, size=size, say=say)
    console.print(f"{output}: {output.stat().st_size / 1e6:.1f} MB", soft_wrap=True)
