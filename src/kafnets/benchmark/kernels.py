"""The benchmark itself: checks, then times, then compares with the bars."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from kafnets.benchmark import memory
from kafnets.benchmark.correctness import error_ratios
from kafnets.benchmark.rows import Row, kaf2d_row, kaf_row, peer_rows, step, torch_rows
from kafnets.benchmark.steps import adam_step
from kafnets.nn import KAF
from kafnets.provenance import provenance
from kafnets.timing import interleaved, threads

SHAPES = [(100, 300), (1024, 1024), (100, 150, 16, 16)]
SIZES = [5, 10, 20, 40, 80, 160, 320, 500]
ROWS_A_BATCH = [10, 100, 1000, 10_000]
MEMORY_SIZES = [5, 20, 80, 320]
MEMORY_BATCHES = [256, 1024, 4096]  # of 1024 neurons: what is smaller drowns in the allocator's own needs
LARGEST_ERROR = 4.0

Say = Callable[[str], None]


def run(*, quick: bool, say: Say) -> dict[str, Any]:
    """Everything, as one result. ``quick`` takes fewer repetitions and leaves out the slowest rows."""
    seconds = 0.3 if quick else 2.0
    result: dict[str, Any] = {"provenance": provenance(), "profile": "quick" if quick else "full"}
    say("checking against float64")
    result["errors"] = check()
    with threads(1):
        result["one thread"], result["beside the plain formulas"] = {}, {}
        for shape in SHAPES:
            say(f"{shape}, one thread")
            result["one thread"][str(shape)] = time_shape(shape, seconds)
            plain = time_plain(shape, seconds, quick=quick)
            result["beside the plain formulas"][str(shape)] = plain
        say("whole training steps")
        result["training step"] = time_training(seconds)
        say("time against dictionary size and batch")
        result["by dictionary size"] = time_sizes(seconds)
        result["by batch"] = time_batches(seconds)
    if torch.get_num_threads() > 1:
        result["all threads"] = {"threads": torch.get_num_threads()}
        for shape in SHAPES:
            say(f"{shape}, {torch.get_num_threads()} threads")
            result["all threads"][str(shape)] = time_shape(shape, seconds)
    if memory.available():
        say("memory")
        result["memory"] = measure_memory()
    result["bars"] = bars(result)
    return result


def check() -> dict[str, dict[str, float]]:
    """Error ratios; raises if one is too large to go on."""
    found = {
        f"{'KAF' if dimensions == 1 else '2D-KAF'}, D={size}": error_ratios(dimensions, size)
        for dimensions, size in ((1, 20), (1, 80), (2, 10))
    }
    for name, ratios in found.items():
        for part, ratio in ratios.items():
            if not ratio <= LARGEST_ERROR:
                raise RuntimeError(f"{name}: the error of the {part} is {ratio:.1f} times the composite's")
    return found


def time_shape(shape: tuple[int, ...], seconds: float) -> dict[str, Any]:
    """Everything that is meant to be fast."""
    rows = [*torch_rows(), kaf_row(), kaf_row(80), kaf2d_row(), *peer_rows()]
    return _time({row.name: row for row in rows}, shape, seconds)


def time_plain(shape: tuple[int, ...], seconds: float, *, quick: bool) -> dict[str, Any]:
    """The fused kernels beside the plain formulas.

    Apart from the others: these go through gigabytes, and what comes next finds its caches empty.
    """
    rows = [kaf_row(), kaf2d_row()]
    rows += [kaf_row(20, "portable"), kaf2d_row(10, "portable")]
    rows += [kaf_row(20, "composite"), kaf2d_row(10, "composite")]
    if not quick and len(shape) == 2:
        rows.append(kaf_row(20, "composite", compiled=True))
    return _time({row.name: row for row in rows}, shape, seconds)


def _time(rows: dict[str, Row], shape: tuple[int, ...], seconds: float) -> dict[str, Any]:
    runs = {name: step(row, shape) for name, row in rows.items()}
    return {name: timing.as_dict() for name, timing in interleaved(runs, seconds_a_run=seconds).items()}


def time_training(seconds: float) -> dict[str, Any]:
    """The paper's SUSY networks, batch 100, Adam."""
    runs = {
        "ReLU, 2 x 300": adam_step(lambda _: nn.ReLU()),
        "PReLU, 2 x 300": adam_step(nn.PReLU),
        "KAF, 2 x 300": adam_step(KAF),
        "ReLU, 5 x 300": adam_step(lambda _: nn.ReLU(), 5),
    }
    return {name: timing.as_dict() for name, timing in interleaved(runs, seconds_a_run=seconds).items()}


def time_sizes(seconds: float) -> dict[str, Any]:
    """KAFs with short and long dictionaries, (1024, 256)."""
    shape = (1024, 256)
    rows = {f"KAF, fused {size}": kaf_row(size) for size in SIZES}
    rows |= {f"KAF, composite {size}": kaf_row(size, "composite") for size in SIZES if size <= 160}
    rows |= {"nn.PReLU": torch_rows()[3]}
    runs = {name: step(row, shape) for name, row in rows.items()}
    timings = interleaved(runs, seconds_a_run=seconds / 4, least=3)
    return {"shape": str(shape)} | {name: timing.as_dict() for name, timing in timings.items()}


def time_batches(seconds: float) -> dict[str, Any]:
    """Rows of 300 neurons, few and many."""
    runs = {
        f"{row.name} {batch}": step(row, (batch, 300))
        for batch in ROWS_A_BATCH
        for row in (torch_rows()[1], torch_rows()[3], kaf_row(), kaf2d_row())
    }
    timings = interleaved(runs, seconds_a_run=seconds / 4, least=3)
    return {name: timing.as_dict() for name, timing in timings.items()}


def measure_memory() -> dict[str, Any]:
    """Megabytes above what holds the input, its gradient from above, and the program."""
    middle = (1024, 1024)
    by_size = {
        kind: {str(size): memory.peak_rise("kaf", size, backend, middle) for size in sizes}
        for kind, backend, sizes in (
            ("KAF, composite", "composite", [size for size in MEMORY_SIZES if size <= 80]),
            ("KAF, portable", "portable", MEMORY_SIZES),
            ("KAF, fused", "auto", MEMORY_SIZES),
        )
    }
    by_size["nn.ELU"] = dict.fromkeys(map(str, MEMORY_SIZES), memory.peak_rise("ELU", 0, "auto", middle))
    by_batch = {
        name: {str(batch): memory.peak_rise(kind, size, backend, (batch, 1024)) for batch in MEMORY_BATCHES}
        for name, kind, size, backend in (
            ("KAF, D=20, composite", "kaf", 20, "composite"),
            ("KAF, D=20, portable", "kaf", 20, "portable"),
            ("2D-KAF, D=10, fused", "kaf2d", 10, "auto"),
            ("KAF, D=20, fused", "kaf", 20, "auto"),
            ("nn.ELU", "ELU", 0, "auto"),
        )
    }
    return {"by dictionary size": by_size, "by dictionary size shape": str(middle), "by batch": by_batch}


def bars(result: dict[str, Any]) -> list[dict[str, Any]]:
    """What is claimed, and what was measured."""

    def median(shape: tuple[int, ...], row: str, part: str = "one thread") -> float:
        return float(result[part][str(shape)][row]["median"])

    def speedup(shape: tuple[int, ...], plain: str, fused: str) -> float:
        part = "beside the plain formulas"
        return median(shape, plain, part) / median(shape, fused, part)

    small, square, maps = SHAPES
    kaf, kaf2d = "KAF, D=20, fused", "2D-KAF, D=10, fused"
    plain, plain2d = "KAF, D=20, composite", "2D-KAF, D=10, composite"
    training = {name: timing["median"] for name, timing in result["training step"].items()}
    found: list[dict[str, Any]] = []

    def bar(what: str, value: float, bound: float, *, at_least: bool = False) -> None:
        met = value >= bound if at_least else value <= bound
        sign = "≥" if at_least else "≤"
        found.append({"what": what, "measured": value, "bar": f"{sign} {bound:g}", "met": bool(met)})

    for shape, bound in ((small, 1.0), (square, 0.7), (maps, 0.7)):
        bar(f"KAF / PReLU, {shape}", median(shape, kaf) / median(shape, "nn.PReLU"), bound)
    bar(f"KAF / ELU, {square}", median(square, kaf) / median(square, "nn.ELU"), 2.2)
    for shape, bound in ((small, 18), (square, 80), (maps, 80)):
        bar(f"composite / KAF, {shape}", speedup(shape, plain, kaf), bound, at_least=True)
    for shape, bound in ((small, 20), (square, 60)):
        bar(f"composite / 2D-KAF, {shape}", speedup(shape, plain2d, kaf2d), bound, at_least=True)
    bar(f"KAF with D=80 / D=20, {square}", median(square, "KAF, D=80, fused") / median(square, kaf), 3.0)
    bar("training step, KAF / ReLU, 2 x 300", training["KAF, 2 x 300"] / training["ReLU, 2 x 300"], 1.4)
    bar(
        "training step, KAF 2 x 300 / ReLU 5 x 300", training["KAF, 2 x 300"] / training["ReLU, 5 x 300"], 1.0
    )
    if "memory" in result:
        used = {name: sizes["4096"] for name, sizes in result["memory"]["by batch"].items()}
        bar("memory, KAF / ELU, (4096, 1024)", used["KAF, D=20, fused"] / used["nn.ELU"], 1.2)
    worst = max(ratio for ratios in result["errors"].values() for ratio in ratios.values())
    bar("largest error / the composite's", worst, LARGEST_ERROR)
    return found
