"""onnxruntime beside torch: processor time of networks with KAFs, baked and not, and with ReLU.

python -m benchmarks.deployment.runtimes
"""

import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
from torch import Tensor, nn

import kafnets
from kafnets.files import as_json, write
from kafnets.provenance import provenance
from kafnets.timing import interleaved, threads

STORED = Path("benchmarks/results/runtimes.json")
WIDTHS, BATCHES = (48, (100, 100), 11), (1, 64, 1024)
LARGEST_DIFFERENCE = 1e-4


def networks() -> dict[str, nn.Module]:
    """The same weights, as far as they have them."""
    generator = torch.Generator().manual_seed(0)
    kaf = kafnets.mlp(*WIDTHS, "kaf", generator=generator, init=kafnets.Normal(0.3))
    return {
        "ReLU": kafnets.mlp(*WIDTHS, "relu"),
        "KAF": kaf,
        "KAF, baked, degree 3": kafnets.bake(kaf, degree=3),
        "KAF, baked, degree 7": kafnets.bake(kaf, degree=7),
    }


def session_of(model: nn.Module, folder: str) -> Callable[[Tensor], Any]:
    """The network as onnxruntime runs it, with one thread."""
    path = kafnets.export_onnx(model, Path(folder) / "model.onnx", torch.randn(2, WIDTHS[0]))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])
    return lambda x: session.run(None, {"input": x.numpy()})[0]


def measure() -> list[dict[str, Any]]:
    """Milliseconds of processor time: medians of calls in turns."""
    runs: dict[str, Callable[[Tensor], Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, model in networks().items():
            runs[f"torch: {name}"] = torch.no_grad()(model.eval())
            runs[f"onnxruntime: {name}"] = session_of(model, folder)
    rows = []
    for batch in BATCHES:
        x = torch.randn(batch, WIDTHS[0], generator=torch.Generator().manual_seed(1))
        for name in networks():
            off = np.abs(np.asarray(runs[f"torch: {name}"](x)) - runs[f"onnxruntime: {name}"](x)).max()
            if off > LARGEST_DIFFERENCE:
                raise ValueError(f"onnxruntime and torch differ by {off:.2g} for {name}")
        calls = {name: partial(run, x) for name, run in runs.items()}
        with threads(1):
            found = interleaved(calls, seconds_a_run=0.3, least=25, clock=time.process_time)
        rows.append({"batch": batch, "milliseconds": {name: each.as_dict() for name, each in found.items()}})
    return rows


def stored() -> dict[str, Any]:
    """What was measured last."""
    found: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return found


def table(rows: list[dict[str, Any]]) -> str:
    """In Markdown: a row per network, microseconds by runtime and batch."""
    head = [f"{runtime}, {each['batch']:,}" for each in rows for runtime in ("torch", "onnxruntime")]
    names = [key.removeprefix("torch: ") for key in rows[0]["milliseconds"] if key.startswith("torch: ")]
    lines = [f"| Network | {' | '.join(head)} |", "|---" * (len(head) + 1) + "|"]
    for name in names:
        times = [
            f"{1000 * each['milliseconds'][f'{runtime}: {name}']['median']:,.0f}"
            for each in rows
            for runtime in ("torch", "onnxruntime")
        ]
        lines.append(f"| {name} | {' | '.join(times)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure and store."""
    stamp = provenance("onnxruntime", "onnx")
    conditions = "processor time, one thread; machine shared"
    write(STORED, as_json({"conditions": conditions, "rows": measure(), "provenance": stamp}))


if __name__ == "__main__":
    main()
