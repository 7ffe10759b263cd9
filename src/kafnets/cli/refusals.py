"""How commands refuse: one clear line, and an exit code that is not 0."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer

EXTRAS = {
    "gymnasium": "rl",
    "lightning_fabric": "fabric",
    "mujoco": "rl",
    "PIL": "rl",
    "plotly": "report",
    "ray": "ray",
    "pydataset": "tables",
    "river": "tables",
    "sklego": "tables",
    "stable_baselines3": "rl",
    "tensorboard": "tensorboard",
}
"""By module: the extra that brings it, where it is not "experiments"."""


def refuse(message: str) -> NoReturn:
    """Say why, and leave."""
    typer.echo(message, err=True)
    raise typer.Exit(2)


@contextmanager
def refusing() -> Iterator[None]:
    """Turns mistakes in what was asked for, and packages that are not installed, into refusals."""
    try:
        yield
    except ImportError as error:
        if "pip install" in str(error):
            refuse(str(error))
        extra = EXTRAS.get((error.name or "").split(".")[0], "experiments")
        refuse(f"this needs {error.name}: pip install 'kafnets[{extra}]'")
    except (ValueError, TypeError, OSError) as error:
        refuse(str(error))
