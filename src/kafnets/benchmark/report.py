"""Showing a benchmark's result: tables, a picture."""

from pathlib import Path
from typing import Any

from kafnets.comparison.table import Table

PARTS = {
    "one thread": "nn.PReLU",
    "beside the plain formulas": "KAF, D=20, fused",
    "all threads": "nn.PReLU",
}
"""Of the benchmark of kernels, each with what times are relative to."""


def tables(result: dict[str, Any], part: str = "") -> list[Table]:
    """Times of forward and backward passes of kernels, one table per shape of the input.

    Args:
        result: of ``kafnets.benchmark.kernels``.
        part: one of :data:`PARTS`; all of them, and a training step, by default.
    """
    found = [
        relative(f"Input {shape}, {name.replace('beside', 'compared with')}", "activation", timings, unit)
        for name, unit in PARTS.items()
        if part in ("", name)
        for shape, timings in result.get(name, {}).items()
        if isinstance(timings, dict)
    ]
    return found if part else [*found, training_step(result)]


def training_step(result: dict[str, Any]) -> Table:
    """Times of a whole step."""
    return relative("Training step, one thread", "network", result["training step"], "ReLU, 2 x 300")


def relative(title: str, heading: str, timings: dict[str, Any], unit: str) -> Table:
    """Medians relative to that of ``unit``, the fastest first."""
    ordered = sorted(timings.items(), key=lambda item: item[1]["median"])
    rows = ((name, f"{timing['median'] / timings[unit]['median']:.2f}") for name, timing in ordered)
    return Table(title, (heading, f"time / {unit}"), tuple(rows))


def bars_table(result: dict[str, Any]) -> Table:
    """Targets, and whether they are met."""
    rows = tuple(
        (
            bar["what"],
            f"{bar['measured']:.2f}" if bar["measured"] > 0.01 else f"{bar['measured']:.1e}",
            bar["bar"],
            "yes" if bar["met"] else "**no**",
        )
        for bar in result["bars"]
    )
    return Table("Performance targets", ("comparison", "measured", "target", "met"), rows)


def source(result: dict[str, Any]) -> str:
    """What it was measured with."""
    stamp, machine = result["provenance"], result["provenance"]["hardware"]
    return (
        f"torch {stamp['versions']['torch']}, {machine['processor']} with {machine['cores']} cores, "
        f"{machine['backend']}, commit {stamp['commit'][:12]}, {result['profile']} profile"
    )


STYLES = {
    "composite": "s--",
    "portable": "v-.",
    "2D-KAF, D=10, fused": "^-",
    "fused": "o-",
    "nn.PReLU": "s:",
    "nn.ELU": "d:",
}


def draw(result: dict[str, Any], path: Path) -> None:
    """Time and memory against the dictionary's size and against the batch."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(11, 8.5), layout="constrained")
    (time_by_size, time_by_batch), (memory_by_size, memory_by_batch) = axes
    by_size = result["by dictionary size"]
    _lines(time_by_size, _series(by_size))
    time_by_size.axhline(by_size["nn.PReLU"]["median"], color="0.5", linestyle=":", label="nn.PReLU")
    time_by_size.set_title(f"time, {by_size['shape']}")
    _lines(time_by_batch, _series(result["by batch"]))
    time_by_batch.set_title("time, (batch, 300)")
    if "memory" in result:
        used = result["memory"]
        _lines(memory_by_size, used["by dictionary size"])
        memory_by_size.set_title(f"memory, {used['by dictionary size shape']}")
        _lines(memory_by_batch, used["by batch"])
        memory_by_batch.set_title("memory, (batch, 1024)")
    else:
        for empty in axes[1]:
            empty.text(0.5, 0.5, "memory can be measured on Linux only", ha="center")
    for row, quantity in zip(axes, ("forward + backward [ms]", "peak rise [MB]"), strict=True):
        for cell, across in zip(row, ("dictionary size D", "batch"), strict=True):
            cell.set(xlabel=across, ylabel=quantity)
            cell.grid(alpha=0.3)
            if cell.lines:
                cell.legend(fontsize="small")
    figure.savefig(path, dpi=110)


def _series(timings: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Medians as {name: {size: ms}}, from entries called "name size"."""
    found: dict[str, dict[str, float]] = {}
    for entry, timing in timings.items():
        name, _, size = entry.rpartition(" ")
        if size.isdigit():
            found.setdefault(name, {})[size] = timing["median"]
    return found


def _lines(axes: Any, series: dict[str, dict[str, float]]) -> None:
    for name, points in series.items():
        style = next(style for end, style in STYLES.items() if name.endswith(end))
        axes.loglog([int(size) for size in points], list(points.values()), style, label=name)
    sizes = sorted({int(size) for points in series.values() for size in points})
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.set_xticks([], minor=True)
