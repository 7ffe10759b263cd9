"""What the training loop costs beside a bare one, and beside the usual ones.

All make the same steps with the same rows, on the sample of Sensorless and the network 48-100-100-11.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from kafnets import data
from kafnets.comparison.table import Table
from kafnets.networks import mlp
from kafnets.nn.regularization import param_groups
from kafnets.provenance import provenance
from kafnets.timing import interleaved, threads
from kafnets.train.loop import stepper
from kafnets.train.settings import Settings

ACTIVATIONS = ("relu", "kaf")
BATCH = 100
OURS, BARE, FABRIC = "ours", "bare", "Fabric"
LOADER, FUSED_LOADER = "DataLoader", "DataLoader, fused Adam"

EPOCHS = 60
"""The most that are timed: after hundreds on so few rows, numbers become too small to be fast."""


def run(*, quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """Times of an epoch by activation and loop, on one thread; first, that all loops learn the same."""
    splits = data.load("sensorless_sample")
    result: dict[str, Any] = {"provenance": provenance(), "profile": "quick" if quick else "full"}
    result["rows"] = len(splits.train)
    result["batch"] = BATCH
    result["times"] = {}
    with threads(1):
        for activation in ACTIVATIONS:
            say(f"{activation}: checking")
            check(activation, splits)
            say(f"{activation}: timing")
            loops = {name: make(_network(activation), splits) for name, make in LOOPS.items()}
            timings = interleaved(loops, seconds_a_run=1 if quick else 20, most=EPOCHS)
            result["times"][activation] = {name: timing.as_dict() for name, timing in timings.items()}
    result["bars"] = bars(result)
    return result


def check(activation: str, splits: data.Splits) -> None:
    """On the rows of one batch, whose order does not matter, all loops must learn the same."""
    few = replace(splits, train=splits.train[:BATCH])
    start = nn.utils.parameters_to_vector(_network(activation).parameters()).detach()
    weights = {}
    for name, make in LOOPS.items():
        network = _network(activation)
        epoch = make(network, few)
        for _ in range(5):
            epoch()
        weights[name] = nn.utils.parameters_to_vector(network.parameters()).detach()
    moved = (weights[BARE] - start).norm()
    for name, found in weights.items():
        if not (found - weights[BARE]).norm() < 1e-2 * moved:
            raise AssertionError(f"{activation}: the {name} loop does not learn what the bare one does")


def _network(activation: str) -> nn.Sequential:
    return mlp(48, (100, 100), 11, activation, generator=torch.Generator().manual_seed(0))


def _ours(network: nn.Sequential, splits: data.Splits) -> Callable[[], None]:
    return stepper(network, splits, Settings(batch_size=BATCH, device="cpu"), batches=10**6)


def _bare(network: nn.Sequential, splits: data.Splits) -> Callable[[], None]:
    features, target = _tensors(splits)
    adam = _adam(network)

    def epoch() -> None:
        network.train()
        order = torch.randperm(len(target))
        shuffled, labels = features[order], target[order]
        for begin in range(0, len(target), BATCH):
            adam.zero_grad()
            outputs = network(shuffled[begin : begin + BATCH])
            functional.cross_entropy(outputs, labels[begin : begin + BATCH]).backward()
            adam.step()

    return epoch


def _loader(network: nn.Sequential, splits: data.Splits) -> Callable[[], None]:
    """As it is written most often."""
    return _loading(network, splits, torch.optim.Adam(param_groups(network, weight_decay=1e-4)))


def _fused_loader(network: nn.Sequential, splits: data.Splits) -> Callable[[], None]:
    return _loading(network, splits, _adam(network))


def _loading(network: nn.Sequential, splits: data.Splits, adam: torch.optim.Adam) -> Callable[[], None]:
    rows = torch.utils.data.TensorDataset(*_tensors(splits))
    loader = torch.utils.data.DataLoader(rows, batch_size=BATCH, shuffle=True)

    def epoch() -> None:
        network.train()
        for x, y in loader:
            adam.zero_grad()
            functional.cross_entropy(network(x), y).backward()
            adam.step()

    return epoch


def _fabric(network: nn.Sequential, splits: data.Splits) -> Callable[[], None]:
    """Our batches, but every step through Lightning Fabric."""
    from lightning_fabric import Fabric

    features, target = _tensors(splits)
    fabric = Fabric(accelerator="cpu", devices=1)
    wrapped, adam = fabric.setup(network, _adam(network))

    def epoch() -> None:
        wrapped.train()
        order = torch.randperm(len(target))
        for x, y in zip(features[order].split(BATCH), target[order].split(BATCH), strict=True):
            adam.zero_grad()
            fabric.backward(functional.cross_entropy(wrapped(x), y))
            adam.step()

    return epoch


LOOPS: dict[str, Callable[[nn.Sequential, data.Splits], Callable[[], None]]] = {
    OURS: _ours,
    BARE: _bare,
    LOADER: _loader,
    FUSED_LOADER: _fused_loader,
    FABRIC: _fabric,
}


def _tensors(splits: data.Splits) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(splits.train.features), torch.from_numpy(splits.train.target)


def _adam(network: nn.Sequential) -> torch.optim.Adam:
    return torch.optim.Adam(param_groups(network, weight_decay=1e-4), fused=True)


def bars(result: dict[str, Any]) -> list[dict[str, Any]]:
    """What was asked for: little over a bare loop, and much less than a DataLoader."""
    found = []
    for activation, times in result["times"].items():
        ours = times[OURS]["median"]
        over, under = ours / times[BARE]["median"], times[LOADER]["median"] / ours
        what = f"48-100-100-11 net with {activation}, batch {BATCH}"
        found.append(
            {"what": f"{what}: our loop / a bare one", "measured": over, "bar": "< 1.1", "met": over < 1.1}
        )
        found.append(
            {"what": f"{what}: a DataLoader loop / ours", "measured": under, "bar": ">= 2", "met": under >= 2}
        )
    return found


def tables(result: dict[str, Any]) -> list[Table]:
    """An epoch of each loop relative to the bare one, by activation."""
    times = result["times"]
    rows = []
    for loop in next(iter(times.values())):
        ratios = (f"{each[loop]['median'] / each[BARE]['median']:.2f}" for each in times.values())
        rows.append((loop, *ratios))
    return [Table("an epoch / the bare loop's, one thread", ("loop", *times), tuple(rows))]
