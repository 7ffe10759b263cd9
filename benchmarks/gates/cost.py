"""The loop over time, with KAF gates and as a loop over torch's cells: processor time of a training step.

python -m benchmarks.gates.cost
"""

import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import kafnets
from kafnets.provenance import provenance
from kafnets.timing import interleaved, threads

OUTPUT = Path("benchmarks/results/gates_cost.json")
SIZES = [(28, 64, 28, 64), (28, 128, 128, 128), (64, 32, 1, 32)]
"""Steps, batch size, inputs, hidden size."""
KINDS: dict[str, Any] = {
    "LSTM": (nn.LSTMCell, kafnets.nn.LSTMCell, kafnets.nn.LSTM),
    "GRU": (nn.GRUCell, kafnets.nn.GRUCell, kafnets.nn.GRU),
}


def looped(cell: nn.Module, x: Tensor) -> Tensor:
    """The last hidden state."""
    state = None
    for step in x:
        state = cell(step, state)
    assert state is not None
    return state if isinstance(state, Tensor) else state[0]


def training_step(forward: Callable[[], Tensor]) -> None:
    """Values and gradients."""
    forward().sum().backward()


def main() -> None:
    """Ratios to the loop over torch's cell, which is 1."""
    rows = []
    for kind, (plain, own_cell, layer) in KINDS.items():
        for steps, batch, inputs, hidden in SIZES:
            torch.manual_seed(0)
            x, init = torch.randn(steps, batch, inputs), kafnets.Normal(0.3)
            whole = layer(inputs, hidden, init=init)
            runs: dict[str, Any] = {
                "torch's cell": partial(looped, plain(inputs, hidden), x),
                "KAF cell": partial(looped, own_cell(inputs, hidden, init=init), x),
                "KAF layer": lambda whole=whole, x=x: whole(x)[0][-1],
            }
            with threads(1):
                found = interleaved(
                    {name: partial(training_step, run) for name, run in runs.items()},
                    seconds_a_run=0.5,
                    least=15,
                    clock=time.process_time,
                )
            base = found["torch's cell"].median
            ratios = {name: round(timing.median / base, 3) for name, timing in found.items()}
            rows.append(
                {"kind": kind, "steps": steps, "batch": batch, "inputs": inputs, "hidden": hidden}
                | {
                    "milliseconds": {name: timing.as_dict() for name, timing in found.items()},
                    "ratios": ratios,
                }
            )
            print(kind, (steps, batch, inputs, hidden), f"{base:.1f} ms", ratios, flush=True)
    text = json.dumps({"conditions": "machine shared", "rows": rows, "provenance": provenance()}, indent=1)
    OUTPUT.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
