"""The forest plot of the confirmatory study: ratios of error rates with their intervals."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kafnets.comparison.statistics import Effect
from kafnets.paper.confirmatory import Comparison, Judged
from kafnets.plot import style

ENDS = 0.125, 4.0
"""Of the axis."""


def forest(judged: Sequence[Judged], margin: float) -> Figure:
    """A row per comparison: fresh seeds, the first seeds, the paper, and the ratios that the claim says."""
    rows = [(each, comparison) for each in judged for comparison in each.comparisons]
    figure, (panel,) = style.grid(1, 1, width=8.2, height=1.1 + 0.42 * len(rows))
    panel.set_xscale("log")
    panel.set_xlim(*ENDS)
    ticks = (0.125, 0.25, 0.5, 0.75, 1, 1.25, 2, 4)
    panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks], fontsize=7)
    panel.set_xticks([], minor=True)
    panel.set_ylim(len(rows) - 0.5, -0.6)
    panel.set_yticks(
        range(len(rows)), [f"claim {each.claim.number}: {found}" for each, found in rows], fontsize=7
    )
    panel.tick_params(axis="y", length=0)
    panel.axvline(1, color="#999999", linewidth=0.8)
    for border in (1 - margin, 1 + margin):
        panel.axvline(border, color="#999999", linewidth=0.8, linestyle=":", label=f"margin of {margin:.0%}")
    for place, (_, found) in enumerate(rows):
        _row(panel, place, found)
    panel.set_xlabel("ratio of error rates, ours / theirs (log scale); below 1, ours is better", fontsize=8)
    for side in ("top", "right", "left"):
        panel.spines[side].set_visible(False)
    handles, labels = panel.get_legend_handles_labels()
    one_each = dict(zip(labels, handles, strict=True))
    figure.legend(
        one_each.values(), one_each.keys(), loc="outside upper center", ncols=5, fontsize=7, frameon=False
    )
    return figure


def _row(panel: Axes, place: int, found: Comparison) -> None:
    low, high = np.clip(found.claimed, *ENDS)
    panel.fill_between(
        [low, high], place - 0.36, place + 0.36, color="#dde8f4", linewidth=0, label="agrees with the claim"
    )
    _interval(panel, place - 0.14, found.fresh, "#cc3311", "o", "fresh seeds, 95% interval")
    _interval(panel, place + 0.14, found.explored, "#888888", "s", "first five seeds, 95% interval")
    if found.published is not None:
        panel.plot(
            found.published,
            place,
            marker="D",
            color="black",
            markersize=4,
            linestyle="none",
            label="the paper's numbers",
        )


def _interval(panel: Axes, place: float, found: Effect | None, color: str, marker: str, label: str) -> None:
    if found is None or found.ratio is None:
        return
    ratio, low, high = found.ratio
    panel.plot(np.clip([low, high], *ENDS), [place, place], color=color, linewidth=1.4)
    panel.plot(ratio, place, marker=marker, color=color, markersize=4.5, linestyle="none", label=label)
