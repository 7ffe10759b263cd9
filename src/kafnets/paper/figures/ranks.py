"""The critical-difference diagram: mean ranks, and bars over what does not differ by more than chance."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kafnets.comparison.mean_ranks import MeanRanks, alike
from kafnets.plot import style

ROW = 0.17
"""Inches a name."""


def critical_difference(ranking: MeanRanks, highlighted: tuple[str, ...] = ("kaf", "kaf2d")) -> Figure:
    """Best to the left. Names hang below the axis, the better half on the left, the others on the right."""
    labels, groups = list(ranking.ranks), alike(ranking)
    half = -(-len(labels) // 2)
    bars = 0.12 * (len(groups) + 1)
    height = 0.75 + bars + ROW * half
    figure, (panel,) = style.grid(1, 1, width=7.6, height=height)
    low, high = 1, len(labels)
    margin = 0.30 * (high - low)
    panel.set_xlim(low - margin, high + margin)
    panel.set_ylim(-(bars + ROW * half) - 0.1, 0.65)
    panel.set_axis_off()
    panel.plot([low, high], [0, 0], color="black", linewidth=1)
    step = max(1, round((high - low) / 8))
    for tick in range(low, high + 1, step):
        panel.plot([tick, tick], [0, 0.06], color="black", linewidth=1)
        panel.text(tick, 0.09, str(tick), ha="center", va="bottom", fontsize=7)
    panel.text(high, 0.3, "mean rank, best to the left", ha="right", va="bottom", fontsize=7)
    _scale(panel, ranking, low)
    for number, group in enumerate(groups):
        ends = ranking.ranks[group[0]], ranking.ranks[group[-1]]
        level = -0.12 * (number + 1)
        panel.plot(ends, [level, level], color="#555555", linewidth=2.5, solid_capstyle="round")
    for place, label in enumerate(labels):
        left = place < half
        row = place if left else len(labels) - 1 - place
        level = -(bars + ROW * (row + 0.5))
        edge = low - 0.01 * (high - low) if left else high + 0.01 * (high - low)
        rank = ranking.ranks[label]
        strong = label in highlighted
        color = "#cc3311" if strong else "#333333"
        panel.plot([rank, rank, edge], [0, level, level], color=color, linewidth=1.2 if strong else 0.5)
        panel.text(
            edge + (-0.02 if left else 0.02) * margin,
            level,
            f"{label.replace('_', ' ')} ({rank:.1f})",
            ha="right" if left else "left",
            va="center",
            fontsize=7,
            color=color,
            fontweight="bold" if strong else "normal",
        )
    return figure


def _scale(panel: Axes, ranking: MeanRanks, low: float) -> None:
    wide = ranking.critical_difference
    panel.plot([low, low + wide], [0.42, 0.42], color="black", linewidth=1.5)
    for end in (low, low + wide):
        panel.plot([end, end], [0.38, 0.46], color="black", linewidth=1)
    panel.text(
        low + wide / 2,
        0.48,
        f"critical difference {wide:.1f}, {ranking.sets} data sets",
        ha="center",
        va="bottom",
        fontsize=7,
    )
