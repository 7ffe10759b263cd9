"""The tables that ``kafnets reproduce`` prints."""

from collections.abc import Iterator, Sequence

from kafnets.comparison.summary import Cell
from kafnets.comparison.table import NOTHING, Table
from kafnets.paper import published


def result_table(cells: Sequence[Cell], beside: published.Table, experiment: str, profile: str) -> Table:
    """Means and deviations over seeds, best first, with the paper's values."""
    metric, data = (cells[0].metric, cells[0].data) if cells else ("score", experiment)
    rows = []
    for cell in _best_first(cells):
        paper = beside.get((cell.label, cell.layers))
        compared = (NOTHING, NOTHING)
        if paper is not None:
            compared = (f"{paper.mean:.4f}", f"{cell.mean - paper.mean:+.4f}")
        ours = (cell.label, str(cell.layers), str(cell), _seeds(cell), f"{cell.parameters:,}")
        rows.append((*ours, *compared))
    headings = ("activation", "layers", f"test {metric}", "seeds", "parameters", "paper", "difference")
    note = "The paper's values are for its own setting: see --profile paper."
    return Table(
        f"{experiment}, {profile} profile, on {data}",
        headings,
        tuple(rows),
        "" if profile == "paper" or not beside else note,
    )


def reward_tables(final: Sequence[Cell], areas: Sequence[Cell], steps: int) -> Iterator[Table]:
    """One per environment, best first; p-values are against its first activation."""
    area_of = {(cell.data, cell.label): cell for cell in areas}
    for environment in dict.fromkeys(cell.data for cell in final):
        own = [cell for cell in final if cell.data == environment]
        base, rivals = own[0], len(own) - 1
        rows = []
        for cell in _best_first(own):
            area = area_of[cell.data, cell.label]
            p_values = (
                _p_value(cell, base, rivals),
                _p_value(area, area_of[base.data, base.label], rivals),
            )
            scores = (str(cell), p_values[0], str(area), p_values[1])
            rows.append((cell.label, *scores, _seeds(cell), f"{cell.parameters:,}"))
        note = (
            "Final: mean of the episodes in the last tenth. Area: mean of the curve over all steps. "
            f"p: paired t-test over seeds against {base.label}"
        )
        yield Table(
            f"{environment}, {steps:,} steps of PPO",
            ("activation", "final reward", "p", "area", "p", "seeds", "parameters"),
            tuple(rows),
            note + (", multiplied by the number of comparisons." if rivals > 1 else "."),
        )


def _best_first(cells: Sequence[Cell]) -> list[Cell]:
    return sorted(cells, key=lambda cell: -cell.mean)


def _seeds(cell: Cell) -> str:
    return str(len(cell.test)) + (f" of {cell.wanted}" if len(cell.test) < cell.wanted else "")


def _p_value(cell: Cell, base: Cell, rivals: int) -> str:
    tested = None if cell is base else cell.against(base)
    return NOTHING if tested is None else f"{tested.corrected(rivals).p_value:.2g}"
