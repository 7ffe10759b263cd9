"""The ranking of a comparison: one table for terminal, notebook, page and file."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kafnets import files
from kafnets.comparison.record import Record
from kafnets.comparison.statistics import DIGITS, Effect, effect
from kafnets.comparison.summary import Cell, cells, complete
from kafnets.comparison.table import NOTHING, Table
from kafnets.comparison.verdict import verdict

RANKING = "ranking.json"
REFERENCE = "relu"
STEP_TIME = "step time (× ReLU)"  # noqa: RUF001
FEW, SMALL_SHARE = 50, 0.1
"""With fewer test rows of the rarer class, or a smaller share, AUC alone may flatter."""
FOR_RARE_CLASSES = ("balanced_accuracy", "average_precision")


@dataclass(frozen=True)
class Row:
    """One activation, or rival.

    Attributes:
        rank: from 1; equal means share one.
        label: its name.
        cell: its scores by seed.
        effect: against the reference; None for the reference itself.
        step_time: of training, relative to ReLU; None if it was not measured.
        also: means of further scores, by name.
    """

    rank: int
    label: str
    cell: Cell
    effect: Effect | None = None
    step_time: float | None = None
    also: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Ranking:
    """Best first, each tested against the reference.

    Attributes:
        metric: the score that is ranked.
        reference: what all others are tested against.
        rows: best first.
        test: the test and its correction, in one sentence.
        verdict: a summary in plain words.
    """

    metric: str
    reference: str
    rows: tuple[Row, ...]
    test: str
    verdict: str

    def table(self, title: str = "") -> Table:
        """As text, for terminals, notebooks and documents."""
        timed = any(row.step_time is not None for row in self.rows)
        tested = any(row.effect is not None and row.effect.p_value is not None for row in self.rows)
        also, found = [name.replace("_", " ") for name in self.rows[0].also], []
        for row in self.rows:
            told = {"rank": str(row.rank), "activation": row.label}
            told[f"test {self.metric}"] = str(row.cell) + _missing(row.cell)
            told |= dict(zip(also, (f"{mean:.4f}" for mean in row.also.values()), strict=True))
            if tested:
                told |= {f"vs. {self.reference}": _interval(row.effect), "p": _p_value(row.effect)}
            told["parameters"] = f"{row.cell.parameters:,}" if row.cell.parameters else NOTHING
            if timed:
                told[STEP_TIME] = NOTHING if row.step_time is None else f"{row.step_time:.2f}"
            found.append(told)
        rows = tuple(tuple(told.values()) for told in found)
        return Table(title, tuple(found[0]), rows, optional=("parameters", STEP_TIME, *also[::-1]))

    def numbers(self) -> list[dict[str, Any]]:
        """The rows as numbers, by name."""
        return [
            {
                "rank": row.rank,
                "activation": row.label,
                "mean": row.cell.mean,
                "deviation": row.cell.deviation,
                "seeds": len(row.cell.test),
                **row.also,
                **{
                    name: getattr(row.effect, name, None) for name in ("difference", "low", "high", "p_value")
                },
                "parameters": row.cell.parameters,
                "step_time": row.step_time,
            }
            for row in self.rows
        ]

    def save(self, folder: Path, **about: Any) -> None:
        """As ``ranking.json`` in the folder of a comparison, with the scores of every seed."""
        rows = [
            numbers | {"test": row.cell.test, "validation": row.cell.validation}
            for numbers, row in zip(self.numbers(), self.rows, strict=True)
        ]
        content = about | {
            "metric": self.metric,
            "reference": self.reference,
            "test": self.test,
            "verdict": self.verdict,
            "rows": rows,
        }
        files.write(folder / RANKING, files.as_json(content))


def rank(
    records: Sequence[Record],
    *,
    reference: str = REFERENCE,
    wanted: int = 0,
    step_times: Mapping[str, float] | None = None,
    metric: str | None = None,
) -> Ranking:
    """Rank the activations of one comparison by their mean test score.

    Args:
        records: of finished runs on one data set, at one depth.
        reference: the label that all others are tested against.
        wanted: seeds that each should have; by default, those that it has.
        step_times: of training, relative to ReLU, by label.
        metric: which score; the main one of the task if None.
    """
    found = sorted(cells(records, metric, wanted=wanted), key=lambda cell: -round(cell.mean, DIGITS))
    base = next((cell for cell in found if cell.label == reference), None)
    comparisons = max(1, len(found) - 1)
    also = {name: {cell.label: cell.mean for cell in cells(records, name)} for name in _also(records)}
    rows = tuple(
        Row(
            1 + sum(round(other.mean, DIGITS) > round(cell.mean, DIGITS) for other in found),
            cell.label,
            cell,
            None if base is None or cell is base else _effect(cell, base, comparisons),
            (step_times or {}).get(cell.label),
            {name: means[cell.label] for name, means in also.items()},
        )
        for cell in found
    )
    tested = [row.effect for row in rows if row.effect is not None and row.effect.p_value is not None]
    first = complete(found)[0]
    return Ranking(
        found[0].metric,
        reference,
        rows,
        _sentence(tested, reference, comparisons, found[0].test_to_train) if tested else "",
        verdict(first, base, next(row.effect for row in rows if row.cell is first), comparisons, len(found)),
    )


def stored_step_times(folder: Path) -> dict[str, float]:
    """What an earlier call has measured, by label."""
    try:
        rows = json.loads((folder / RANKING).read_text(encoding="utf-8"))["rows"]
        return {
            str(row["activation"]): float(row["step_time"]) for row in rows if row["step_time"] is not None
        }
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}


def _missing(cell: Cell) -> str:
    return "" if len(cell.test) >= cell.wanted else f" ({len(cell.test)} of {cell.wanted} runs)"


def _effect(cell: Cell, base: Cell, comparisons: int) -> Effect:
    common = sorted(cell.test.keys() & base.test.keys())
    scores = ([each.test[seed] for seed in common] for each in (cell, base))
    return effect(*scores, test_to_train=cell.test_to_train, comparisons=comparisons)


def _also(records: Sequence[Record]) -> tuple[str, ...]:
    """Further scores where one of two classes is rare."""
    rarest = [each.data.rarest for each in records if each.data.rarest is not None]
    rows = records[0].data.rows[2]
    if not rarest or (min(rarest) >= FEW and min(rarest) >= SMALL_SHARE * rows):
        return ()
    return tuple(name for name in FOR_RARE_CLASSES if all(name in each.test for each in records))


def _sentence(tested: Sequence[Effect], reference: str, comparisons: int, test_to_train: float) -> str:
    name = "corrected resampled t-test (Nadeau and Bengio)" if test_to_train else "paired t-test"
    corrected = (
        f", corrected by Bonferroni for {comparisons} comparisons, as are the 95 % intervals"
        if comparisons > 1
        else ", with 95 % intervals"
    )
    counts = {each.seeds for each in tested}
    seeds = f"{'up to ' if len(counts) > 1 else ''}{max(counts)} seeds"
    return f"Each is tested against {reference} by a {name} over {seeds}{corrected}."


def _interval(one: Effect | None) -> str:
    if one is None:
        return "reference"
    if math.isnan(one.difference):  # no seed is finished for both
        return NOTHING
    interval = "" if math.isnan(one.low) else f" [{one.low:+.4f}, {one.high:+.4f}]"
    return f"{one.difference:+.4f}{interval}"


def _p_value(one: Effect | None) -> str:
    return NOTHING if one is None or one.p_value is None else f"{one.p_value:.2g}"
