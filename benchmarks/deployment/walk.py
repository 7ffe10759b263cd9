"""The steps of docs/tutorials/deploy.md with their accuracy, size and time, from running that page.

python -m benchmarks.deployment.walk
"""

import contextlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from kafnets.files import as_json, write
from kafnets.provenance import provenance

PAGE = Path("docs/tutorials/deploy.md")
STORED = Path("benchmarks/results/deployment.json")


def steps_of(page: Path) -> list[dict[str, Any]]:
    """What the blocks of the page have recorded."""
    sys.path.append("docs/_extensions")
    from blocks import blocks_of

    namespace: dict[str, Any] = {"__name__": "walk"}
    blocks = blocks_of(page.read_text(encoding="utf-8"))
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        stack.callback(os.chdir, here)
        os.chdir(folder)
        for number, block in enumerate(blocks, 1):
            exec(compile(block, f"<block {number}>", "exec"), namespace)
    steps: list[dict[str, Any]] = namespace["steps"]
    return steps


def stored() -> dict[str, Any]:
    """What was measured last."""
    found: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return found


def table(steps: list[dict[str, Any]]) -> str:
    """In Markdown."""
    rows = [
        "| Step | Test accuracy | Parameters and tables | Bytes | Processor time, ms |",
        "|---|---|---|---|---|",
    ]
    for each in steps:
        numbers = "" if each["numbers"] is None else f"{each['numbers']:,}"
        rows.append(
            f"| {each['step']} | {100 * each['accuracy']:.1f}% | {numbers} | {each['bytes']:,} "
            f"| {each['milliseconds']:.1f} |"
        )
    return "\n".join(rows)


def main() -> None:
    """Run the page and store what it recorded."""
    stamp = provenance("onnxruntime", "scikit-learn")
    write(STORED, as_json({"steps": steps_of(PAGE), "provenance": stamp}))


if __name__ == "__main__":
    main()
