"""Python blocks of a page: found, and run in one process as a reader would paste them.

A block after the comment ``<!-- not run: why -->`` is left out. The processes of pages are forked from one
that has imported what most pages do, since importing takes longer than most blocks.
"""

import contextlib
import io
import multiprocessing
import os
import re
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypedDict

_FENCE = re.compile(r"(?P<left_out><!-- not run: [^>]+ -->\n\n?)?^```python\n(?P<code>.*?)^```", re.M | re.S)


class Output(TypedDict):
    """What a block printed, and the files that hold its figures."""

    printed: str
    figures: list[str]


def blocks_of(text: str) -> list[str]:
    """The blocks of a page that run, in order."""
    return [match["code"] for match in _FENCE.finditer(text) if not match["left_out"]]


_PAGES = multiprocessing.get_context("forkserver")
_PAGES.set_forkserver_preload(["kafnets.sklearn", "kafnets.zoo", "matplotlib.pyplot"])


def run(blocks: list[str], folder: Path) -> list[Output]:
    """Run blocks one after the other in a process and a folder of their own; raises where one fails."""
    folder.mkdir(parents=True, exist_ok=True)
    ours, theirs = _PAGES.Pipe(duplex=False)
    page = _PAGES.Process(target=_run_there, args=(blocks, folder, dict(os.environ), theirs))
    page.start()
    theirs.close()
    with ours:
        try:
            found: list[Output] | str = ours.recv()
        except EOFError:
            found = "its process ended before its last block"
    page.join()
    if isinstance(found, str):
        raise RuntimeError(found)
    return found


def _run_there(blocks: list[str], folder: Path, environment: dict[str, str], result: Connection) -> None:
    """In the process of a page: what it prints past ``sys.stdout`` is thrown away."""
    import torch

    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        for stream in (1, 2):
            os.dup2(nowhere.fileno(), stream)
    os.environ.update(environment | {"OMP_NUM_THREADS": "1", "COLUMNS": "100"})
    torch.set_num_threads(1)
    os.chdir(folder)
    result.send(_run_here(blocks))


def _run_here(blocks: list[str]) -> list[Output] | str:
    """What each block printed and drew, or what failed."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    outputs: list[Output] = []
    shown: set[int] = set()
    kept = []  # so that no figure takes the id of another
    for number, block in enumerate(blocks, 1):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                exec(compile(block, f"<block {number}>", "exec"), namespace)
            except Exception:
                return f"block {number} fails:\n{block}\n{traceback.format_exc()}"
        outputs.append({"printed": printed.getvalue(), "figures": _saved_figures(number, namespace, shown)})
        kept.append(dict(namespace))
    return outputs


def _saved_figures(number: int, namespace: dict[str, Any], shown: set[int]) -> list[str]:
    """Save the matplotlib figures that a block has bound to names."""
    files: list[str] = []
    for value in list(namespace.values()):
        if type(value).__module__ == "matplotlib.figure" and id(value) not in shown:
            shown.add(id(value))
            files.append(f"figure-{number}-{len(files)}.png")
            value.savefig(files[-1], dpi=110, bbox_inches="tight")
    return files
