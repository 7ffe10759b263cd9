"""Write the tables on pruning and deployment into their pages, or check that they say what is stored.

python -m benchmarks.deployment.page [--check]
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.deployment import command_line, pruning, runtimes, walk
from kafnets.files import write
from kafnets.paper.documents import filled

PAGES = (Path("docs/models.md"), Path("docs/export.md"), Path("docs/tutorials/deploy.md"))


def made_with(provenance: dict[str, Any], *packages: str) -> str:
    """Processor, commit and versions."""
    versions = ", ".join(f"{name} {provenance['versions'][name]}" for name in ("torch", *packages))
    commit = " ".join([provenance["commit"][:7], *provenance["commit"].split()[1:]])
    return f"Measured on {provenance['hardware']['processor']}, at commit {commit}, with {versions}."


def _shown(stored: dict[str, Any], table: str, *packages: str) -> str:
    return f"{table}\n\n{made_with(stored['provenance'], *packages)}"


BLOCKS: dict[str, Callable[[], str]] = {
    "pruning": lambda: _shown(found := pruning.stored(), pruning.table(found["points"])),
    "deployment": lambda: _shown(found := walk.stored(), walk.table(found["steps"]), "onnxruntime"),
    "command-line": lambda: _shown(
        found := command_line.stored(), command_line.table(found["steps"]), "onnxruntime"
    ),
    "runtimes": lambda: _shown(found := runtimes.stored(), runtimes.table(found["rows"]), "onnxruntime"),
}


def written(text: str) -> str:
    """A page with its tables."""
    return filled(text, BLOCKS)


def main() -> None:
    """The command line."""
    for page in PAGES:
        before = page.read_text(encoding="utf-8")
        after = written(before)
        if after != before and "--check" in sys.argv:
            sys.exit(f"{page} is stale: python -m benchmarks.deployment.page")
        write(page, after)


if __name__ == "__main__":
    main()
