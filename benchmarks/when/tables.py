"""The tables of docs/when-to-use.md, from the stored runs."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.when.formulas import FORMULAS, MORE
from benchmarks.when.results import (
    Comparison,
    Errors,
    Lines,
    Tested,
    best_fixed,
    by_name,
    by_seed,
    comparisons,
    errors,
    geometric,
    learns,
    tested,
    tests_table,
)
from benchmarks.when.run import STUDIES
from kafnets.comparison.table import NOTHING, Table

LEVEL = 0.05
SCALINGS = {"range": "linear", "robust": "robust"}
Mean = Callable[[Sequence[float]], float]


def row(
    labels: Sequence[str],
    values: Mapping[str, float],
    methods: Sequence[str],
    shown: str,
    best: Callable[..., float] | None = min,
) -> tuple[str, ...]:
    """Of a table: labels, then the methods' values in a format, the best one in bold."""
    marked = best(values.values()) if best else None
    texts = {method: format(value, shown) for method, value in values.items()}
    cells = [
        NOTHING
        if method not in values
        else f"**{texts[method]}**"
        if values[method] == marked
        else texts[method]
        for method in methods
    ]
    return (*labels, *cells)


def seeds_of(own: Mapping[str, Mapping[int, float]]) -> str:
    """How many, as text."""
    return str(len(next(iter(own.values()))))


def means(own: Mapping[str, Mapping[int, float]], mean: Mean) -> dict[str, float]:
    """By method."""
    return {method: mean(list(runs.values())) for method, runs in own.items()}


def average(values: Sequence[float]) -> float:
    """Arithmetic mean."""
    return float(np.mean(values))


def judged(found: Errors) -> Errors:
    """Formulas without those of the tutorials, on which the defaults of edge-wise networks were chosen."""
    return {key: own for key, own in found.items() if not key[0].startswith("tutorial")}


def formulas(lines: Lines, task: str = "formulas") -> Table:
    """A row per formula, and their geometric mean."""
    found, methods = errors(lines, task), STUDIES[task].methods
    rows = [
        row((name, variables(name), seeds_of(own)), means(own, geometric), methods, ".3f")
        for (name, _), own in found.items()
    ]
    kept = judged(found)
    rows.append(
        row((f"geometric mean of {len(kept)}", "", ""), together(kept, of_logs=True), methods, ".3f", None)
    )
    return Table("Formulas", ("formula", "variables", "seeds", *methods), tuple(rows))


def variables(name: str) -> str:
    """Of a formula, how many, as text."""
    return str(len((FORMULAS | MORE)[name].ranges))


def together(found: Errors, *, of_logs: bool) -> dict[str, float]:
    """By method: the geometric mean over names."""
    return {method: float(np.exp(own.mean())) for method, own in by_name(found, of_logs=of_logs).items()}


def formula_tests(lines: Lines, task: str) -> list[Comparison]:
    """Over formulas."""
    return comparisons(by_name(judged(errors(lines, task)), of_logs=True))


def networks_chosen(lines: Lines) -> Table:
    """How often validation chose each network, over formulas and seeds."""
    study = STUDIES["more-formulas"]
    counts = Counter(line["network"] for line in lines if line["task"] == "more-formulas")
    rows = [
        (method, "; ".join(f"{name}: {counts[name]}" for name in study.networks[method]))
        for method in study.methods
    ]
    return Table("Networks", ("method", "networks chosen"), tuple(rows))


def digits(lines: Lines) -> Table:
    """Mean error rates, a row per budget."""
    methods = STUDIES["digits"].methods
    rows = [
        row((f"{budget:,}", seeds_of(own)), means(own, average), methods, ".2%")
        for (_, budget), own in errors(lines, "digits").items()
    ]
    return Table("Digits", ("parameters, at most", "seeds", *methods), tuple(rows))


def scaling_of(name: str) -> str:
    """Of Sensorless, from the name of its task."""
    return name.partition(", ")[2]


def by_scaling(lines: Lines) -> dict[str, Errors]:
    """Errors on Sensorless for each way of scaling its features."""
    found = errors(lines, "sensorless")
    return {
        scaling_of(name): {key: own for key, own in found.items() if key[0] == name}
        for name in dict.fromkeys(name for name, _ in found)
    }


def sensorless(lines: Lines) -> Table:
    """Mean error rates, a row per scaling and budget."""
    methods = STUDIES["sensorless"].methods
    rows = [
        row((scaling_of(name), f"{budget:,}", seeds_of(own)), means(own, average), methods, ".2%")
        for (name, budget), own in errors(lines, "sensorless").items()
    ]
    return Table("Sensorless", ("scaling", "parameters, at most", "seeds", *methods), tuple(rows))


def sensorless_tests(lines: Lines) -> list[Comparison]:
    """Over seeds, for each scaling."""
    return [each for scaling, own in by_scaling(lines).items() for each in comparisons(by_seed(own), scaling)]


def sensorless_sizes(lines: Lines) -> Table:
    """How many parameters the best fixed activation needs for the errors of KAFs."""
    rows, methods = [], [method for method in STUDIES["sensorless"].methods if learns(method)]
    for scaling, found in by_scaling(lines).items():
        best = best_fixed(by_seed(found))
        budgets = [budget for _, budget in found]
        theirs = [average(list(own[best].values())) for own in found.values()]
        for (_, budget), own in found.items():
            needed = [same_error(average(list(own[ours].values())), budgets, theirs) for ours in methods]
            rows.append((scaling, f"{budget:,}", best, *needed))
    headings = tuple(f"as many as {method}" for method in methods)
    return Table("Sizes", ("scaling", "parameters", "fixed", *headings), tuple(rows))


def same_error(error: float, budgets: Sequence[int], theirs: Sequence[float]) -> str:
    """The size at which their errors fall to this one, interpolated between logarithms."""
    falling = np.minimum.accumulate(theirs)
    if error < falling[-1]:
        return f"more than {budgets[-1]:,}"
    if error >= falling[0]:
        return f"at most {budgets[0]:,}"
    size = np.exp(np.interp(-np.log(error), -np.log(falling), np.log(budgets)))
    return f"{int(float(f'{size:.2g}')):,}"


def few_rows(lines: Lines, task: str = "few-rows") -> Table:
    """Mean errors, a row per table, and their geometric mean."""
    found, methods = errors(lines, task), STUDIES[task].methods
    rows = [
        row((name, seeds_of(own)), means(own, average), methods, ".3f") for (name, _), own in found.items()
    ]
    rows.append(
        row((f"geometric mean of {len(found)}", ""), together(found, of_logs=False), methods, ".3f", None)
    )
    return Table("Few rows", ("table", "seeds", *methods), tuple(rows))


def few_rows_tests(lines: Lines, task: str) -> list[Comparison]:
    """Over tables."""
    return comparisons(by_name(errors(lines, task), of_logs=False))


def decibels(error: float) -> float:
    """PSNR of an error relative to the range of colors."""
    return float(-20 * np.log10(error))


def image(lines: Lines) -> Table:
    """Mean PSNR, a row per photograph."""
    methods = STUDIES["image"].methods
    rows = [
        row(
            (name, seeds_of(own)),
            means(own, lambda values: average([decibels(each) for each in values])),
            methods,
            ".1f",
            max,
        )
        for (name, _), own in errors(lines, "image").items()
    ]
    return Table("Image", ("photograph", "seeds", *methods), tuple(rows))


def seed_tests(lines: Lines, task: str) -> list[Comparison]:
    """Over seeds."""
    return comparisons(by_seed(errors(lines, task)))


def physics(lines: Lines) -> Table:
    """Geometric means of relative errors, a row per equation."""
    methods = STUDIES["physics"].methods
    rows = [
        row((name, seeds_of(own)), means(own, geometric), methods, ".4f")
        for (name, _), own in errors(lines, "physics").items()
    ]
    return Table("Physics", ("equation", "seeds", *methods), tuple(rows))


@dataclass(frozen=True)
class Family:
    """Tests that are corrected together.

    Attributes:
        task: what they are about.
        units: what is paired.
        compare: the comparisons, from stored runs.
    """

    task: str
    units: str
    compare: Callable[[Lines], list[Comparison]]

    def table(self, lines: Lines) -> Table:
        """All of them."""
        return tests_table(self.compare(lines), self.units)


FAMILIES = {
    "formula-tests": Family("smooth formulas", "formulas", partial(formula_tests, task="formulas")),
    "more-formula-tests": Family("other formulas", "formulas", partial(formula_tests, task="more-formulas")),
    "sensorless-tests": Family("small networks on Sensorless", "seeds", sensorless_tests),
    "physics-tests": Family("physics-informed networks", "seeds", partial(seed_tests, task="physics")),
    "few-rows-tests": Family("few rows", "tables", partial(few_rows_tests, task="few-rows")),
    "few-rows-more-tests": Family(
        "few rows of other tables", "tables", partial(few_rows_tests, task="few-rows-more")
    ),
    "image-tests": Family("an image as a network", "seeds", partial(seed_tests, task="image")),
}
"""By the name of the page's block."""


def significant(lines: Lines) -> Table:
    """Learned functions that are better or worse than the best fixed activation, wins first."""
    found = [
        (
            each.ratio,
            (_task(family, each), each.compared.ours, each.compared.theirs, each.shown, f"{each.p:.2g}"),
        )
        for family in FAMILIES.values()
        for each in tested(family.compare(lines))
        if each.p < LEVEL and not learns(each.compared.theirs)
    ]
    headings = ("task", "ours", "theirs", "ratio of errors", "p")
    return Table("Significant", headings, tuple(row for _, row in sorted(found)))


def _task(family: Family, each: Tested) -> str:
    group = each.compared.group
    return f"{family.task}, {SCALINGS[group]} scaling" if group else family.task


GENERATED: dict[str, Callable[[Lines], Table]] = {
    "significant": significant,
    "formulas": formulas,
    "more-formulas": partial(formulas, task="more-formulas"),
    "more-formula-networks": networks_chosen,
    "digits": digits,
    "sensorless": sensorless,
    "sensorless-sizes": sensorless_sizes,
    "few-rows": few_rows,
    "few-rows-more": partial(few_rows, task="few-rows-more"),
    "image": image,
    "physics": physics,
    **{name: family.table for name, family in FAMILIES.items()},
}
"""By the name of the page's block."""
