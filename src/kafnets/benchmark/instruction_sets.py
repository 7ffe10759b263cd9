"""The native kernels of every instruction set this processor has, beside PReLU and ELU, in one run.

Times are processor time of one thread, so that what other programs take meanwhile does not count; only where
two threads are compared with one, the clock on the wall counts.
"""

import functools
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from kafnets.benchmark.rows import Row, kaf2d_row, kaf_row, step, torch_rows
from kafnets.benchmark.steps import Build, adam_step, physics_step
from kafnets.comparison.table import Table
from kafnets.fixed_functions import Base
from kafnets.nn import KAF, KAF2D, bake
from kafnets.ops import native
from kafnets.provenance import provenance
from kafnets.timing import Clock, interleaved, threads

SHAPES = [(100, 300), (1024, 1024), (100, 150, 16, 16)]
SIZES = [5, 10, 20, 40, 80, 160]
ROWS = [32, 100, 316, 1000, 3162]
NEURONS = 256
WAYS = {"formula": -1, "table": 1, "chosen": 0}
"""How a KAF can be computed, as the native modules are told."""
TRAINING, PHYSICS = "training step, batch {}", "physics-informed step"
BATCHES = (100, 1000)
BARS: dict[tuple[str, str, str], dict[str, float]] = {
    ("times", "(100, 300)", "KAF / PReLU"): {"avx512": 0.8, "avx2": 0.9, "baseline": 2.0},
    ("times", "(1024, 1024)", "KAF / PReLU"): {"avx512": 0.5, "avx2": 0.7, "baseline": 2.0},
    ("times", "(100, 150, 16, 16)", "KAF / PReLU"): {"avx512": 0.5, "avx2": 0.6, "baseline": 2.0},
    ("times", "(1024, 1024)", "KAF / ELU"): {"avx512": 1.4, "avx2": 1.6},
    ("times", "(100, 150, 16, 16)", "KAF / ELU"): {"avx512": 1.15, "avx2": 1.15},
    ("times", "(1024, 1024)", "KAF with D=80 / KAF"): {"avx512": 2.0, "avx2": 2.0},
    ("times", "(100, 150, 16, 16)", "KAF with D=80 / KAF"): {"avx512": 1.3, "avx2": 1.3},
    ("times", "(1024, 1024)", "2D-KAF / KAF"): {"avx512": 2.2, "avx2": 2.2},
    **{
        ("times", "(1024, 1024)", f"KAF with {what} / KAF"): {"avx512": 1.15, "avx2": 1.15}
        for what in ("silu added", "weighted silu", "linear tails")
    },
    ("inference", "(1024, 1024)", "baked KAF / KAF"): {"avx512": 0.5, "avx2": 0.5, "baseline": 0.5},
    ("inference", "(1024, 1024)", "baked 2D-KAF / 2D-KAF"): {"avx512": 0.5, "avx2": 0.5, "baseline": 0.5},
    **{("steps", TRAINING.format(b), "KAF / ReLU"): {"avx512": 1.2, "avx2": 1.25} for b in BATCHES},
    ("steps", PHYSICS, "KAF / Tanh"): {"avx512": 2.5, "avx2": 2.5},
    ("threads", "(1024, 1024)", "two threads / one thread"): {"avx512": 1 / 1.7, "avx2": 1 / 1.7},
    ("threads", "(100, 150, 16, 16)", "two threads / one thread"): {"avx512": 1 / 1.7, "avx2": 1 / 1.7},
    ("threads", "(100, 300)", "two threads / one thread"): {"avx512": 1.0, "avx2": 1.0},
}
"""At most, by part of the result, case, and what is compared, for each instruction set."""
INFERENCE_SHAPES = [(1024, 1024), (100, 150, 16, 16)]

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
        say("whole training steps")
        result["steps"] = {case: _time(runs, seconds) for case, runs in _steps().items()}
        say("both schemes against dictionary size and rows")
        by_size = {str(size): (size, (1024, NEURONS)) for size in SIZES}
        result["by dictionary size"] = _time(_schemes(by_size), seconds / 8)
        by_rows = {str(rows): (20, (rows, NEURONS)) for rows in ROWS}
        result["by rows"] = _time(_schemes(by_rows), seconds / 8)
        if (os.cpu_count() or 1) > 1:
            say("two threads")
            result["threads"] = {str(shape): _by_threads(shape, seconds) for shape in SHAPES}
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


def _steps() -> dict[str, dict[str, Run]]:
    """Of networks with a fixed activation, and with KAFs by each instruction set."""

    def cases(fixed: str, make: Callable[[Build], Run]) -> dict[str, Run]:
        own = {fixed: make(lambda _: getattr(nn, fixed)())}
        return own | {f"KAF, {each}": _by(each, "chosen", make(KAF)) for each in runnable()}

    found = {
        TRAINING.format(batch): cases("ReLU", functools.partial(adam_step, batch=batch)) for batch in BATCHES
    }
    return found | {PHYSICS: cases("Tanh", physics_step)}


def _by_threads(shape: tuple[int, ...], seconds: float) -> dict[str, Any]:
    """One number of threads after the other: changing it costs more than a short step."""
    found: dict[str, Any] = {}
    for name, count in (("one thread", 1), ("two threads", 2)):
        runs = {f"{name}, {each}": _by(each, "chosen", step(kaf_row(), shape)) for each in runnable()}
        with threads(count):
            found |= _time(runs, seconds, time.perf_counter)
    return found


def _schemes(cases: dict[str, tuple[int, tuple[int, int]]]) -> dict[str, Run]:
    return {
        f"{each}, {way} {label}": _by(each, way, step(kaf_row(size), shape))
        for label, (size, shape) in cases.items()
        for each in runnable()
        for way in WAYS
    }


def _time(runs: dict[str, Run], seconds: float, clock: Clock = time.thread_time) -> dict[str, Any]:
    timings = interleaved(runs, seconds_a_run=seconds, clock=clock)
    return {name: timing.as_dict() for name, timing in timings.items()}


def _ratio(times: dict[str, Any], what: str, instruction_set: str) -> float:
    """Of two medians, ``what`` being "name / name"."""
    upper, lower = (times.get(name) or times[f"{name}, {instruction_set}"] for name in what.split(" / "))
    return float(upper["median"] / lower["median"])


def _bars(result: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    for (part, case, what), bounds in BARS.items():
        for name in result["instruction sets"]:
            if case in result.get(part, {}) and name in bounds:
                measured = _ratio(result[part][case], what, name)
                bar = {
                    "what": f"{what}, {case}, {name}",
                    "measured": measured,
                    "bar": f"≤ {bounds[name]:.3g}",
                }
                found.append(bar | {"met": measured <= bounds[name]})
    return found


def tables(result: dict[str, Any]) -> list[Table]:
    """Times relative to a fixed activation's, the instruction sets side by side."""
    names = result["instruction sets"]
    parts = {"times": ("PReLU", ""), "inference": ("ELU", ", forward alone")}
    found = [
        _side_by_side(f"Input {shape}{what}, time / {unit}", unit, times, names)
        for part, (unit, what) in parts.items()
        for shape, times in result[part].items()
    ]
    for case, times in result["steps"].items():
        unit = next(iter(times))
        found.append(_side_by_side(f"{case.capitalize()}, time / {unit}", unit, times, names))
    return found


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
