"""What a training step of the paper's convolutional network costs, by activation, format and precision.

Processor time on one thread, of batches of 100 random images of 3 x 32 x 32, as many as CIFAR-10's have.
"""

import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from kafnets.comparison.table import Table
from kafnets.networks import cnn
from kafnets.nn.regularization import param_groups
from kafnets.provenance import provenance
from kafnets.timing import Timing, interleaved, threads

BATCH, STEPS = 100, 450
"""Rows of a step, and steps of an epoch over 45,000 images."""
NETWORKS = (("relu", 2), ("elu", 2), ("elu", 5), ("kaf", 2), ("kaf2d", 2))
"""Activations and modules; times are relative to the first."""
FILTERS = (32, 150)
OURS, CONTIGUOUS, BFLOAT16 = "channels last", "contiguous", "channels last, bfloat16"
VARIANTS = (OURS, CONTIGUOUS, BFLOAT16)
"""The first is what ``kafnets.cnn`` makes."""


def run(*, quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """Milliseconds of a step by filters, network and variant; first, that both formats compute the same."""
    result: dict[str, Any] = {"provenance": provenance(), "profile": "quick" if quick else "full"}
    result |= {"batch": BATCH, "steps": STEPS, "times": {}}
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(BATCH, 3, 32, 32, generator=generator)
    labels = torch.randint(10, (BATCH,), generator=generator)
    with threads(1), torch.random.fork_rng(devices=[]):
        for filters in FILTERS[:1] if quick else FILTERS:
            steps = {}
            for name, modules in NETWORKS:
                say(f"{filters} filters, {name}, {modules} modules: checking")
                made = {variant: network(name, modules, filters, variant) for variant in VARIANTS}
                check(made[OURS], made[CONTIGUOUS], images[:10])
                for variant, net in made.items():
                    steps[name, modules, variant] = step(net, images, labels, variant == BFLOAT16)
            say(f"{filters} filters: timing")
            times = interleaved(
                {str(key): each for key, each in steps.items()},
                seconds_a_run=0.2 if quick else 2.0,
                least=2 if quick else 7,
                most=20,
                clock=time.process_time,
            )
            result["times"][str(filters)] = [
                {"activation": name, "modules": modules} | _by_variant(times, name, modules)
                for name, modules in NETWORKS
            ]
    return result


def network(activation: str, modules: int, filters: int, variant: str) -> nn.Sequential:
    """The same one in each variant. KAFs are initialized as in the experiment."""
    options: dict[str, Any] = {"init": "elu"} if activation.startswith("kaf") else {}
    made = cnn(
        3,
        32,
        modules,
        10,
        activation,
        filters=filters,
        generator=torch.Generator().manual_seed(0),
        **options,
    )
    if variant == CONTIGUOUS:
        made = made.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
    return made


def check(one: nn.Sequential, two: nn.Sequential, images: Tensor) -> None:
    """Both must give the same for these images."""
    with torch.no_grad():
        found, wanted = (each.eval()(images) for each in (one, two))
    torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-4)


def step(net: nn.Sequential, images: Tensor, labels: Tensor, bfloat16: bool) -> Callable[[], None]:
    """One step of Adam, as in the experiment."""
    adam = torch.optim.Adam(param_groups(net, weight_decay=1e-4), fused=True)
    precision = partial(torch.autocast, "cpu", torch.bfloat16) if bfloat16 else nullcontext

    def made() -> None:
        net.train()
        adam.zero_grad()
        with precision():
            outputs = net(images)
        functional.cross_entropy(outputs.float(), labels).backward()
        adam.step()

    return made


def _by_variant(times: dict[str, Timing], name: str, modules: int) -> dict[str, Any]:
    return {variant: times[str((name, modules, variant))].as_dict() for variant in VARIANTS}


def tables(result: dict[str, Any]) -> list[Table]:
    """Time of an epoch beside ReLU's, and the other variants beside ours."""
    rows = []
    for filters, own in result["times"].items():
        base = own[0][OURS]["median"]
        for each in own:
            ours = each[OURS]["median"]
            seconds = ours * result["steps"] / 1e3
            others = (f"{each[variant]['median'] / ours:.2f}" for variant in VARIANTS[1:])
            named = (filters, each["activation"], str(each["modules"]))
            rows.append((*named, f"{seconds:,.0f}", f"{ours / base:.2f}", *others))
    first = f"{NETWORKS[0][0]}, {NETWORKS[0][1]} modules"
    headings = ("filters", "activation", "modules", "processor seconds per epoch", f"time / {first}")
    return [
        Table(
            "a training step of the paper's convolutional network, one thread",
            (*headings, "contiguous / ours", "bfloat16 / ours"),
            tuple(rows),
        )
    ]
