"""The native kernels of every instruction set this processor has, beside PReLU and ELU, in one run.

Times are processor time of one thread, so that what other programs take meanwhile does not count.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from kafnets.benchmark.rows import Row, kaf2d_row, kaf_row, step, torch_rows
from kafnets.comparison.table import Table
from kafnets.fixed_functions import Base
from kafnets.nn import KAF, KAF2D, bake
from kafnets.ops import native
from kafnets.provenance import provenance
from kafnets.timing import interleaved, threads

SHAPES = [(100, 300), (1024, 1024), (100, 150, 16, 16)]
SIZES = [5, 10, 20, 40, 80, 160]
ROWS = [32, 100, 316, 1000, 3162]
NEURONS = 256
WAYS = {"formula": -1, "table": 1, "chosen": 0}
"""How a KAF can be computed, as the native modules are told."""
BARS: dict[tuple[str, tuple[int, ...]], dict[str, float]] = {
    ("KAF / PReLU", (100, 300)): {"avx512": 0.8, "avx2": 0.9, "baseline": 2.0},
    ("KAF / PReLU", (1024, 1024)): {"avx512": 0.5, "avx2": 0.7, "baseline": 2.0},
    ("KAF / PReLU", (100, 150, 16, 16)): {"avx512": 0.5, "avx2": 0.6, "baseline": 2.0},
    ("KAF / ELU", (1024, 1024)): {"avx512": 1.4, "avx2": 1.6},
    ("KAF / ELU", (100, 150, 16, 16)): {"avx512": 1.15, "avx2": 1.15},
    ("KAF with D=80 / KAF", (1024, 1024)): {"avx512": 2.0, "avx2": 2.0},
    ("KAF with D=80 / KAF", (100, 150, 16, 16)): {"avx512": 1.3, "avx2": 1.3},
    ("2D-KAF / KAF", (1024, 1024)): {"avx512": 2.2, "avx2": 2.2},
    **{
        (f"KAF with {what} / KAF", (1024, 1024)): {"avx512": 1.15, "avx2": 1.15}
        for what in ("silu added", "weighted silu", "linear tails")
    },
}
"""At most, by instruction set."""
INFERENCE_SHAPES = [(1024, 1024), (100, 150, 16, 16)]
INFERENCE_BARS = {("baked KAF / KAF", (1024, 1024)): 0.5, ("baked 2D-KAF / 2D-KAF", (1024, 1024)): 0.5}
"""At most, for each instruction set, forward alone."""

Run = Callable[[], None]


def run(*, quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """Times by shape, by dictionary size and by rows, for each instruction set."""
    seconds = 0.3 if quick else 2.0
    result: dict[str, Any] = {"provenance": provenance(), "profile": "quick" if quick else "full"}
    result["instruction sets"] = runnable()
    with threads(1), _kernels_restored():
        result["times"] = {}
        for shape in SHAPES:
            say(f"{shape}, {', '.join(runnable())}")
            result["times"][str(shape)] = _time(_runs(shape), seconds)
        result["inference"] = {}
        for shape in INFERENCE_SHAPES:
            say(f"{shape}, forward alone")
            result["inference"][str(shape)] = _time(_inference(shape), seconds)
        say("both schemes against dictionary size and rows")
        by_size = {str(size): (size, (1024, NEURONS)) for size in SIZES}
        result["by dictionary size"] = _time(_schemes(by_size), seconds / 8)
        by_rows = {str(rows): (20, (rows, NEURONS)) for rows in ROWS}
        result["by rows"] = _time(_schemes(by_rows), seconds / 8)
    result["bars"] = _bars(result)
    return result


def runnable() -> list[str]:
    """The instruction sets whose modules were built and run here, the best first."""
    return [name for name in native.INSTRUCTION_SETS if native.load(name).module is not None]


@contextmanager
def _kernels_restored() -> Iterator[None]:
    before = native.kernels
    try:
        yield
    finally:
        native.kernels = before
        for name in runnable():
            native.load(name).module.prefer_tables(0)  # type: ignore[union-attr]


def _by(instruction_set: str, way: str, once: Run) -> Run:
    """The same run by the kernels of one module. Switching costs nothing that shows."""
    module = native.load(instruction_set).module
    assert module is not None
    kernels, preference = native.Kernels(module), WAYS[way]

    def switched() -> None:
        native.kernels = kernels
        module.prefer_tables(preference)
        once()

    return switched


def _outside_rows() -> list[Row]:
    return [
        Row("KAF with silu added", lambda n: _drawn(KAF(n, base="silu"))),
        Row("KAF with weighted silu", lambda n: _drawn(KAF(n, base=Base("silu", "weighted")))),
        Row("KAF with linear tails", lambda n: KAF(n, tails="linear")),
    ]


def _drawn(module: KAF) -> nn.Module:
    """With coefficients that are not 0, or there would be nothing but the base to compute."""
    nn.init.normal_(module.alpha)
    return module


def _runs(shape: tuple[int, ...]) -> dict[str, Run]:
    own = {"KAF": kaf_row(), "KAF with D=80": kaf_row(80), "2D-KAF": kaf2d_row()}
    own |= {row.name: row for row in _outside_rows()}
    runs = {row.name.removeprefix("nn."): step(row, shape) for row in torch_rows()}
    return runs | {
        f"{name}, {each}": _by(each, "chosen", step(row, shape))
        for each in runnable()
        for name, row in own.items()
    }


def _inference(shape: tuple[int, ...]) -> dict[str, Run]:
    """KAFs by their formula and baked, forward alone."""
    kaf, pairs = KAF(shape[1]).eval(), KAF2D(shape[1]).eval()
    own: dict[str, tuple[nn.Module, str]] = {
        "KAF": (kaf, "formula"),
        "baked KAF": (bake(kaf), "chosen"),
        "baked KAF of degree 3": (bake(kaf, degree=3), "chosen"),
        "2D-KAF": (pairs, "chosen"),
        "baked 2D-KAF": (bake(pairs), "chosen"),
    }
    x = torch.randn(shape)

    def forward(module: nn.Module) -> Run:
        def once() -> None:
            with torch.no_grad():
                module(x)

        return once

    runs = {"PReLU": forward(nn.PReLU(shape[1])), "ELU": forward(nn.ELU())}
    return runs | {
        f"{name}, {each}": _by(each, way, forward(module))
        for each in runnable()
        for name, (module, way) in own.items()
    }


def _schemes(cases: dict[str, tuple[int, tuple[int, int]]]) -> dict[str, Run]:
    return {
        f"{each}, {way} {label}": _by(each, way, step(kaf_row(size), shape))
        for label, (size, shape) in cases.items()
        for each in runnable()
        for way in WAYS
    }


def _time(runs: dict[str, Run], seconds: float) -> dict[str, Any]:
    timings = interleaved(runs, seconds_a_run=seconds, clock=time.thread_time)
    return {name: timing.as_dict() for name, timing in timings.items()}


def _ratio(times: dict[str, Any], what: str, instruction_set: str) -> float:
    """Of two medians, ``what`` being "name / name"."""
    upper, lower = (times.get(name) or times[f"{name}, {instruction_set}"] for name in what.split(" / "))
    return float(upper["median"] / lower["median"])


def _bars(result: dict[str, Any]) -> list[dict[str, Any]]:
    sets = result["instruction sets"]
    bounds = [("times", each, bounds) for each, bounds in BARS.items()]
    bounds += [("inference", each, dict.fromkeys(sets, bound)) for each, bound in INFERENCE_BARS.items()]
    found = []
    for part, (what, shape), by_set in bounds:
        for name in set(sets) & set(by_set) if str(shape) in result[part] else ():
            measured = _ratio(result[part][str(shape)], what, name)
            bar = {"what": f"{what}, {shape}, {name}", "measured": measured, "bar": f"≤ {by_set[name]:g}"}
            found.append(bar | {"met": measured <= by_set[name]})
    return found


def tables(result: dict[str, Any]) -> list[Table]:
    """Times relative to a fixed activation's, the instruction sets side by side."""
    names = result["instruction sets"]
    parts = {"times": ("PReLU", ""), "inference": ("ELU", ", forward alone")}
    return [
        _side_by_side(f"Input {shape}{what}, time / {unit}", unit, times, names)
        for part, (unit, what) in parts.items()
        for shape, times in result[part].items()
    ]


def _side_by_side(title: str, unit: str, times: dict[str, Any], names: list[str]) -> Table:
    whole = times[unit]["median"]

    def shown(activation: str, name: str) -> str:
        timing = times.get(activation) or times[f"{activation}, {name}"]
        return f"{timing['median'] / whole:.2f}"

    activations = dict.fromkeys(entry.rpartition(", ")[0] or entry for entry in times)
    rows = tuple((each, *(shown(each, name) for name in names)) for each in activations)
    return Table(title, ("activation", *names), rows)


def draw(result: dict[str, Any], path: Path) -> None:
    """Time against dictionary size and rows, by formula, by table, and as chosen."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    names = result["instruction sets"]
    figure, axes = plt.subplots(
        2, len(names), figsize=(4 * len(names), 7.5), layout="constrained", squeeze=False
    )
    parts = {"by dictionary size": f"D, (1024, {NEURONS})", "by rows": f"rows, (rows, {NEURONS}), D = 20"}
    for line, (part, across) in zip(axes, parts.items(), strict=True):
        for cell, name in zip(line, names, strict=True):
            for way, style in zip(WAYS, ("s--", "^--", "o-"), strict=True):
                start = f"{name}, {way} "
                points = {k.removeprefix(start): v["median"] for k, v in result[part].items() if start in k}
                cell.loglog([int(at) for at in points], list(points.values()), style, label=way)
            cell.set(title=name, xlabel=across, ylabel="forward + backward [ms]")
            cell.grid(alpha=0.3)
            cell.legend(fontsize="small")
    figure.savefig(path, dpi=110)
