"""A small comparison on real data: which activation suits it, and what does it cost?

Trains the same network, one hidden layer of 100 neurons, with four activations and three seeds on the
sample of Sensorless that ships with the package, then prints a table and draws what was learned.
"""

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # a picture file, no window

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.axes import Axes
from torch import Tensor, nn

from kafnets import KAF, KAF2D, param_groups
from kafnets.data import sensorless_sample

HIDDEN, EPOCHS, BATCH, SEEDS = 100, 40, 100, 3
ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "ReLU": nn.ReLU,
    "PReLU": lambda: nn.PReLU(HIDDEN),
    "KAF": lambda: KAF(HIDDEN),
    "2D-KAF": lambda: KAF2D(HIDDEN),
}
OUTPUT = Path("demo-output")


@dataclass
class Split:
    """Training and test parts, features scaled to [-1, 1] by the training part."""

    train_x: Tensor
    train_y: Tensor
    test_x: Tensor
    test_y: Tensor


@dataclass
class Result:
    """What the runs of one activation gave."""

    accuracies: list[float] = field(default_factory=list)
    seconds: float = 0.0
    parameters: int = 0
    start: nn.Module | None = None
    net: nn.Sequential | None = None


def split(seed: int) -> Split:
    features, labels = sensorless_sample()
    order = np.random.default_rng(seed).permutation(len(labels))
    train, test = order[: len(order) * 7 // 10], order[len(order) * 7 // 10 :]
    low, high = features[train].min(0), features[train].max(0)
    scaled = torch.from_numpy(2 * (features - low) / (high - low) - 1)
    target = torch.from_numpy(labels)
    return Split(scaled[train], target[train], scaled[test], target[test])


def train(build: Callable[[], nn.Module], seed: int, data: Split, result: Result) -> None:
    torch.manual_seed(seed)
    activation = build()
    start = copy.deepcopy(activation)
    outputs = HIDDEN // 2 if isinstance(activation, KAF2D) else HIDDEN
    net = nn.Sequential(nn.Linear(48, HIDDEN), activation, nn.Linear(outputs, 11))
    optimizer = torch.optim.Adam(param_groups(net, weight_decay=1e-4))
    began = time.perf_counter()
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(data.train_y)).split(BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(data.train_x[rows]), data.train_y[rows]).backward()
            optimizer.step()
    result.seconds += time.perf_counter() - began
    with torch.no_grad():
        hits = net(data.test_x).argmax(1) == data.test_y
    result.accuracies.append(100 * hits.float().mean().item())
    result.parameters = sum(parameter.numel() for parameter in net.parameters())
    result.start, result.net = start, net


def print_table(results: dict[str, Result]) -> None:
    print(f"\nSensorless sample, 3,850 rows to train and 1,650 to test, {EPOCHS} epochs, {SEEDS} seeds\n")
    print(f"{'activation':<12}{'test accuracy':>18}{'parameters':>13}{'time / ReLU':>14}")
    for name, result in sorted(results.items(), key=lambda item: -np.mean(item[1].accuracies)):
        mean, deviation = np.mean(result.accuracies), np.std(result.accuracies, ddof=1)
        relative = result.seconds / results["ReLU"].seconds
        print(f"{name:<12}{mean:>10.2f} ± {deviation:.2f} %{result.parameters:>13,}{relative:>14.2f}")


def draw(results: dict[str, Result], data: Split, path: Path) -> None:
    """Accuracies, six learned KAFs and three learned 2D-KAFs, in the paper's colours."""
    figure, axes = plt.subplots(2, 5, figsize=(15, 6), layout="constrained")
    _draw_accuracies(axes[0, 0], results)
    kaf = results["KAF"]
    assert kaf.net is not None
    assert kaf.start is not None
    with torch.no_grad():
        activations = kaf.net[0](data.test_x)
        s = torch.linspace(-4, 4, 400).unsqueeze(1).expand(-1, HIDDEN)
        before, after = kaf.start(s), kaf.net[1](s)
    for neuron, axis in zip(range(6), [*axes[0, 1:], *axes[1, :2]], strict=True):
        background = axis.twinx()
        background.hist(activations[:, neuron].clip(-4, 4), bins=50, color="lightblue")
        background.set_yticks([])
        axis.set_zorder(background.get_zorder() + 1)
        axis.patch.set_visible(False)
        axis.plot(s[:, neuron], before[:, neuron], "--", color="tab:red", label="start")
        axis.plot(s[:, neuron], after[:, neuron], color="tab:green", label="learned")
        axis.set(title=f"KAF of neuron {neuron}", xlabel="activation")
    axes[0, 1].legend(loc="best", fontsize="small")
    kaf2d = results["2D-KAF"].net
    assert kaf2d is not None
    line = torch.linspace(-3, 3, 120)
    grid = torch.stack(torch.meshgrid(line, line, indexing="xy"), dim=-1).repeat(1, 1, HIDDEN // 2)
    with torch.no_grad():
        surfaces = kaf2d[1](grid.reshape(-1, HIDDEN)).reshape(120, 120, -1)
    for pair, axis in zip(range(3), axes[1, 2:], strict=True):
        axis.imshow(surfaces[..., pair], origin="lower", extent=(-3, 3, -3, 3), cmap="Blues")
        axis.set(title=f"2D-KAF of pair {pair}", xlabel="activation 1", ylabel="activation 2")
    figure.savefig(path, dpi=110)


def _draw_accuracies(axis: Axes, results: dict[str, Result]) -> None:
    for place, (name, result) in enumerate(results.items()):
        colour = "tab:green" if "KAF" in name else "tab:grey"
        axis.plot([place] * SEEDS, result.accuracies, "o", color=colour, alpha=0.6)
        axis.plot(place, np.mean(result.accuracies), "_", color=colour, markersize=24, markeredgewidth=2)
    axis.set_xticks(range(len(results)), list(results))
    axis.set(title="test accuracy [%]", xlim=(-0.5, len(results) - 0.5))


def main() -> None:
    results = {name: Result() for name in ACTIVATIONS}
    for seed in range(SEEDS):
        data = split(seed)
        for name, build in ACTIVATIONS.items():
            print(f"\rseed {seed + 1} of {SEEDS}: training with {name:<8}", end="", flush=True)
            train(build, seed, data, results[name])
    print_table(results)
    OUTPUT.mkdir(exist_ok=True)
    draw(results, data, OUTPUT / "demo.png")
    print(f"\nWhat was learned: {OUTPUT / 'demo.png'}")


if __name__ == "__main__":
    main()
