"""Showing a benchmark's result: tables on the terminal, a picture."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from kafnets.benchmark.run import ROWS_A_BATCH, SIZES


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
        colour = "green" if bar["met"] else "red"
        met = f"[{colour}]{'yes' if bar['met'] else 'no'}[/]"
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


def draw(result: dict[str, Any], path: Path) -> None:
    """Time and memory against the dictionary's size, and time against the batch."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (by_size, by_batch, by_memory) = plt.subplots(1, 3, figsize=(15, 4.6), layout="constrained")
    timings = result["by dictionary size"]
    for kind, style in (("composite", "s--"), ("fused", "o-")):
        sizes = [size for size in SIZES if f"{kind} {size}" in timings]
        by_size.loglog(
            sizes, [timings[f"{kind} {size}"]["median"] for size in sizes], style, label=f"KAF, {kind}"
        )
    by_size.axhline(timings["nn.PReLU"]["median"], color="0.5", linestyle=":", label="nn.PReLU")
    by_size.set(
        title=f"time, {timings['shape']}", xlabel="dictionary size D", ylabel="forward + backward [ms]"
    )
    timings = result["by batch"]
    for name, style in (
        ("2D-KAF, D=10, fused", "^-"),
        ("nn.PReLU", "s:"),
        ("KAF, D=20, fused", "o-"),
        ("nn.ELU", "d:"),
    ):
        medians = [timings[f"{name} {batch}"]["median"] for batch in ROWS_A_BATCH]
        by_batch.loglog(ROWS_A_BATCH, medians, style, label=name)
    by_batch.set(title="time, 300 neurons", xlabel="batch", ylabel="forward + backward [ms]")
    for axes in (by_size, by_batch):
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    if "memory" in result:
        used = result["memory"]["megabytes"]
        names = sorted(used, key=used.get)
        bars = by_memory.barh(names, [used[name] for name in names], color="0.6")
        by_memory.bar_label(bars, fmt="%.0f", padding=3)
        by_memory.set(title=f"memory, {result['memory']['shape']}", xlabel="peak rise [MB]", xscale="log")
        by_memory.margins(x=0.2)
    else:
        by_memory.set_axis_off()
    figure.savefig(path, dpi=110)
