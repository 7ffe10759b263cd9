"""Parts of documents that scripts write: what stands between two marker lines."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def between(path: Path, begin: str, end: str, text: str) -> str:
    """The document with this text between its markers."""
    before, rest = path.read_text().split(begin)
    _, after = rest.split(end)
    return f"{before}{begin}\n\n{text.strip()}\n\n{end}{after}"


def write_or_check(wanted: dict[Path, str], script: str) -> None:
    """Write the documents; with --check, only find out whether they say what they should."""
    if "--check" in sys.argv:
        stale = [str(path.relative_to(ROOT)) for path, text in wanted.items() if path.read_text() != text]
        sys.exit(f"stale: {', '.join(stale)}: run scripts/{script}" if stale else 0)
    for path, text in wanted.items():
        path.write_text(text)
