"""The blocks of docs/tables.md: comparisons of stored runs on the confirmation tables."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.tables import suite, summary

DEFAULTS = ("kafnets", "kafnets-before", "mlp", "boosting", "lightgbm", "forest")
"""Those of the first comparison, which are ranked together."""

LEVEL_WITH = "realmlp-td"
"""The first comparison's other method."""

BESIDE = ("xgboost", "catboost", LEVEL_WITH, "realmlp-td-s", "tabm", "edgewise")
TUNED = tuple(f"{name}-tuned" for name in ("mlp", "boosting", "lightgbm", "forest", "xgboost"))
FIELD = (*DEFAULTS, *TUNED, *BESIDE, "kafnets:relu", "kafnets-1")
"""All that are ranked together, if they have finished."""

RECIPE = ("kafnets", "kafnets:relu", "kafnets:mish", "kafnets:pact", "kafnets:periodic")
SINGLE = ("kafnets-1", "kafnets-1:relu", "kafnets-1:mish", "kafnets-1:pact")
MEMBERS = ("kafnets", "realmlp-td-6")
TABLES = suite.GROUPS["confirmation"]
LEAST = 2
"""Divisions that a preliminary comparison needs on every table."""

FEWER = 0.93
"""What the second comparison expects of errors with KAFs over those with other activations, at most."""

Errors = Mapping[str, Mapping[str, float]]
Lines = Sequence[Mapping[str, Any]]


def by_divisions(lines: Lines) -> dict[int, Errors]:
    """Errors over the first so many divisions, from all of them down to the fewest that are shown."""
    return {
        count: summary.errors(lines, TABLES, "test", count) for count in range(suite.DIVISIONS, LEAST - 1, -1)
    }


def complete(found: Errors, methods: Sequence[str]) -> Errors:
    """Of those methods that have finished all tables."""
    return {name: found[name] for name in methods if set(TABLES) <= set(found.get(name, {}))}


def defaults(found: Errors) -> str:
    """The first comparison: p-values are corrected for all of its methods."""
    unranked = {LEVEL_WITH: found[LEVEL_WITH]}
    told = summary.ranking(complete(found, DEFAULTS), DEFAULTS[0], TABLES, level=True, unranked=unranked)
    return f"{told}\n\n{_resting_on(len(TABLES), suite.DIVISIONS)}"


def field(found: Errors) -> str:
    """All methods that have finished all tables."""
    told = summary.ranking(complete(found, FIELD), DEFAULTS[0], TABLES)
    return f"{told}\n\n{_resting_on(len(TABLES), suite.DIVISIONS)}"


def apart(found: Errors) -> str:
    """Mean ranks, and the default's errors over others', for tables of classes and of numbers."""
    own = complete(found, FIELD)
    groups = {
        "classification": [name for name in TABLES if suite.table(name).class_values],
        "regression": [name for name in TABLES if not suite.table(name).class_values],
    }
    headings, rows = ["method"], [[method] for method in own]
    for kind, tables in groups.items():
        those = {method: {name: errors[name] for name in tables} for method, errors in own.items()}
        ranks = summary.mean_ranks(those, tables)
        against = _against(those, DEFAULTS[0])
        headings += [f"{kind} ({len(tables)} tables): mean rank", f"{DEFAULTS[0]}: error / its error"]
        for row in rows:
            pair = against.get(row[0])
            row += [f"{ranks[row[0]]:.2f}", f"{pair.ratio:.3f}" if pair else ""]
    return summary.markdown(headings, rows)


def outcomes(found: Mapping[int, Errors], lines: Lines) -> str:
    """The plan's three comparisons, and what came of each."""
    rows = []
    for planned, told, reached in (
        *_of_defaults(found[suite.DIVISIONS]),
        *_of_recipe(found),
        _of_members(first_division(lines, MEMBERS)),
    ):
        rows.append((planned, told, "reached" if reached else "**not reached**"))
    return summary.markdown(("planned", "found", "outcome"), rows)


def _of_defaults(found: Errors) -> Iterator[tuple[str, str, bool]]:
    ours, *others = DEFAULTS
    own = complete(found, DEFAULTS)
    ranks = summary.mean_ranks(own, TABLES)
    against = _against({**own, LEVEL_WITH: found[LEVEL_WITH]}, ours)
    ratios = [against[name].ratio for name in others]
    better = [name for name in others if ranks[ours] < ranks[name]]
    told = (
        f"better than {len(better)} of {len(others)}; {min(ratios):.3f} to {max(ratios):.3f} of their errors"
    )
    yield f"better mean rank than {', '.join(others)}", told, better == others
    yield f"at least level with {LEVEL_WITH}", _told(against[LEVEL_WITH]), against[LEVEL_WITH].level


def _of_recipe(found: Mapping[int, Errors]) -> Iterator[tuple[str, str, bool]]:
    count = next(count for count, own in found.items() if len(complete(own, RECIPE)) == len(RECIPE))
    on = "" if count == suite.DIVISIONS else f", on the first {count} divisions"
    ours, *activations, embedding = RECIPE
    against = _against(complete(found[count], RECIPE), ours)
    for name in activations:
        pair = against[name]
        planned = f"at least {100 * (1 - FEWER):.0f} % fewer errors than {name}"
        yield planned, _told(pair) + on, pair.ratio <= FEWER and pair.p < 0.05
    yield f"at least level with {embedding}", _told(against[embedding]) + on, against[embedding].level


def _of_members(found: Errors) -> tuple[str, str, bool]:
    ours, theirs = MEMBERS
    ranks, (pair,) = summary.mean_ranks(found, list(found[ours])), summary.pairs(found, ours)
    told = (
        f"{ranks[ours]:.2f} and {ranks[theirs]:.2f}; {_told(pair)}, on one division of {pair.tables} tables"
    )
    return f"better mean rank than {theirs} (preliminary)", told, ranks[ours] < ranks[theirs]


def _against(found: Errors, ours: str) -> dict[str, summary.Pair]:
    return {each.method: each for each in summary.pairs(found, ours)}


def _told(pair: summary.Pair) -> str:
    low, high = pair.interval
    return f"{pair.ratio:.3f} of its errors ({low:.3f} to {high:.3f}), p = {pair.p:.2g}"


def ranked(found: Mapping[int, Errors], methods: Sequence[str]) -> str:
    """The methods that have been run, the first of which is the reference; each table over like divisions.

    A table over all divisions comes first, with the methods that have finished all tables or, if these are
    not two yet, over the tables that all have. Then preliminary ones, with those that have finished fewer
    divisions on all tables.

    Args:
        found: errors by the number of divisions, see :func:`by_divisions`.
        methods: in the order of the plan.
    """
    told, shown, covered = list[str](), list[str](), 0
    for count, own in found.items():
        there = [name for name in methods if set(TABLES) <= set(own.get(name, {}))]
        if count == suite.DIVISIONS and not _comparable(there, methods):
            there = [name for name in methods if name in own]
        common = [table for table in TABLES if all(table in own[name] for name in there)]
        more = len(there) > len(shown) or len(common) > covered
        if _comparable(there, methods) and common and more:
            shown, covered = there, len(common)
            those = {name: {table: own[name][table] for table in common} for name in there}
            told += [summary.ranking(those, methods[0], common, level=True), _resting_on(covered, count)]
    if left := [name for name in methods[1:] if name not in shown]:
        told.append(f"Not finished yet: {', '.join(left)}.")
    return "\n\n".join(told)


def first_division(lines: Lines, methods: Sequence[str]) -> Errors:
    """The methods' errors on the first division, of the tables that all of them have."""
    found = summary.errors(lines, TABLES, "test", 1)
    common = [table for table in TABLES if all(table in found.get(name, {}) for name in methods)]
    return {name: {table: found[name][table] for table in common} for name in methods}


def on_first_division(lines: Lines, methods: Sequence[str]) -> str:
    """The methods, ranked by the first division of the tables that all of them have."""
    found = first_division(lines, methods)
    common = list(found[methods[0]])
    return f"{summary.ranking(found, methods[0], common, level=True)}\n\n{_resting_on(len(common), 1)}"


def _comparable(names: Sequence[str], methods: Sequence[str]) -> bool:
    return methods[0] in names and len(names) > 1


def _resting_on(tables: int, divisions: int) -> str:
    """What a comparison rests on."""
    told = f"Over {tables} of {len(TABLES)} tables"
    if divisions == suite.DIVISIONS:
        return f"{told}."
    first = "first" if divisions == 1 else f"first {divisions}"
    return f"{told}, on the {first} of {suite.DIVISIONS} divisions: preliminary."


def beside(found: Mapping[int, Errors], lines: Lines) -> str:
    """The default against each other method, over the tables that both have."""
    told = []
    for name in BESIDE:
        if any(name in own for own in found.values()):
            told.append(f"{name}:\n\n{ranked(found, ('kafnets', name))}")
        elif any(name == line["method"] for line in lines):
            told.append(f"{name}:\n\n{on_first_division(lines, ('kafnets', name))}")
    return "\n\n".join(told)


def errors_by_table(found: Errors) -> str:
    """A row per table, a column per method."""
    methods = [name for name in (*DEFAULTS, *BESIDE) if name in found]
    rows = []
    for table in TABLES:
        own = {method: found[method].get(table) for method in methods}
        known = [value for value in own.values() if value is not None]
        texts = [
            "" if value is None else f"**{value:.4g}**" if value == min(known) else f"{value:.4g}"
            for value in own.values()
        ]
        if known:
            rows.append([table, *texts])
    return summary.markdown(["table", *methods], rows)


def times(lines: Lines) -> str:
    """Processor time of a fit: the median, and the longest, by method."""
    rows = []
    for method in (*DEFAULTS, *TUNED, *BESIDE, "kafnets-1"):
        own = [line["seconds"]["fit_cpu"] for line in lines if line["method"] == method and "seconds" in line]
        if own:
            rows.append((method, str(len(own)), f"{np.median(own):.3g}", f"{max(own):.3g}"))
    return summary.markdown(("method", "fits", "median [s]", "longest [s]"), rows)


def made_with(lines: Lines, machine: str = "on a shared machine") -> str:
    """Runs, commits and processors, and whether the machine did other work."""
    stamps = [line["provenance"] for line in lines]
    failed = sum("failed" in line for line in lines)
    commits = sorted({each["commit"][:7] for each in stamps})
    processors = sorted({each["hardware"]["processor"] for each in stamps})
    return (
        f"{len(lines)} runs, of which {failed} failed; commits {', '.join(commits)}; "
        f"{', '.join(processors)}, one thread per run, {machine}."
    )
