"""KAF gates against plain ones, at equal parameters: see PLAN.md.

python -m benchmarks.gates.run            # continues where an earlier call left off
python -m benchmarks.gates.run --table    # shows what is stored
"""

import argparse
import copy
import functools
import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, mse_loss

import kafnets
from benchmarks.study import RATES, SEEDS, Run, comparison, run_missing, table
from kafnets.data.package_sets import PackagedTable

OUTPUT = Path("benchmarks/results/gates.jsonl")
TASKS = {"digits by row": 25, "sunspots": 12, "digits by pixel": 25}
"""With their epochs."""
METHODS: dict[str, Any] = {
    "LSTM": nn.LSTM,
    "LSTM, KAF gates": kafnets.nn.LSTM,
    "GRU": nn.GRU,
    "GRU, KAF gates": kafnets.nn.GRU,
}
HIDDEN, DICTIONARY, BATCH, WINDOW = 32, 10, 32, 24
SUNSPOTS = PackagedTable(
    "sunspots",
    "pydataset",
    "resources/rdata/csv/datasets/sunspots.csv",
    "87cd4f8548211b5386d0bec502214c68b66cf1cad850ec72dd0afce97a8963fc",
    {},
)


class Network(nn.Module):
    """Recurrent layer and readout of its last hidden state."""

    def __init__(self, method: str, inputs: int, hidden: int, outputs: int) -> None:
        super().__init__()
        options = {"dictionary_size": DICTIONARY} if "KAF" in method else {}
        self.recurrent = METHODS[method](inputs, hidden, batch_first=True, **options)
        self.readout = nn.Linear(hidden, outputs)

    def forward(self, x: Tensor) -> Tensor:
        """``(B, T, inputs)`` to ``(B, outputs)``."""
        output: Tensor = self.readout(self.recurrent(x)[0][:, -1])
        return output

    @property
    def parameter_count(self) -> int:
        """Of all that is trained."""
        return sum(each.numel() for each in self.parameters())


def network(method: str, inputs: int, outputs: int) -> Network:
    """With 32 neurons for KAF gates, and as many for plain ones as come nearest in parameters."""
    if "KAF" in method:
        return Network(method, inputs, HIDDEN, outputs)
    with torch.random.fork_rng(devices=()):
        goal = Network(f"{method}, KAF gates", inputs, HIDDEN, outputs).parameter_count
        counts = {
            size: Network(method, inputs, size, outputs).parameter_count for size in range(HIDDEN, 2 * HIDDEN)
        }
    return Network(method, inputs, min(counts, key=lambda size: abs(counts[size] - goal)), outputs)


@functools.cache
def sunspots() -> tuple[list[tuple[Tensor, Tensor]], float]:
    """Windows and what follows them, by part in order of time; and the unit of the scaled numbers."""
    series = SUNSPOTS.frame()["sunspots"].to_numpy(dtype=np.float32)
    ends = [int(share * len(series)) for share in (0.7, 0.85, 1.0)]
    mean, scale = series[: ends[0]].mean(), series[: ends[0]].std()
    scaled = torch.from_numpy((series - mean) / scale)
    parts = []
    for first, last in itertools.pairwise([WINDOW, *ends]):
        windows = torch.stack([scaled[end - WINDOW : end] for end in range(first, last)])
        parts.append((windows.unsqueeze(-1), scaled[first:last].unsqueeze(-1)))
    return parts, float(scale)


def digits(seed: int, by_pixel: bool) -> list[tuple[Tensor, Tensor]]:
    """Divided 60/20/20 by the seed, each class alike."""
    images, labels = load_digits(return_X_y=True)
    rows = np.arange(len(labels))
    train, rest = train_test_split(rows, test_size=0.4, random_state=seed, stratify=labels)
    validation, test = train_test_split(rest, test_size=0.5, random_state=seed, stratify=labels[rest])
    x = torch.from_numpy(images / 16).float().unflatten(1, (64, 1) if by_pixel else (8, 8))
    y = torch.from_numpy(labels)
    return [(x[part], y[part]) for part in (train, validation, test)]


def train(run: Run) -> dict[str, Any]:
    """With Adam; the epoch with the least loss on the validation part counts."""
    is_series = run.task == "sunspots"
    unit = 1.0
    if is_series:
        parts, unit = sunspots()
    else:
        parts = digits(run.seed, run.task == "digits by pixel")
    loss: Any = mse_loss if is_series else cross_entropy
    torch.manual_seed(run.seed)
    model = network(run.method, parts[0][0].shape[-1], 1 if is_series else 10)
    optimizer = torch.optim.Adam(model.parameters(), run.rate)
    best, kept, epoch_of_best = math.inf, model.state_dict(), 0
    for epoch in range(TASKS[run.task]):
        model.train()
        for rows in torch.randperm(len(parts[0][1])).split(BATCH):
            optimizer.zero_grad()
            loss(model(parts[0][0][rows]), parts[0][1][rows]).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            held_out = loss(model(parts[1][0]), parts[1][1]).item()
        if held_out < best:
            best, kept, epoch_of_best = held_out, copy.deepcopy(model.state_dict()), epoch + 1
    model.load_state_dict(kept)
    with torch.no_grad():
        scores = {
            name: unit * mse_loss(model(x), y).sqrt().item()
            if is_series
            else 100 * (model(x).argmax(1) != y).float().mean().item()
            for name, (x, y) in zip(("validation", "test"), parts[1:], strict=True)
        }
    return {"scores": scores, "parameters": model.parameter_count, "epoch": epoch_of_best}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--tasks", default=",".join(TASKS))
    given = parser.parse_args()
    if given.table:
        print(table(OUTPUT, "error", 2))
        for task, method in itertools.product(TASKS, ("LSTM", "GRU")):
            if task != "digits by pixel" or method == "GRU":
                print(comparison(OUTPUT, task, f"{method}, KAF gates", method))
        return
    runs = (
        Run(task, method, rate, seed)
        for task, seed, rate, method in itertools.product(
            given.tasks.split(","), range(SEEDS), RATES, METHODS
        )
        if task != "digits by pixel" or method.startswith("GRU")
    )
    run_missing(runs, OUTPUT, train, "scikit-learn", "pydataset")


if __name__ == "__main__":
    main()
