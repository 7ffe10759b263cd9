"""Write what was measured of the frameworks into docs/frameworks.md.

Usage: python scripts/write_frameworks_page.py [--check]. With --check nothing is written; the exit code tells
whether the page says what the stored result says.
"""

import json

from sections import ROOT, write_or_check

from kafnets.benchmark.frameworks import KINDS, PARTS, TOLERANCE
from kafnets.paper.page import between

PAGE = ROOT / "docs/frameworks.md"
RESULT = ROOT / "benchmarks/results/cpu/frameworks.json"
BEGIN, END = "<!-- frameworks: written by scripts/write_frameworks_page.py -->", "<!-- end of frameworks -->"


def text() -> str:
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    stamp = result["provenance"]
    rows, columns = result["shape"]
    headings = [f"{part}, {dtype}" for dtype in TOLERANCE for part in PARTS]
    errors = [f"| framework | | {' | '.join(headings)} |", "|---" * (len(headings) + 2) + "|"]
    ratios = [(kind, own) for kind in KINDS for own in ("PReLU", "ELU")]
    times = [
        f"| framework | {' | '.join(f'{kind} / {own}' for kind, own in ratios)} |",
        "|---" * (len(ratios) + 1) + "|",
    ]
    versions: dict[str, str] = {}
    for name, found in result["frameworks"].items():
        if "missing" in found:
            continue
        versions |= found["versions"]
        for kind, by_type in found["errors"].items():
            shown = (f"{by_type[dtype][part]:.0e}" for dtype in TOLERANCE for part in PARTS)
            errors.append(f"| {name} | {kind} | {' | '.join(shown)} |")
        median = {step: timing["median"] for step, timing in found["times"].items()}
        times.append(f"| {name} | {' | '.join(f'{median[a] / median[b]:.2f}' for a, b in ratios)} |")
    return "\n".join(
        [
            "`kafnets bench frameworks` compares every framework with the plain formula in float64, and then times it "
            "beside the framework's own activations.",
            "",
            "Largest errors, over the largest value:",
            "",
            *errors,
            "",
            f"Times of a forward and a backward pass on {rows:,} x {columns} numbers, one thread, over the same "
            "framework's own PReLU and ELU, the median of many taken in turn. JAX and TensorFlow are compiled; "
            "JAX's and autograd's PReLU is the formula, since they have no layer for it. A compiled PReLU costs "
            "little more than reading its input, so ratios are larger there than in torch, whose native "
            "kernels have no counterpart in the other frameworks.",
            "",
            *times,
            "",
            f"{', '.join(f'{package} {number}' for package, number in sorted(versions.items()))}; "
            f"{stamp['hardware']['processor']}, commit {stamp['commit'][:12]}, {result['profile']} profile.",
        ]
    )


if __name__ == "__main__":
    write_or_check({PAGE: between(PAGE, BEGIN, END, text())}, "write_frameworks_page.py")
