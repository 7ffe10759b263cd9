"""What the documents say about the time and size of an installation is what was measured."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_times_and_sizes_are_those_that_are_stored() -> None:
    stored = json.loads((ROOT / "benchmarks/results/installation.json").read_text(encoding="utf-8"))
    demo, experiments, wheel = stored["demo"], stored["experiments"], stored["wheel"]
    sizes = [f"{each['megabytes'] / 1000:.1f} GB" for each in (demo, experiments)]
    quickstart = (ROOT / "docs/quickstart.md").read_text(encoding="utf-8")
    seconds = f"{demo['seconds']:.0f} s"
    taken = [each["processor_seconds"] for each in (experiments, wheel)]
    for said in (
        f"| {seconds} ({demo['processor_seconds']:.0f} s of processor time) | {sizes[0]} |",
        f"| {taken[0]:.0f} s of processor time for the packages, {taken[1]:.0f} s for compiling",
        f" | {sizes[1]} |",
        f"is {wheel['megabytes']:.1f} MB",
    ):
        assert said in quickstart
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for said in (
        f"takes {seconds} on two cores and {sizes[0]}",
        f"`'.[experiments]'` takes {sizes[1]}",
    ):
        assert said in readme
