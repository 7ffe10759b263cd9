"""Documents that scripts write, in whole or in part."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def write_or_check(wanted: dict[Path, str], script: str) -> None:
    """Write the documents; with --check, only find out whether they say what they should."""
    if "--check" in sys.argv:
        stale = [
            str(path.relative_to(ROOT))
            for path, text in wanted.items()
            if path.read_text(encoding="utf-8") != text
        ]
        sys.exit(f"stale: {', '.join(stale)}: run scripts/{script}" if stale else 0)
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")
