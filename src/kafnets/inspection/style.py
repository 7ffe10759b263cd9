"""One style for all figures, readable in grayscale and by color-blind readers."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

START: dict[str, Any] = {"color": "#cc3311", "linestyle": "--", "linewidth": 1.3}
"""Where a function began: dashed red, as in the paper."""

LEARNED: dict[str, Any] = {"color": "#117733", "linestyle": "-", "linewidth": 1.9}
"""What it became: solid green."""

DATA: dict[str, Any] = {"color": "#a8d4f0", "linewidth": 0}
"""The distribution of its inputs: light blue."""

ENDS: dict[str, Any] = {"color": "#888888", "linestyle": ":", "linewidth": 0.9}
"""Where a dictionary ends: dotted gray."""

REFERENCE: dict[str, Any] = {"color": "#666666", "linestyle": ":", "linewidth": 1.3}

SERIES: tuple[dict[str, Any], ...] = (
    {"color": "#0077bb", "linestyle": "-"},
    {"color": "#ee7733", "linestyle": "--"},
    {"color": "#117733", "linestyle": "-."},
    {"color": "#882255", "linestyle": (0, (5, 1))},
    {"color": "#33bbee", "linestyle": (0, (3, 1, 1, 1))},
    {"color": "#999933", "linestyle": (0, (1, 1))},
    {"color": "#444444", "linestyle": "-"},
    {"color": "#cc6677", "linestyle": (0, (8, 2, 2, 2))},
)
"""Colors that keep apart for all kinds of sight, each with a dash of its own."""

SURFACE = "cividis_r"
"""Dark is large, as in the paper, and evenly so in gray."""


def grid(count: int, columns: int, *, width: float = 2.3, height: float = 1.75) -> tuple[Figure, list[Axes]]:
    """A figure of small multiples, without a window: show it in a notebook, or save it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    columns = min(columns, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, [figure.add_subplot(rows, columns, number + 1) for number in range(count)]


def places(
    axes: Any, count: int, columns: int = 1, *, width: float = 2.3, height: float = 1.75
) -> tuple[Figure, list[Axes]]:
    """The axes that the caller gives, of which too few are refused; new ones if None. And their figure."""
    if axes is None:
        return grid(count, columns, width=width, height=height)
    given = list(axes.flat) if hasattr(axes, "flat") else list(axes) if hasattr(axes, "__iter__") else [axes]
    if len(given) < count:
        raise ValueError(f"axes must be at least {count}, one per function, got {len(given)}")
    figure = given[0].get_figure()
    assert isinstance(figure, Figure)
    return figure, given[:count]


def label(figure: Figure, horizontal: str = "input", vertical: str = "output") -> Figure:
    """Label the axes of all panels at once."""
    figure.supxlabel(horizontal, fontsize=8)
    figure.supylabel(vertical, fontsize=8)
    return figure


def plain(axes: Axes) -> None:
    """Without a frame, and with small numbers."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=7)
