"""Write tables and pictures of docs/when-to-use.md again, from the stored runs.

python -m benchmarks.when.summary
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from scipy import stats

from benchmarks.tables.run import stored
from benchmarks.when.formulas import FORMULAS
from benchmarks.when.run import METHODS, OUTPUT
from kafnets import files
from kafnets.comparison.statistics import holm
from kafnets.comparison.table import NOTHING, Table
from kafnets.paper.documents import BLOCK
from kafnets.plot import style

PAGE = Path("docs/when-to-use.md")
PICTURES = {task: Path(f"docs/images/when-{task}.svg") for task in ("formulas", "digits")}
LEARNED = ("kaf", "kaf on silu", "kaf2d", "edgewise")
EARLIER = "edgewise, linear parts"

Errors = dict[tuple[str, int], dict[str, dict[int, float]]]
"""By name and budget, then by method, then by seed."""


def errors(lines: Sequence[Mapping[str, Any]], task: str) -> Errors:
    """Of one task, with the seeds that all of a name's methods have."""
    found: Errors = {}
    for line in lines:
        if line["task"] == task:
            own = found.setdefault((line["name"], line["budget"]), {})
            own.setdefault(line["method"], {})[line["seed"]] = line["error"]
    for methods in found.values():
        common = set.intersection(*(set(runs) for runs in methods.values()))
        for method, runs in methods.items():
            methods[method] = {seed: runs[seed] for seed in sorted(common)}
    return {key: methods for key, methods in found.items() if all(methods.values())}


def geometric(values: Sequence[float]) -> float:
    """Mean."""
    return float(np.exp(np.mean(np.log(values))))


def formula_means(lines: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Geometric means over seeds, by formula and method, of formulas that all methods have, in their order.

    Those of the tutorials are left out: the defaults of edge-wise networks were chosen on them.
    """
    found = {name: runs for (name, _), runs in errors(lines, "formulas").items() if len(runs) == len(METHODS)}
    return {
        name: {method: geometric(list(found[name][method].values())) for method in METHODS}
        for name in FORMULAS
        if name in found and not name.startswith("tutorial")
    }


def formulas_table(lines: Sequence[Mapping[str, Any]]) -> Table:
    """A row per formula, and their geometric mean."""
    means, runs = formula_means(lines), {name: own for (name, _), own in errors(lines, "formulas").items()}
    rows = []
    for name in (each for each in FORMULAS if each in runs):
        own = {method: geometric(list(each.values())) for method, each in runs[name].items()}
        best = min(own.values())
        shown = [
            NOTHING
            if method not in own
            else f"**{own[method]:.3f}**"
            if own[method] == best
            else f"{own[method]:.3f}"
            for method in METHODS
        ]
        seeds = len(next(iter(runs[name].values())))
        rows.append((name, str(len(FORMULAS[name].ranges)), str(seeds), *shown))
    together = [geometric([own[method] for own in means.values()]) for method in METHODS] if means else []
    rows.append((f"geometric mean of {len(means)}", "", "", *(f"{each:.3f}" for each in together)))
    return Table("Formulas", ("formula", "variables", "seeds", *METHODS), tuple(rows))


def tests_table(lines: Sequence[Mapping[str, Any]]) -> Table:
    """Learned functions against the best fixed one, and edge-wise ones against the earlier, over formulas."""
    logs = {method: np.log([own[method] for own in formula_means(lines).values()]) for method in METHODS}
    fixed = [method for method in METHODS if method not in (*LEARNED, EARLIER)]
    best = min(fixed, key=lambda method: logs[method].mean())
    pairs = [*((method, best) for method in LEARNED), ("edgewise", EARLIER)]
    differences = [logs[ours] - logs[theirs] for ours, theirs in pairs]
    p_values = holm([float(stats.ttest_1samp(each, 0).pvalue) for each in differences])
    rows = []
    for pair, each, p_value in zip(pairs, differences, p_values, strict=True):
        reach = stats.t.ppf(0.975, len(each) - 1) * each.std(ddof=1) / np.sqrt(len(each))
        ratio, low, high = np.exp([each.mean(), each.mean() - reach, each.mean() + reach])
        won = f"{(each < 0).sum()} of {len(each)}"
        rows.append((*pair, f"{ratio:.2f} ({low:.2f} to {high:.2f})", won, f"{p_value:.2g}"))
    return Table("Tests", ("ours", "theirs", "ratio of errors", "formulas won", "p"), tuple(rows))


def digits_table(lines: Sequence[Mapping[str, Any]]) -> Table:
    """Mean error rates, a row per budget."""
    found = errors(lines, "digits")
    methods = [method for method in METHODS if any(method in runs for runs in found.values())]
    rows = []
    for (_, budget), runs in sorted(found.items()):
        means = {method: float(np.mean(list(own.values()))) for method, own in runs.items()}
        best = min(means.values())
        shown = [
            NOTHING
            if method not in means
            else f"**{means[method]:.2%}**"
            if means[method] == best
            else f"{means[method]:.2%}"
            for method in methods
        ]
        rows.append((f"{budget:,}", str(len(next(iter(runs.values())))), *shown))
    return Table("Digits", ("parameters, at most", "seeds", *methods), tuple(rows))


def formulas_picture(lines: Sequence[Mapping[str, Any]]) -> Figure:
    """Errors of all formulas by method, with geometric means."""
    means = formula_means(lines)
    figure, (panel,) = style.grid(1, 1, width=7, height=3.6)
    for place, method in enumerate(METHODS):
        own = [each[method] for each in means.values()]
        color = "#cc3311" if method in LEARNED else "#555555"
        panel.plot(own, [place] * len(own), "o", color=color, alpha=0.35, markersize=4, linestyle="none")
        panel.plot([geometric(own)] * 2, [place - 0.35, place + 0.35], color=color, linewidth=2)
    panel.set_xscale("log")
    panel.set_xticks(marks := [0.01, 0.02, 0.05, 0.1, 0.2, 0.5], list(map(str, marks)), fontsize=8)
    panel.minorticks_off()
    panel.set_yticks(range(len(METHODS)), list(METHODS), fontsize=8)
    panel.invert_yaxis()
    panel.set_xlabel("test RMSE / deviation of the target; bars: geometric means", fontsize=8)
    return figure


def digits_picture(lines: Sequence[Mapping[str, Any]]) -> Figure:
    """Error rates against numbers of parameters."""
    found = errors(lines, "digits")
    figure, (panel,) = style.grid(1, 1, width=5.5, height=3.4)
    for method in METHODS:
        points = [(budget, runs[method]) for (_, budget), runs in sorted(found.items()) if method in runs]
        if points:
            budgets, runs = zip(*points, strict=True)
            panel.plot(budgets, [np.mean(list(own.values())) for own in runs], "o-", label=method)
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_yticks(shares := [0.01, 0.02, 0.05, 0.1, 0.2, 0.5], [f"{share:.0%}" for share in shares])
    panel.minorticks_off()
    panel.set_xlabel("parameters, at most", fontsize=8)
    panel.set_ylabel("test error rate", fontsize=8)
    panel.legend(fontsize=7)
    return figure


GENERATED = {"formulas": formulas_table, "formula-tests": tests_table, "digits": digits_table}


def written(text: str, lines: Sequence[Mapping[str, Any]]) -> str:
    """The page with its tables."""
    return BLOCK.sub(
        lambda block: (
            f"<!-- generated: {block[1]} -->\n\n{GENERATED[block[1]](lines).markdown()}\n\n<!-- end -->"
        ),
        text,
    )


def main() -> None:
    """Write them."""
    lines = list(stored(OUTPUT))
    files.write(PAGE, written(PAGE.read_text(encoding="utf-8"), lines))
    with rc_context({"svg.hashsalt": "kafnets"}):
        for task, draw in (("formulas", formulas_picture), ("digits", digits_picture)):
            draw(lines).savefig(PICTURES[task], metadata={"Date": None})


if __name__ == "__main__":
    main()
