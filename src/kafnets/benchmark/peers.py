"""Networks of other packages beside a Kafnet: how well they learn the same data, and what a step costs.

Times are processor time on one thread, so that what other programs take meanwhile does not count.
"""

import importlib
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from kafnets.comparison.table import Table
from kafnets.networks import edgewise_mlp, mlp
from kafnets.ops import use_backend
from kafnets.provenance import provenance
from kafnets.randomness import own_randomness
from kafnets.timing import interleaved, threads

INPUTS, HIDDEN, BATCH = 18, 64, 1000
PARTS = {"train": 20_000, "validation": 5_000, "test": 5_000}
STEPS, RATES = 1000, (3e-3, 1e-2)
"""Each network has the rate that is best on the validation part."""

KAFNET, COMPILED = "KAF, 2 x 64", "KAF, 2 x 64, composite + torch.compile"
EQUAL = 1.05
"""A Kafnet counts as equally accurate up to this ratio of errors."""

Data = dict[str, tuple[Tensor, Tensor]]
Step = Callable[[], None]


@dataclass(frozen=True)
class Peer:
    """A network: how it is built, and the package that it needs, by its names on the index and in Python."""

    name: str
    build: Callable[[], nn.Module]
    package: str = ""
    module: str = ""
    backend: str = "auto"

    def installed(self) -> bool:
        """Whether it can be built here."""
        return not self.module or find_spec(self.module) is not None


def _kafnet(hidden: int = HIDDEN) -> nn.Module:
    """With the base function of the recipe for tables."""
    return mlp(INPUTS, (hidden, hidden), 1, "kaf(base=mish)")


def _compiled() -> nn.Module:
    return torch.compile(_kafnet(), fullgraph=True)  # type: ignore[return-value]


def _pykan() -> nn.Module:
    """By its defaults, in its faster mode: without symbolic functions, and storing nothing."""
    network = _imported("kan").KAN([INPUTS, HIDDEN, 1], auto_save=False, seed=0)
    return network.speed()


def _efficient_kan() -> nn.Module:
    """From the copy in kan-gpt; its layers themselves, since its network mistakes the order of splines."""
    layer = _imported("kan_gpt.efficient_kan.model").KANLinear
    return nn.Sequential(layer(INPUTS, HIDDEN), layer(HIDDEN, 1))


def _torch_activation(name: str) -> Callable[[], nn.Module]:
    def build() -> nn.Module:
        activation = getattr(_imported("torch_activation"), name)
        first, second, last = nn.Linear(INPUTS, HIDDEN), nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, 1)
        return nn.Sequential(first, activation(), second, activation(), last)

    return build


def _imported(module: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of optional parts of their own that they miss
        return importlib.import_module(module)


PEERS = [
    Peer("ReLU, 2 x 64", lambda: mlp(INPUTS, (HIDDEN, HIDDEN), 1, "relu")),
    Peer(KAFNET, _kafnet),
    Peer("KAF, 2 x 128", lambda: _kafnet(2 * HIDDEN)),
    Peer("edge-wise KAF, 64", lambda: edgewise_mlp(INPUTS, (HIDDEN,), 1)),
    Peer(COMPILED, _compiled, backend="composite"),
    Peer("KAN of pykan, 64", _pykan, "pykan", "kan"),
    Peer("efficient-kan, 64", _efficient_kan, "kan-gpt", "kan_gpt"),
    Peer("KAF of torch-activation, 2 x 64", _torch_activation("KAF"), "torch-activation", "torch_activation"),
    Peer("PAU of torch-activation, 2 x 64", _torch_activation("PAU"), "torch-activation", "torch_activation"),
]
KAFNETS = (KAFNET, "KAF, 2 x 128", "edge-wise KAF, 64")
RIVALS = tuple(peer.name for peer in PEERS[len(KAFNETS) + 1 :])


def run(*, quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """Errors, parameters and times of a step by network; a package that is not installed is named."""
    found = [peer for peer in PEERS if peer.installed()]
    packages = dict.fromkeys(peer.package for peer in found if peer.package)
    result: dict[str, Any] = {"provenance": provenance(*packages), "profile": "quick" if quick else "full"}
    result |= {"batch": BATCH, "steps": STEPS, "rates": list(RATES)}
    result["missing"] = sorted({peer.package for peer in PEERS} - {"", *packages})
    data = formula_data()
    with threads(1), own_randomness():
        result["networks"] = {}
        for peer in found:
            say(f"{peer.name}: checking and training")
            check(peer, data)
            result["networks"][peer.name] = _learned(peer, data)
        say("timing")
        steps = {peer.name: _step(peer, _built(peer), data["train"], RATES[0]) for peer in found}
        timings = interleaved(steps, seconds_a_run=2 if quick else 10, clock=time.process_time)
    for name, timing in timings.items():
        result["networks"][name]["time"] = timing.as_dict()
    result["bars"] = bars(result)
    return result


def formula_data() -> Data:
    """18 numbers in [-1, 1], and a smooth function of pairs of them with one kink, standardized."""
    generator = torch.Generator().manual_seed(0)
    parts = {}
    for part, rows in PARTS.items():
        x = 2 * torch.rand(rows, INPUTS, generator=generator) - 1
        waves = (torch.sin(torch.pi * x[:, :6]) * x[:, 6:12]).sum(1)
        y = waves + torch.exp(x[:, 12] * x[:, 13]) + x[:, 14].abs() + (x[:, 15] + x[:, 16]) ** 2 * x[:, 17]
        parts[part] = (x, y[:, None])
    center, scale = parts["train"][1].mean(), parts["train"][1].std()
    return {part: (x, (y - center) / scale) for part, (x, y) in parts.items()}


def _built(peer: Peer) -> nn.Module:
    torch.manual_seed(0)
    return peer.build()


def check(peer: Peer, data: Data) -> None:
    """What is timed must be right: the gradient is the loss's, and every way to compute a KAF gives the same.

    Raises:
        AssertionError: it is not.
    """
    network, (x, y) = _built(peer), data["validation"]
    with _computing(peer):
        loss = functional.mse_loss(network(x[:BATCH]), y[:BATCH])
    if peer.name in (KAFNET, COMPILED):
        with use_backend("composite"):
            plain = functional.mse_loss(
                _kafnet_like(network).double()(x[:BATCH].double()), y[:BATCH].double()
            )
        if not abs(loss.item() - plain.item()) < 1e-5 * plain.item():
            raise AssertionError(
                f"{peer.name}: its loss is {loss.item()}, by the plain formula {plain.item()}"
            )
    parameters = [each for each in network.parameters() if each.requires_grad]
    gradients = torch.autograd.grad(loss, parameters, allow_unused=True)
    moved = sum(float((each**2).sum()) for each in gradients if each is not None)
    step = 1e-3 / moved**0.5
    losses = []
    for sign in (1, -2):
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                if gradient is not None:
                    parameter.add_(gradient, alpha=sign * step)
            with _computing(peer):
                losses.append(functional.mse_loss(network(x[:BATCH]), y[:BATCH]).item())
    slope = (losses[0] - losses[1]) / (2 * step)
    if not abs(slope - moved) < 0.02 * moved:
        raise AssertionError(f"{peer.name}: the loss rises by {slope}, by its gradient it would by {moved}")


def _kafnet_like(network: nn.Module) -> nn.Module:
    """A plain one with the same parameters, which a compiled one keeps under another name."""
    plain = _kafnet()
    state = {name.removeprefix("_orig_mod."): value for name, value in network.state_dict().items()}
    plain.load_state_dict(state)
    return plain


def _computing(peer: Peer) -> Any:
    return use_backend(peer.backend) if peer.backend != "auto" else nullcontext()


def _step(peer: Peer, network: nn.Module, rows: tuple[Tensor, Tensor], rate: float) -> Step:
    """One step of Adam on the next batch."""
    adam = torch.optim.Adam((each for each in network.parameters() if each.requires_grad), rate, fused=True)
    batches = [(x, y) for x, y in zip(*(each.split(BATCH) for each in rows), strict=True)]
    number = 0

    def step() -> None:
        nonlocal number
        x, y = batches[number % len(batches)]
        number += 1
        adam.zero_grad()
        with _computing(peer):
            functional.mse_loss(network(x), y).backward()
        adam.step()

    return step


def _learned(peer: Peer, data: Data) -> dict[str, Any]:
    """At the better rate. A compiled network learns what it would otherwise, so that one is trained."""
    attempts = []
    plain = next(each for each in PEERS if each.name == KAFNET) if peer.name == COMPILED else peer
    for rate in RATES:
        network = _built(plain)
        step = _step(plain, network, data["train"], rate)
        for _ in range(STEPS):
            step()
        errors = {part: _error(plain, network, data[part]) for part in ("validation", "test")}
        attempts.append({"rate": rate, **errors})
    sizes = (each.numel() for each in network.parameters() if each.requires_grad)
    return {"parameters": sum(sizes), **min(attempts, key=lambda each: each["validation"])}


def _error(peer: Peer, network: nn.Module, rows: tuple[Tensor, Tensor]) -> float:
    """The root of the mean squared error, of a target with a standard deviation of 1."""
    with torch.no_grad(), _computing(peer):
        return functional.mse_loss(network(rows[0]), rows[1]).item() ** 0.5


def bars(result: dict[str, Any]) -> list[dict[str, Any]]:
    """What was asked for: a Kafnet of equal accuracy is faster than each network of other packages.

    It is the fastest one that is as accurate on the validation part; if there is none, the most accurate one,
    and the bar is missed.
    """
    networks, found = result["networks"], []
    for name in filter(networks.get, RIVALS):
        theirs = networks[name]
        equal = [each for each in KAFNETS if networks[each]["validation"] <= EQUAL * theirs["validation"]]
        fastest = min(equal, key=lambda each: networks[each]["time"]["median"], default=None)
        ours = fastest or min(KAFNETS, key=lambda each: networks[each]["validation"])
        measured = theirs["time"]["median"] / networks[ours]["time"]["median"]
        what = f"step of {name} / of {ours}" + ("" if equal else ", which is less accurate")
        found.append({"what": what, "measured": measured, "bar": "> 1", "met": measured > 1 and bool(equal)})
    return found


def tables(result: dict[str, Any]) -> list[Table]:
    """The fastest first."""
    networks = result["networks"]
    unit = networks[KAFNET]["time"]["median"]
    ordered = sorted(networks.items(), key=lambda item: item[1]["time"]["median"])
    rows = (
        (name, f"{each['parameters']:,}", f"{each['test']:.3f}", f"{each['time']['median'] / unit:.2f}")
        for name, each in ordered
    )
    missing = f"not installed: {', '.join(result['missing'])}" if result["missing"] else ""
    headings = ("network", "parameters", "test error", f"time of a step / {KAFNET}")
    return [Table(f"formula of {INPUTS} inputs, batch {result['batch']:,}", headings, tuple(rows), missing)]
