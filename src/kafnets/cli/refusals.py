"""How commands refuse: one clear line, and an exit code that is not 0."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer

from kafnets.packages import missing


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
        refuse(str(error) if "pip install" in str(error) else missing("this", error.name))
    except OSError as error:  # the system's own texts begin with a number
        path = error.filename2 or error.filename
        refuse(str(error) if path is None else f"{path}: {error.strerror}")
    except (ValueError, TypeError) as error:
        refuse(str(error))
