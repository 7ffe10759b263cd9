"""Write docs/speed.md, and the table in README.md, from the stored benchmark result.

Usage: python scripts/write_speed_page.py [--check]. With --check nothing is written; the exit code tells whether
the documents say what the result says.
"""

import json
from pathlib import Path
from typing import Any

from sections import ROOT, write_or_check

from kafnets.paper.page import between

RESULTS = ROOT / "benchmarks/results/cpu"
PAGE = ROOT / "docs/speed.md"
README = ROOT / "README.md"
BEGIN, END = "<!-- speed: written by scripts/write_speed_page.py -->", "<!-- end of speed -->"


def bars_table(result: dict[str, Any]) -> str:
    lines = ["| claim | measured | bar | met |", "|---|---|---|---|"]
    for bar in result["bars"]:
        met = "yes" if bar["met"] else "**no**"
        lines.append(f"| {bar['what']} | {bar['measured']:.2f} | {bar['bar']} | {met} |")
    return "\n".join(lines)


def times_table(timings: dict[str, Any], unit: str) -> str:
    lines = [f"| activation | time / {unit} |", "|---|---|"]
    for name, timing in sorted(timings.items(), key=lambda item: item[1]["median"]):
        lines.append(f"| {name} | {timing['median'] / timings[unit]['median']:.2f} |")
    return "\n".join(lines)


def source(result: dict[str, Any]) -> str:
    stamp, machine = result["provenance"], result["provenance"]["hardware"]
    return (
        f"torch {stamp['versions']['torch']}, {machine['processor']} with {machine['cores']} cores, "
        f"{machine['backend']}, commit {stamp['commit'][:12]}, {result['profile']} profile"
    )


def rivals_table(rivals: dict[str, Any]) -> str:
    shapes = list(rivals["times"])
    lines = [f"| activation | {' | '.join(shapes)} |", "|---" * (len(shapes) + 1) + "|"]
    for name in rivals["times"][shapes[0]]:
        times = [rivals["times"][shape][name] for shape in shapes]
        ratios = (f"{each['ours']['median'] / each['plain']['median']:.2f}" for each in times)
        lines.append(f"| {name} | {' | '.join(ratios)} |")
    return "\n".join(lines)


def loops_table(training: dict[str, Any]) -> str:
    activations = list(training["times"])
    lines = [f"| loop | {' | '.join(activations)} |", "|---" * (len(activations) + 1) + "|"]
    for loop in training["times"][activations[0]]:
        times = [training["times"][activation] for activation in activations]
        ratios = (f"{each[loop]['median'] / each['bare']['median']:.2f}" for each in times)
        lines.append(f"| {loop} | {' | '.join(ratios)} |")
    return "\n".join(lines)


def page(
    result: dict[str, Any], rivals: dict[str, Any], training: dict[str, Any], reading: dict[str, Any]
) -> str:
    parts = [
        "# What it costs",
        "Written from `benchmarks/results/cpu/kernels.json` by `python scripts/write_speed_page.py`; measured by "
        f"`kafnets bench` on {source(result)}. Everything is forward + backward in float32, medians of repetitions "
        "that take turns, and given as ratios: absolute times say more about the machine. Before anything is "
        "timed it is compared with the float64 reference.",
        "![time and memory](../benchmarks/results/cpu/kernels.png)",
        "## What is claimed",
        bars_table(result),
    ]
    for part, title, unit in (
        ("one thread", "One thread", "nn.PReLU"),
        ("beside the plain formulas", "Beside the plain formulas, one thread", "KAF, D=20, fused"),
        ("all threads", f"All threads ({result.get('all threads', {}).get('threads')})", "nn.PReLU"),
    ):
        if part not in result:
            continue
        parts.append(f"## {title}")
        for shape, timings in result[part].items():
            if isinstance(timings, dict):
                parts += [f"Input {shape}:", times_table(timings, unit)]
    step = result["training step"]
    parts += ["## A whole training step", "Adam, batch 100, 18 inputs, one output, one thread.",
              times_table(step, "ReLU, 2 x 300")]  # fmt: skip
    parts += [
        "## The other activations",
        "Time over that of a straightforward version in torch, which `kafnets bench rivals` first compares it with. "
        "Those with native kernels (SReLU, APL, PAF, Hermite, SAF) are a fraction; the others are the same "
        f"operators, and what differs from 1 is noise. One thread, {source(rivals)}.",
        rivals_table(rivals),
        "## The training loop",
        f"An epoch of {training['rows']:,} rows, over that of a bare loop by hand (rows shuffled in memory, fused Adam): "
        "ours, the same through Lightning Fabric, and loops with torch's DataLoader, as it is mostly written and with fused "
        f"Adam. `kafnets bench training`, one thread, {source(training)}.",
        loops_table(training),
        bars_table(training),
        "## Reading all of SUSY",
        "A generated file of its size and shape, read as the published one would be, into a compact form that later "
        f"readings use. `kafnets bench reading`, {source(reading)}.",
        bars_table(reading),
        HOW_IT_WORKS,
    ]
    return "\n\n".join(parts) + "\n"


HOW_IT_WORKS = """## How

On an equispaced dictionary the terms of a Gaussian expansion are a constant, times a power of one ratio, times a
common factor. So a KAF is two short polynomials, evaluated from both ends of the dictionary toward the middle: three
exponentials and D multiply-adds in place of D exponentials, and nothing is stored but the input. A 2D-KAF is a bilinear form in two
lists of kernel values. The backward pass computes everything again.

Powers magnify rounding errors: the exponentials are therefore computed with the remainder that their rounding leaves, and
the common factor is corrected by it. Long dictionaries and narrow kernels would leave the range of float32; they are cut into
segments with a center each. Activations that lie so far from a segment that its terms are below 2e-12 (float32) or 1e-75
(float64) get 0 from it.

## What runs where

| situation | implementation |
|---|---|
| CPU, Gaussian kernel, fixed bandwidth, equispaced dictionary | native kernels (`"cpu"`) |
| the same, KAF with a learned bandwidth | a native kernel of its own, with an exponential a term (`"cpu"`) |
| CUDA, fixed bandwidth | Triton kernels (`"triton"`): proved right under Triton's interpreter and compiled for sm_80, **never timed**, for lack of a GPU |
| other kernels, uneven dictionary, other learned bandwidths, other devices, no compiler at installation | plain torch, block by block, computed again in the backward pass (`"portable"`) |
| `torch.func`, forward mode, second derivatives, `torch.export`, meta tensors | the formula as it stands (`"composite"`) |
| `torch.compile` | the fused kernels as one operator, else the composite formula, which the compiler fuses |

`kafnets.backend()` tells which and why, `kafnets.use_backend("composite")` chooses for a `with` block, and asking for one
that cannot run raises. Threads follow `torch.get_num_threads()` and are torch's own; a forked child works with one."""


def summary(result: dict[str, Any]) -> str:
    return f"{bars_table(result)}\n\nMeasured on {source(result)}; more in [docs/speed.md](docs/speed.md)."


def documents() -> dict[Path, str]:
    """What the documents should say."""
    result, *others = (
        json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("kernels", "rivals", "training", "reading")
    )
    return {PAGE: page(result, *others), README: between(README, BEGIN, END, summary(result))}


if __name__ == "__main__":
    write_or_check(documents(), "write_speed_page.py")
