"""Where learned activations win and where they lose: networks of equal size, one line of JSON per run.

    python -m benchmarks.when.run formulas

Runs that are stored are not repeated; they go seed by seed, so that all have the same seeds at any time.
Every method tries the same learning rates. The validation part chooses; errors are those of the test part.
"""

import argparse
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import kafnets
import kafnets.data
from benchmarks.tables.run import append, stored
from benchmarks.when.formulas import FORMULAS
from kafnets.provenance import provenance

OUTPUT = Path("benchmarks/results/when.jsonl")
RATES = (0.01, 0.03)
SEEDS = 5
BUDGETS = {"formulas": (300,), "digits": (500, 1500, 5000, 15000, 50000)}
"""The most parameters that a network may have."""
STEPS = {"formulas": (500, 500), "digits": (1000, 64)}
"""Of training, and rows of each."""

Parts = dict[str, tuple[Tensor, Tensor]]
Maker = Callable[[int, int, int, torch.Generator], nn.Module]
"""Of a network, from inputs, width, outputs and a generator."""


class Sine(nn.Module):
    """sin(x), for any number of neurons."""

    def __init__(self, num_features: int) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        return torch.sin(x)


def _mlp(activation: Any, layers: int, **options: Any) -> Maker:
    def make(inputs: int, width: int, outputs: int, generator: torch.Generator) -> nn.Module:
        return kafnets.mlp(inputs, (width,) * layers, outputs, activation, generator=generator, **options)

    return make


def _edgewise(**options: Any) -> Maker:
    def make(inputs: int, width: int, outputs: int, generator: torch.Generator) -> nn.Module:
        return kafnets.edgewise_mlp(inputs, (width,), outputs, generator=generator, **options)

    return make


METHODS: dict[str, Maker] = {
    "relu": _mlp("relu", 2),
    "tanh": _mlp("tanh", 2),
    "silu": _mlp(nn.SiLU, 2),
    "sine": _mlp(Sine, 2),
    "relu, 4 layers": _mlp("relu", 4),
    "silu, 4 layers": _mlp(nn.SiLU, 4),
    "kaf": _mlp("kaf", 2),
    "kaf on silu": _mlp("kaf", 2, base="silu"),
    "kaf2d": _mlp("kaf2d", 2),
    "edgewise": _edgewise(),
    "edgewise, linear parts": _edgewise(base=None, input_boundary=1.0, normalize_from=1),
}


def network(method: str, inputs: int, outputs: int, budget: int, seed: int) -> nn.Module:
    """The widest one within the budget; widths are even, as pairs need."""
    found = None
    for width in itertools.count(2, 2):
        made = METHODS[method](inputs, width, outputs, torch.Generator().manual_seed(seed))
        if sum(each.numel() for each in made.parameters()) > budget:
            break
        found = made
    if found is None:
        raise ValueError(f"{method} has no network of at most {budget} parameters")
    return found


def formula_parts(name: str, seed: int) -> Parts:
    """500, 250 and 1,000 rows; targets are scaled by the training part."""
    generator = np.random.default_rng(seed)
    found = {part: FORMULAS[name].rows(count, generator) for part, count in PARTS.items()}
    mean, deviation = found["train"][1].mean(), found["train"][1].std()
    return {
        part: (
            torch.tensor(x, dtype=torch.float32),
            torch.tensor((y - mean) / deviation, dtype=torch.float32),
        )
        for part, (x, y) in found.items()
    }


PARTS = {"train": 500, "validation": 250, "test": 1000}


def digits_parts(_: str, seed: int) -> Parts:
    """scikit-learn's digits, as kafnets divides them."""
    splits = kafnets.data.load("digits", seed)
    return {
        part: (torch.from_numpy(rows.features), torch.from_numpy(rows.target))
        for part, rows in (("train", splits.train), ("validation", splits.validation), ("test", splits.test))
    }


def learned(net: nn.Module, parts: Parts, rate: float, steps: int, batch: int, seed: int) -> dict[str, float]:
    """Errors of a network after training: root mean squares, or rates of wrong classes."""
    classes = not parts["train"][1].is_floating_point()
    x, y = parts["train"]
    optimizer = torch.optim.Adam(net.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        rows = slice(None) if batch >= len(x) else torch.randint(len(x), (batch,), generator=generator)
        output = net(x[rows])
        loss = (
            nn.functional.cross_entropy(output, y[rows])
            if classes
            else nn.functional.mse_loss(output[:, 0], y[rows])
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    errors = {}
    with torch.no_grad():
        for part in ("validation", "test"):
            output, target = net(parts[part][0]), parts[part][1]
            wrong = (output.argmax(1) != target).float() if classes else (output[:, 0] - target) ** 2
            errors[part] = float(wrong.mean() if classes else wrong.mean().sqrt())
    return errors


def result(task: str, name: str, method: str, budget: int, seed: int) -> dict[str, Any]:
    """Of one run: the error with the learning rate that validation chooses, and those of all."""
    parts = (formula_parts if task == "formulas" else digits_parts)(name, seed)
    inputs, target = parts["train"][0].shape[1], parts["train"][1]
    outputs = 1 if target.is_floating_point() else int(target.max()) + 1
    began, tried = time.process_time(), {}
    for rate in RATES:
        net = network(method, inputs, outputs, budget, seed)
        tried[rate] = learned(net, parts, rate, *STEPS[task], seed)
    chosen = min(
        RATES, key=lambda rate: (not np.isfinite(tried[rate]["validation"]), tried[rate]["validation"])
    )
    return {
        "error": tried[chosen]["test"],
        "rate": chosen,
        "tried": [{"rate": rate} | errors for rate, errors in tried.items()],
        "parameters": sum(each.numel() for each in net.parameters()),
        "cpu_seconds": time.process_time() - began,
    }


def wanted(task: str, names: Sequence[str], methods: Sequence[str], seeds: int) -> Iterator[dict[str, Any]]:
    """What should be stored, seed by seed."""
    for seed, name, budget, method in itertools.product(range(seeds), names, BUDGETS[task], methods):
        yield {"task": task, "name": name, "method": method, "budget": budget, "seed": seed}


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", choices=list(BUDGETS))
    parser.add_argument("--names", help="comma-separated formulas; default: all")
    parser.add_argument("--methods", default=",".join(METHODS).replace(", ", "; "))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    names = ["digits"] if given.task == "digits" else (given.names or ",".join(FORMULAS)).split(",")
    methods = [each.replace("; ", ", ") for each in given.methods.split(",")]
    done = [
        {key: line[key] for key in ("task", "name", "method", "budget", "seed")}
        for line in stored(given.output)
    ]
    for one in wanted(given.task, names, methods, given.seeds):
        if one not in done:
            try:
                found = result(**one)
            except ValueError as error:  # too few parameters for it
                print(f"{one}: {error}")
                continue
            append(given.output, one | found | {"provenance": provenance("scipy", "scikit-learn")})
            print(one["seed"], one["name"], one["method"], one["budget"], f"{found['error']:.4f}", flush=True)


if __name__ == "__main__":
    main()
