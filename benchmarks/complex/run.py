"""Complex-valued activations on a channel: see PLAN.md.

python -m benchmarks.complex.run            # continues where an earlier call left off
python -m benchmarks.complex.run --table    # shows what is stored
"""

import argparse
import copy
import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.study import SEEDS, Run, best, comparison, run_missing, table
from kafnets.nn import Cardioid, ComplexKAF, ModReLU, Split, SplitKAF

OUTPUT = Path("benchmarks/results/complex.jsonl")
TASKS = {"circular": math.sqrt(0.5), "noncircular": 0.1}
METHODS: dict[str, Callable[[int], nn.Module]] = {
    "split tanh": lambda size: Split(nn.Tanh()),
    "split ReLU": lambda size: Split(nn.ReLU()),
    "modReLU": ModReLU,
    "cardioid": lambda size: Cardioid(),
    "split KAF": lambda size: SplitKAF(size, dictionary_size=8, init="relu"),
    "complex KAF, from split ReLU": lambda size: ComplexKAF(size, dictionary_size=5, init="split_relu"),
    "complex KAF, from modReLU": lambda size: ComplexKAF(size, dictionary_size=5, init="modrelu"),
    "complex KAF, complex Gaussian": lambda size: ComplexKAF(
        size, dictionary_size=5, kernel="complex_gaussian", init="modrelu"
    ),
}
FIXED = ("split tanh", "split ReLU", "modReLU", "cardioid")
PARAMETERS, EPOCHS, BATCH, BEFORE, AFTER = 1000, 15, 128, 3, 2
RATES = (1e-2, 3e-2)
PARTS = {"train": 4000, "validation": 2000, "test": 10000}
NOISE = 10 ** (-16 / 20)


def normal(count: int, generator: torch.Generator) -> Tensor:
    """Complex, of variance 1."""
    return torch.randn(count, dtype=torch.complex64, generator=generator)


def channel(count: int, rho: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """What is received around each sample, ``(count, 6)``, and what was sent, ``(count, 1)``."""
    length = count + BEFORE + AFTER + 1
    x, y = torch.randn(2, length, generator=generator)
    s = 0.7 * torch.complex(math.sqrt(1 - rho**2) * x, rho * y)
    t = (-0.9 + 0.8j) * s[1:] + (0.6 - 0.7j) * s[:-1]
    q = t + (0.2 + 0.25j) * t**2 + (0.12 + 0.09j) * t**3
    size = q.abs().square().mean().sqrt()
    r = q + NOISE * size * normal(len(q), generator)
    windows = r.unfold(0, BEFORE + AFTER + 1, 1) / r.abs().square().mean().sqrt()
    return windows, s[1 + BEFORE : 1 + BEFORE + count].unsqueeze(-1)


def count_of(model: nn.Module) -> int:
    """Real parameters."""
    return sum(each.numel() * (2 if each.is_complex() else 1) for each in model.parameters())


def network(method: str, size: int) -> nn.Sequential:
    """One hidden layer."""
    inputs = BEFORE + AFTER + 1
    first, last = (nn.Linear(*sizes, dtype=torch.complex64) for sizes in ((inputs, size), (size, 1)))
    return nn.Sequential(first, METHODS[method](size), last)


def decibels(model: nn.Module, windows: Tensor, sent: Tensor) -> float:
    """The error."""
    with torch.no_grad():
        return 10 * math.log10((model(windows) - sent).abs().square().mean().item())


def train(run: Run) -> dict[str, Any]:
    """With Adam; the epoch with the least error on the validation part counts."""
    generator = torch.Generator().manual_seed(run.seed)
    parts = {name: channel(count, TASKS[run.task], generator) for name, count in PARTS.items()}
    torch.manual_seed(run.seed)
    first, second = (count_of(network(run.method, size)) for size in (2, 3))
    model = network(run.method, 2 + round((PARAMETERS - first) / (second - first)))
    optimizer = torch.optim.Adam(model.parameters(), run.rate)
    best, kept = math.inf, model.state_dict()
    windows, sent = parts["train"]
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(sent)).split(BATCH):
            optimizer.zero_grad()
            (model(windows[rows]) - sent[rows]).abs().square().mean().backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        error = decibels(model, *parts["validation"])
        if error < best:
            best, kept = error, copy.deepcopy(model.state_dict())
    model.load_state_dict(kept)
    scores = {name: decibels(model, *parts[name]) for name in ("validation", "test")}
    return {"scores": scores, "parameters": count_of(model)}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", action="store_true")
    if parser.parse_args().table:
        print(table(OUTPUT, "dB", 2))
        for task in TASKS:
            reference = best(OUTPUT, task, FIXED)
            for method in METHODS:
                if method != reference:
                    print(comparison(OUTPUT, task, method, reference))
        return
    runs = (
        Run(task, method, rate, seed)
        for task, seed, rate, method in itertools.product(TASKS, range(SEEDS), RATES, METHODS)
    )
    run_missing(runs, OUTPUT, train)


if __name__ == "__main__":
    main()
