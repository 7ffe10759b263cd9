"""Tables 1 and 2, ours beside the paper's."""

from collections.abc import Sequence
from dataclasses import dataclass

from kafnets.comparison.summary import Cell, in_layers
from kafnets.paper import published
from kafnets.paper import susy as susy_experiment
from kafnets.paper.evidence import Evidence
from kafnets.paper.figures.results import Missing
from kafnets.registry import facts_of

COMPARED = {"apl": "APL", "saf": "SAF", "maxout": "Maxout", "kaf": "KAF", "kaf2d": "2D-KAF"}
"""The rows of Table 1."""

NAMES = {"relu": "ReLU", "elu": "ELU", "selu": "SELU", "prelu": "PReLU"} | COMPARED
SPECIAL = {"%": r"\%", "&": r"\&", "_": r"\_", "#": r"\#", "±": r"$\pm$", "*": r"$\cdot$", "²": "$^2$"}


@dataclass(frozen=True)
class Table:
    """Cells of text, which both formats are written from."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """With the title as a heading."""
        return f"# {self.title}\n\n{self.body()}\n"

    def body(self) -> str:
        """In Markdown, without the title."""
        return "\n".join([_row(self.headings), _row(("---",) * len(self.headings)), *map(_row, self.rows)])

    def latex(self) -> str:
        """A floating table, for the booktabs package."""
        headings = " & ".join(map(_escaped, self.headings))
        body = "\n".join(" & ".join(map(_escaped, row)) + r" \\" for row in self.rows)
        return (
            "\\begin{table}\n\\centering\n"
            f"\\begin{{tabular}}{{l{'c' * (len(self.headings) - 1)}}}\n\\toprule\n"
            f"{headings} \\\\\n\\midrule\n{body}\n\\bottomrule\n\\end{{tabular}}\n"
            f"\\caption{{{_escaped(self.title)}}}\n\\end{{table}}\n"
        )


def activations() -> Table:
    """Table 1: what the non-parametric activations are like, from what their classes declare."""
    rows = []
    for name, shown in COMPARED.items():
        facts = facts_of(name)
        rows.append(
            (
                shown,
                "yes" if facts.smooth else "no",
                facts.local or "-",
                {"l2": "only l2", "own": "its own"}.get(
                    facts.regularization or "", facts.regularization or "-"
                ),
                "yes" if facts.plottable else "no",
                facts.hyperparameter or "-",
                facts.parameters.replace("**2", "²"),
            )
        )
    headings = ("name", "smooth", "local", "regularization", "plottable", "set by", "parameters a neuron")
    return Table("Non-parametric activation functions", headings, tuple(rows))


def susy(evidence: Evidence, profiles: Sequence[str] = tuple(susy_experiment.PROFILES)) -> Table:
    """Table 2: ours and the published values, with their differences.

    Args:
        evidence: what is stored.
        profiles: the first of these that has finished runs is shown.
    """
    for profile in profiles:
        own = evidence.cells("susy", profile, susy_experiment.ACTIVATIONS)
        found = {(cell.label, cell.layers): cell for cell in own}
        if found:
            break
    else:
        raise Missing("no stored results yet: kafnets reproduce susy --profile sample")
    rows = []
    for (label, layers), paper in published.SUSY.items():
        cell = found.get((label, layers))
        rows.append(
            (
                f"{NAMES.get(label, label)}, {in_layers(layers)}",
                "-" if cell is None else _score(cell),
                "-" if cell is None else str(len(cell.test)),
                f"{paper.mean:.4f} ± {paper.deviation:.3f}",
                "-" if cell is None else f"{cell.mean - paper.mean:+.4f}",
                "-" if cell is None else f"{cell.parameters:,}",
                f"{paper.parameters:,}",
            )
        )
    data = next(iter(found.values())).data
    headings = (
        "activation",
        "ours: test AUC",
        "seeds",
        "paper: test AUC",
        "difference",
        "ours: parameters",
        "paper",
    )
    return Table(
        f"SUSY, {profile} profile, on {data}; the paper's on all 5,000,000 rows", headings, tuple(rows)
    )


def _score(cell: Cell) -> str:
    return f"{cell.mean:.4f}" + (f" ± {cell.deviation:.4f}" if len(cell.test) > 1 else "")


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    return "".join(SPECIAL.get(character, character) for character in text)
