"""Every figure and table of the paper, from code."""

from collections.abc import Callable, Iterator
from pathlib import Path

from matplotlib.figure import Figure

from kafnets import files
from kafnets.comparison.table import Table
from kafnets.paper import tables
from kafnets.paper.evidence import Evidence, Missing
from kafnets.paper.figures import functions, results

FIGURES: dict[str, Callable[[Evidence], Figure]] = {
    "figure-1-spline-interpolation": lambda _: functions.splines(),
    "figure-2-maxout": lambda _: functions.maxout(),
    "figure-3-kafs-by-bandwidth": lambda _: functions.bandwidths(),
    "figure-4-ridge-initialization": lambda _: functions.starts(),
    "figure-5-noisy-activation": lambda _: functions.noise(),
    "figure-6-trained-kafs": results.trained_kafs,
    "figure-7-trained-2d-kafs": results.trained_2d_kafs,
    "figure-8-cifar10": results.cifar10,
    "figure-9-reinforcement-learning": results.reinforcement_learning,
}
"""By number and subject: draws it, given what is stored."""

TABLES: dict[str, Callable[[Evidence], Table]] = {
    "table-1-activations": lambda _: tables.activations(),
    "table-2-susy": tables.susy,
}


def write_all(evidence: Evidence, folder: Path) -> Iterator[tuple[str, str]]:
    """Write all of them into ``folder``; yields each name with what was written, or why it was not.

    Args:
        evidence: what is stored.
        folder: for the pictures, as PNG and PDF, and the tables, as Markdown.
    """
    files.make_folder(folder)
    for name, draw in FIGURES.items():
        try:
            figure = draw(evidence)
        except Missing as why:
            yield name, str(why)
            continue
        for ending in ("png", "pdf"):
            with files.written_at_once(folder / f"{name}.{ending}") as temporary:
                figure.savefig(temporary, dpi=150)
        yield name, "written"
    for name, make in TABLES.items():
        try:
            table = make(evidence)
        except Missing as why:
            yield name, str(why)
            continue
        files.write(folder / f"{name}.md", f"# {table.title}\n\n{table.markdown()}\n")
        yield name, "written"
