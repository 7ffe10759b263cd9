"""Write tables and pictures of docs/when-to-use.md again, from the stored runs.

python -m benchmarks.when.summary
"""

from functools import partial
from pathlib import Path

from matplotlib import rc_context

from benchmarks.tables.run import stored
from benchmarks.when.pictures import PICTURES
from benchmarks.when.results import Lines
from benchmarks.when.run import OUTPUT
from benchmarks.when.tables import GENERATED
from kafnets import files
from kafnets.paper.documents import filled

PAGE = Path("docs/when-to-use.md")


def picture_path(name: str) -> Path:
    """Where it is kept."""
    return Path(f"docs/images/when-{name}.svg")


def written(text: str, lines: Lines) -> str:
    """The page with its tables."""

    def shown(name: str) -> str:
        return GENERATED[name](lines).markdown()

    return filled(text, {name: partial(shown, name) for name in GENERATED})


def main() -> None:
    """Write them."""
    lines = list(stored(OUTPUT))
    files.write(PAGE, written(PAGE.read_text(encoding="utf-8"), lines))
    with rc_context({"svg.hashsalt": "kafnets"}):
        for name, draw in PICTURES.items():
            draw(lines).savefig(picture_path(name), metadata={"Date": None})


if __name__ == "__main__":
    main()
