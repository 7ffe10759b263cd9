"""A Sensorless network from ``kafnets compare`` to ONNX, C and a program of torch, by commands alone.

python -m benchmarks.deployment.command_line
"""

import ctypes
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
from numpy.typing import NDArray

import kafnets
from kafnets.data import load
from kafnets.files import as_json, write
from kafnets.provenance import provenance

STORED = Path("benchmarks/results/command_line.json")
SUFFIXES = {"onnx": ".onnx", "c": ".c", "torch": ".pt2"}
MAIN = "import sys; sys.argv[0] = 'kafnets'; from kafnets.cli import main; main()"

Array = NDArray[Any]
Program = Callable[[Array], Array]


def kafnets_command(folder: Path, *arguments: str) -> str:
    """What ``kafnets ARGUMENTS`` prints in a folder."""
    command = [sys.executable, "-c", MAIN, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"kafnets {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def exported(folder: Path, epochs: int) -> Path:
    """Train and export; the folder of the best network, with model.onnx, model.c and model.pt2 beside it."""
    options = ["--activations", "kaf,relu", "--seeds", "1", "--epochs", str(epochs), "--monitor"]
    kafnets_command(folder, "compare", "--data", "sensorless_sample", *options, "--calibrate-after", "1")
    (best,) = folder.glob("kafnets-runs/compare/*/best")
    for to in SUFFIXES:
        kafnets_command(folder, "export", str(best), "--to", to)
    return best


def test_part() -> tuple[Array, Array]:
    """Rows that the network has not seen, in their own units, and their classes."""
    splits: Any = load("sensorless_sample", seed=0, scaling="range")
    half, middle = (
        (splits.scaling.high - splits.scaling.low) / 2,
        (splits.scaling.high + splits.scaling.low) / 2,
    )
    return splits.test.features.astype(np.float64) * half + middle, splits.test.target


def programs(folder: Path, best: Path) -> dict[str, tuple[Program, int]]:
    """What gives probabilities for rows, and its size in bytes."""
    predictor = kafnets.Predictor.load(best)
    network: Any = torch.export.load(str(folder / "model.pt2")).module()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
    found: dict[str, tuple[Program, int]] = {
        "kafnets": (predictor.predict_proba, (best / "predictor.pt").stat().st_size),
        "torch.export": (
            lambda rows: network(torch.from_numpy(rows)).detach().numpy(),
            _size(folder, ".pt2"),
        ),
        "onnxruntime": (lambda rows: session.run(None, {"input": rows})[0], _size(folder, ".onnx")),
    }
    compiler = shutil.which("cc")
    if compiler is not None:
        flags = ["-std=c99", "-O3", "-shared", "-fPIC"]
        subprocess.run([compiler, *flags, "model.c", "-o", "model.so", "-lm"], cwd=folder, check=True)
        function = ctypes.CDLL(str(folder / "model.so")).network
        header = (folder / "model.h").read_text(encoding="utf-8")

        def run(rows: Array) -> Array:
            given, outputs = (
                rows.astype(np.float32),
                np.empty((len(rows), len(predictor.classes)), np.float32),
            )
            for row, output in zip(given, outputs, strict=True):
                function(row.ctypes.data_as(ctypes.c_void_p), output.ctypes.data_as(ctypes.c_void_p))
            return outputs

        found["C, a row at a time"] = run, int(header.split("CONSTANT_BYTES ")[1].split()[0])
    return found


def _size(folder: Path, suffix: str) -> int:
    return (folder / f"model{suffix}").stat().st_size


def measured(folder: Path, best: Path) -> list[dict[str, Any]]:
    """Accuracy, difference from the predictor, bytes and time, by program."""
    rows, target = test_part()
    found = []
    exact = kafnets.Predictor.load(best).predict_proba(rows)
    for name, (program, size) in programs(folder, best).items():
        times = []
        for _ in range(20):
            began = time.process_time()
            probabilities = program(rows)
            times.append(time.process_time() - began)
        found.append(
            {
                "step": name,
                "accuracy": float((probabilities.argmax(1) == target).mean()),
                "difference": float(np.abs(probabilities - exact).max()),
                "bytes": size,
                "milliseconds": 1000 * statistics.median(times),
            }
        )
    return found


def stored() -> dict[str, Any]:
    """What was measured last."""
    found: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return found


def table(steps: list[dict[str, Any]]) -> str:
    """In Markdown."""
    rows = [
        "| Run by | Test accuracy | Largest difference | Bytes | Processor time, ms |",
        "|---|---|---|---|---|",
    ]
    for each in steps:
        rows.append(
            f"| {each['step']} | {100 * each['accuracy']:.1f}% | {each['difference']:.1g} "
            f"| {each['bytes']:,} | {each['milliseconds']:.1f} |"
        )
    return "\n".join(rows)


def main() -> None:
    """Train, export, measure and store."""
    stamp = provenance("onnxruntime")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        steps = measured(Path(name), exported(Path(name), epochs=20))
    write(STORED, as_json({"steps": steps, "provenance": stamp}))


if __name__ == "__main__":
    main()
