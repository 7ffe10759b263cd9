"""The pictures of docs/when-to-use.md, from the stored runs."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.when.results import Errors, Lines, best_fixed, by_name, errors, learns
from benchmarks.when.tables import average, by_scaling, decibels, judged
from kafnets.plot import style

OURS, FIXED = "#cc3311", "#555555"


def dots(panel: Axes, values: Mapping[str, Sequence[float]], *, log: bool = True) -> None:
    """A row of dots per method, with a bar at their mean, geometric on a logarithmic axis."""
    for place, (method, own) in enumerate(values.items()):
        color = OURS if learns(method) else FIXED
        mean = np.exp(np.mean(np.log(own))) if log else np.mean(own)
        panel.plot(own, [place] * len(own), "o", color=color, alpha=0.35, markersize=4, linestyle="none")
        panel.plot([mean] * 2, [place - 0.35, place + 0.35], color=color, linewidth=2)
    if log:
        panel.set_xscale("log")
    panel.set_yticks(range(len(values)), list(values), fontsize=8)
    panel.invert_yaxis()
    panel.tick_params(axis="x", labelsize=8)


def ticks(panel: Axes, marks: Sequence[float]) -> None:
    """Of a logarithmic horizontal axis, as far as it goes."""
    low, high = panel.get_xlim()
    marks = [mark for mark in marks if low <= mark <= high]
    panel.set_xticks(marks, [f"{mark:g}" for mark in marks], fontsize=8)
    panel.minorticks_off()


def curves(panel: Axes, found: Errors, title: str = "") -> None:
    """Error rates against numbers of parameters."""
    for method, series in zip(next(iter(found.values())), style.SERIES, strict=False):
        rates = [average(list(own[method].values())) for own in found.values() if method in own]
        budgets = [budget for (_, budget), own in found.items() if method in own]
        width = 1.9 if learns(method) else 1.2
        panel.plot(budgets, rates, marker="o", markersize=4, linewidth=width, label=method, **series)
    panel.set_xscale("log")
    panel.set_yscale("log")
    shares = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5]
    low, high = panel.get_ylim()
    shares = [share for share in shares if low <= share <= high]
    panel.set_yticks(shares, [f"{share:.1%}" for share in shares], fontsize=8)
    panel.minorticks_off()
    panel.tick_params(axis="x", labelsize=8)
    panel.set_title(title, fontsize=9)
    panel.set_xlabel("parameters, at most", fontsize=8)
    panel.set_ylabel("test error rate", fontsize=8)


def formulas(lines: Lines, task: str = "formulas") -> Figure:
    """Errors of all formulas by method, with geometric means."""
    logs = by_name(judged(errors(lines, task)), of_logs=True)
    figure, (panel,) = style.grid(1, 1, width=7, height=1 + 0.24 * len(logs))
    dots(panel, {method: np.exp(own).tolist() for method, own in logs.items()})
    ticks(panel, [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1])
    panel.set_xlabel("test RMSE / deviation of the target; bars: geometric means", fontsize=8)
    return figure


def digits(lines: Lines) -> Figure:
    """Error rates against numbers of parameters."""
    figure, (panel,) = style.grid(1, 1, width=5.5, height=3.4)
    curves(panel, errors(lines, "digits"))
    panel.legend(fontsize=7)
    return figure


def sensorless(lines: Lines) -> Figure:
    """Error rates against numbers of parameters, for both scalings."""
    found = by_scaling(lines)
    figure, panels = style.grid(len(found), 2, width=4, height=3.4)
    for panel, (scaling, own) in zip(panels, found.items(), strict=True):
        curves(panel, own, f"{scaling} scaling")
    panels[0].legend(fontsize=7)
    return figure


def few_rows(lines: Lines, task: str = "few-rows") -> Figure:
    """Errors of all tables by method, relative to the best fixed activation's."""
    logs = by_name(errors(lines, task), of_logs=False)
    best = best_fixed(logs)
    figure, (panel,) = style.grid(1, 1, width=7, height=2.8)
    dots(panel, {method: np.exp(own - logs[best]).tolist() for method, own in logs.items()})
    ticks(panel, [0.25, 0.5, 0.7, 0.85, 1, 1.2, 1.5, 2, 3])
    panel.axvline(1, **style.REFERENCE)
    panel.set_xlabel(f"test error / that of {best}; one dot per table, bars: geometric means", fontsize=8)
    return figure


def image(lines: Lines) -> Figure:
    """PSNR by method."""
    figure, (panel,) = style.grid(1, 1, width=7, height=2.8)
    own = next(iter(errors(lines, "image").values()))
    values = {method: [decibels(each) for each in runs.values()] for method, runs in own.items()}
    dots(panel, values, log=False)
    panel.set_xlabel("PSNR in decibels; one dot per seed, bars: means", fontsize=8)
    return figure


def physics(lines: Lines) -> Figure:
    """Errors by method, a panel per equation."""
    found = errors(lines, "physics")
    figure, panels = style.grid(len(found), 3, width=3.2, height=2.6)
    for panel, ((name, _), own) in zip(panels, found.items(), strict=True):
        dots(panel, {method: list(runs.values()) for method, runs in own.items()})
        panel.set_title(name, fontsize=9)
        if panel is not panels[0]:
            panel.set_yticklabels([])
    figure.supxlabel("relative error of the solution; one dot per seed, bars: geometric means", fontsize=8)
    return figure


PICTURES: dict[str, Callable[[Lines], Figure]] = {
    "formulas": formulas,
    "more-formulas": partial(formulas, task="more-formulas"),
    "digits": digits,
    "sensorless": sensorless,
    "few-rows": few_rows,
    "few-rows-more": partial(few_rows, task="few-rows-more"),
    "image": image,
    "physics": physics,
}
"""By the end of the file's name."""
