"""What PLAN.md asks of stored runs: mean ranks, and each method against one of them.

python -m benchmarks.tables.summary --group confirmation --reference kafnets
"""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, wilcoxon

from benchmarks.tables import suite
from benchmarks.tables.run import OUTPUT, stored
from kafnets.comparison.statistics import holm
from kafnets.comparison.table import Table

SAMPLES = 10_000
LEVEL = 1.02
"""Up to that ratio of errors a method is level with another, if the test does not find it worse."""


@dataclass(frozen=True)
class Pair:
    """The reference against another method, over tables that both have.

    Attributes:
        method: the other.
        tables: how many.
        ratio: geometric mean of the reference's errors over the other's.
        interval: of 95 %, by bootstrap over tables.
        p: of Wilcoxon's test, corrected by Holm's method.
    """

    method: str
    tables: int
    ratio: float
    interval: tuple[float, float]
    p: float

    @property
    def level(self) -> bool:
        """Whether the reference is at least level."""
        return self.ratio <= LEVEL and not (self.p < 0.05 and self.ratio > 1)

    @property
    def inverse(self) -> "Pair":
        """The other method's errors over the reference's."""
        low, high = self.interval
        return replace(self, ratio=1 / self.ratio, interval=(1 / high, 1 / low))

    def cells(self) -> tuple[str, str, str]:
        """Of a table: ratio, interval, p-value."""
        low, high = self.interval
        return f"{self.ratio:.3f}", f"{low:.3f} to {high:.3f}", f"{self.p:.2g}"


def errors(
    lines: Iterable[Mapping[str, Any]],
    tables: Sequence[str],
    part: str,
    divisions: int = suite.DIVISIONS,
    score: str = "error",
) -> dict[str, dict[str, float]]:
    """By method and table: the mean error, for tables of which all divisions are there.

    No error at all counts as half an error in all rows that were scored, so that ratios exist.

    Args:
        lines: stored runs.
        tables: those that are asked for.
        part: what was scored, "validation" or "test".
        divisions: how many.
        score: the error, or "log_loss", which only tables of classes have.
    """
    runs: dict[tuple[str, str], dict[int, Mapping[str, Any]]] = {}
    for line in lines:
        if line["table"] in tables and line["part"] == part and score in line.get("scores", {}):
            runs.setdefault((line["method"], line["table"]), {})[line["division"]] = line
    found: dict[str, dict[str, float]] = {}
    for (method, table), own in runs.items():
        if set(own) >= set(range(divisions)):
            chosen = [own[number] for number in range(divisions)]
            mean = float(np.mean([each["scores"][score] for each in chosen]))
            found.setdefault(method, {})[table] = mean or 0.5 / sum(each["rows"][1] for each in chosen)
    return found


def mean_ranks(found: Mapping[str, Mapping[str, float]], tables: Sequence[str]) -> dict[str, float]:
    """1 is the best. Equal errors share their rank; a method without a table has the last one there."""
    table = np.array([[own.get(name, np.inf) for name in tables] for own in found.values()])
    return dict(zip(found, rankdata(table, axis=0).mean(1).tolist(), strict=True))


def pairs(found: Mapping[str, Mapping[str, float]], reference: str) -> list[Pair]:
    """The reference against each of the others."""
    logarithms: dict[str, NDArray[np.float64]] = {}
    for method, own in found.items():
        if method != reference and (both := sorted(set(own) & set(found[reference]))):
            logarithms[method] = np.log([found[reference][name] / own[name] for name in both])
    p_values = holm([float(wilcoxon(each).pvalue) if each.any() else 1.0 for each in logarithms.values()])
    return [
        Pair(method, len(each), float(np.exp(each.mean())), _interval(each), p)
        for (method, each), p in zip(logarithms.items(), p_values, strict=True)
    ]


def ranking(
    found: Mapping[str, Mapping[str, float]],
    reference: str,
    tables: Sequence[str],
    level: bool = False,
    unranked: Mapping[str, Mapping[str, float]] | None = None,
) -> str:
    """Methods by mean rank, and the reference against each, as a table in Markdown.

    Args:
        found: errors by method and table.
        reference: one of the methods.
        tables: those that ranks are taken over.
        level: tell of each pair whether the reference is at least level, by the plan's rule.
        unranked: other methods that lack some of the tables; p-values are corrected for them, too.
    """
    ranks = mean_ranks(found, tables)
    every = {**found, **(unranked or {})}
    against = {each.method: each for each in pairs(every, reference)}
    p_value = "p (Holm)" if len(against) > 1 else "p"
    headings = ["method", "tables", "mean rank", f"{reference}: error / its error", "95 % interval", p_value]
    headings += ["at least level"] * level
    rows = []
    for method in [*sorted(ranks, key=ranks.__getitem__), *(unranked or {})]:
        row = [method, str(len(every[method])), f"{ranks[method]:.2f}" if method in ranks else "-"]
        if each := against.get(method):
            row += [*each.cells(), *["yes" if each.level else "no"] * level]
        rows.append(row + [""] * (len(headings) - len(row)))
    return markdown(headings, rows)


def markdown(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    return Table("", tuple(headings), tuple(map(tuple, rows))).markdown()


def _interval(logarithms: NDArray[np.float64]) -> tuple[float, float]:
    rows = np.random.default_rng(0).integers(0, len(logarithms), (SAMPLES, len(logarithms)))
    low, high = np.exp(np.quantile(logarithms[rows].mean(1), (0.025, 0.975)))
    return float(low), float(high)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--group", choices=suite.GROUPS, default="development")
    parser.add_argument("--reference", default="kafnets", help="the method that the others are compared with")
    parser.add_argument("--methods", help="comma-separated names; default: all that are stored")
    parser.add_argument("--part", choices=["validation", "test"], help="default: test for confirmation only")
    parser.add_argument("--divisions", type=int, default=suite.DIVISIONS)
    parser.add_argument("--input", type=Path, default=OUTPUT)
    given = parser.parse_args(arguments)
    part = given.part or ("test" if given.group == "confirmation" else "validation")
    tables = suite.GROUPS[given.group]
    found = errors(stored(given.input), tables, part, given.divisions)
    if given.methods:
        found = {name: own for name, own in found.items() if name in given.methods.split(",")}
    if given.reference not in found:
        parser.error(f"no table of the group {given.group} is complete for {given.reference}")
    print(
        ranking(
            found, given.reference, [name for name in tables if any(name in own for own in found.values())]
        )
    )


if __name__ == "__main__":
    main()
