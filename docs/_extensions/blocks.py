"""Python blocks of a page: found, and run in one process as a reader would paste them.

A block after the comment ``<!-- not run: why -->`` is left out. Run as a program, this reads a list of
blocks as JSON from standard input, and writes what each printed and drew to standard output.
"""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import traceback
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


def run(blocks: list[str], folder: Path) -> list[Output]:
    """Run blocks one after the other in a process and a folder of their own; raises where one fails."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "100"}
    finished = subprocess.run(
        [sys.executable, __file__],
        input=json.dumps(blocks),
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        check=False,
    )
    if finished.returncode:
        raise RuntimeError(finished.stderr)
    outputs: list[Output] = json.loads(finished.stdout.splitlines()[-1])
    return outputs


def _run_here(blocks: list[str]) -> list[Output]:
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
                sys.exit(f"block {number} fails:\n{block}\n{traceback.format_exc()}")
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


if __name__ == "__main__":
    print(json.dumps(_run_here(json.load(sys.stdin))))
