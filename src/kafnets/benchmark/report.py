"""Showing a benchmark's result: tables on the terminal, a picture."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table


def print_result(result: dict[str, Any], console: Console) -> None:
    """Tables of times relative to PReLU, of the bars, and where they come from."""
    for part, unit in (
        ("one thread", "nn.PReLU"),
        ("beside the plain formulas", "KAF, D=20, fused"),
        ("all threads", "nn.PReLU"),
    ):
        for shape, timings in result.get(part, {}).items():
            if isinstance(timings, dict):
                console.print(_times(f"{shape}, {part}: forward + backward", timings, unit))
    table = Table("claim", "measured", "bar", "met", title="What is claimed")
    for bar in result["bars"]:
        color = "green" if bar["met"] else "red"
        met = f"[{color}]{'yes' if bar['met'] else 'no'}[/]"
        table.add_row(bar["what"], f"{bar['measured']:.2f}", bar["bar"], met)
    console.print(table)
    source = result["provenance"]
    console.print(
        f"torch {source['versions']['torch']}, {source['hardware']['processor']}, "
        f"{source['hardware']['backend']}, commit {source['commit'][:12]}, {result['profile']} profile"
    )


def _times(title: str, timings: dict[str, Any], unit: str) -> Table:
    table = Table("activation", "ms (median)", f"/ {unit}", "10 % - 90 %", title=title)
    for name, timing in sorted(timings.items(), key=lambda item: item[1]["median"]):
        table.add_row(
            name,
            f"{timing['median']:.3f}",
            f"{timing['median'] / timings[unit]['median']:.2f}",
            f"{timing['p10']:.3f} - {timing['p90']:.3f}",
        )
    return table


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
