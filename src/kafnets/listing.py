"""The table of all activations, the paper's Table 1 with every rival."""

from rich.table import Table

from kafnets.registry import facts_of, options_of


def activation_table(names: list[str], width: int) -> Table:
    """One row a name. Narrow terminals get fewer columns."""
    headings = ["name", "formula", "params", "smooth", "local", "decay", "plot"]
    if width >= 120:
        headings += ["options", "source"]
    table = Table(*headings, title="Activations", row_styles=["", "dim"])
    table.columns[0].no_wrap = True
    family = ""
    for name in names:
        facts = facts_of(name)
        if facts.family != family:
            table.add_section()
            family = facts.family
        cells = {
            "name": name,
            "formula": facts.formula,
            "options": ", ".join(_shown(*option) for option in options_of(name).items()),
            "params": facts.parameters,
            "smooth": _yes_or_no(facts.smooth),
            "local": facts.local or "-",
            "decay": facts.regularization or "-",
            "plot": _yes_or_no(facts.plottable),
            "source": facts.source,
        }
        table.add_row(*(cells[heading] for heading in headings))
    return table


def _yes_or_no(fact: bool | None) -> str:
    return "?" if fact is None else "yes" if fact else "no"


def _shown(option: str, default: object) -> str:
    if default is None:
        return option
    return f"{option}={default:.3g}" if isinstance(default, float) else f"{option}={default}"
