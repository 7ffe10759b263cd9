"""Whether SUSY can be read in little memory: a file of its size and shape is generated, then read.

Its numbers are random. Nothing is learned from them; only memory and time are looked at.
"""

import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from kafnets.benchmark.memory import peak
from kafnets.data.download import SETTING
from kafnets.data.susy import FEATURES
from kafnets.provenance import provenance

ROWS, QUICK_ROWS, BLOCK = 5_000_000, 1_100_000, 50_000
MOST_MEGABYTES = 3000


def run(*, quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """Peak memory of the first reading, and of each later one from the compact form."""
    rows = QUICK_ROWS if quick else ROWS
    with tempfile.TemporaryDirectory() as folder:
        say(f"generating {rows:,} rows")
        size = generate(Path(folder) / "SUSY.csv.gz", rows)
        result: dict[str, Any] = {
            "provenance": provenance(),
            "profile": "quick" if quick else "full",
            "data": "generated rows",
            "rows": rows,
            "megabytes_of_text": size / 1e6,
        }
        for reading in ("first reading", "later readings"):
            say(reading)
            result[reading] = _measured(folder)
    result["bars"] = bars(result)
    return result


def generate(path: Path, rows: int) -> int:
    """A file like the published one, from one block of text again and again; its size without compression."""
    generator = np.random.default_rng(0)
    table = np.column_stack([generator.integers(0, 2, BLOCK), generator.normal(size=(BLOCK, FEATURES))])
    text = "".join(",".join(f"{value:.18e}" for value in row) + "\n" for row in table.tolist()).encode()
    packed = gzip.compress(text, 1)  # files in this format may be put one after the other
    with path.open("wb") as stream:
        for _ in range(rows // BLOCK):
            stream.write(packed)
    return len(text) * (rows // BLOCK)


def _measured(folder: str) -> dict[str, float]:
    output = subprocess.run(
        [sys.executable, "-m", "kafnets.benchmark.reading"],
        env=os.environ | {SETTING: folder},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(output.stdout)
    return found


def _read() -> dict[str, float]:
    from kafnets import data

    began = time.perf_counter()
    splits = data.load("susy")
    return {
        "peak_megabytes": peak(),
        "seconds": time.perf_counter() - began,
        "training_rows": len(splits.train),
    }


def bars(result: dict[str, Any]) -> list[dict[str, Any]]:
    """What was asked for."""
    return [
        {
            "what": f"{reading} of {result['rows']:,} generated rows: most memory, MB",
            "measured": result[reading]["peak_megabytes"],
            "bar": f"< {MOST_MEGABYTES}",
            "met": result[reading]["peak_megabytes"] < MOST_MEGABYTES,
        }
        for reading in ("first reading", "later readings")
    ]


def print_result(result: dict[str, Any], console: Console) -> None:
    """Two lines."""
    console.print(f"{result['rows']:,} generated rows, {result['megabytes_of_text']:,.0f} MB of text")
    for bar in result["bars"]:
        console.print(f"{bar['what']}: {bar['measured']:,.0f} {'met' if bar['met'] else 'NOT MET'}")


if __name__ == "__main__":
    print(json.dumps(_read()))
