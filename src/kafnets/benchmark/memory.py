"""Memory of one forward and backward pass: the rise of the process's peak, in a process of its own.

Counts what torch allocates and what native code does. Linux only.
"""

import json
import subprocess
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")
RESET = Path("/proc/self/clear_refs")


def available() -> bool:
    """Whether the peak can be read and reset here."""
    return STATUS.exists() and RESET.exists()


def peak_rise(kind: str, dictionary_size: int, backend: str, shape: tuple[int, ...]) -> float:
    """Megabytes for an activation: ``kind`` is "kaf", "kaf2d" or the name of a class in torch.nn."""
    request = json.dumps([kind, dictionary_size, backend, shape])
    output = subprocess.run(
        [sys.executable, "-m", "kafnets.benchmark.memory", request],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(output.stdout)


def _measure(kind: str, dictionary_size: int, backend: str, shape: list[int]) -> float:
    import torch

    from kafnets.benchmark.rows import Row, kaf2d_row, kaf_row, step

    if kind == "kaf":
        row = kaf_row(dictionary_size, backend)
    elif kind == "kaf2d":
        row = kaf2d_row(dictionary_size, backend)
    else:
        row = Row(kind, lambda n: getattr(torch.nn, kind)())
    torch.set_num_threads(1)
    step(row, (4, 8))()  # load whatever is loaded lazily
    run = step(row, tuple(shape))
    RESET.write_text("5", encoding="utf-8")
    before = peak()
    run()
    return peak() - before


def peak() -> float:
    """The most memory this process has had, in megabytes, since it began or since the last reset."""
    for line in STATUS.read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"no VmHWM in {STATUS}")


if __name__ == "__main__":
    print(_measure(*json.loads(sys.argv[1])))
