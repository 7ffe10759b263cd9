"""The experiments by name, each with the paper's numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kafnets.comparison.description import Description
from kafnets.comparison.record import Record
from kafnets.comparison.runner import Runnable
from kafnets.paper import cifar10, published, rl, sensorless, susy, wider


@dataclass(frozen=True)
class Experiment:
    """One section of the paper.

    Attributes:
        activations: those that the paper has.
        descriptions: makes the runs from profile, activations, numbers of layers and number of seeds.
        published: the paper's numbers.
    """

    activations: tuple[str, ...]
    descriptions: Callable[..., list[Description]]
    published: published.Table


EXPERIMENTS = {
    "sensorless": Experiment(sensorless.ACTIVATIONS, sensorless.descriptions, published.SENSORLESS),
    "susy": Experiment(susy.ACTIVATIONS, susy.descriptions, published.SUSY),
    "cifar10": Experiment(cifar10.ACTIVATIONS, cifar10.descriptions, published.CIFAR10),
}


def describe(record: Record) -> Runnable:
    """The run that its experiment describes under the record's names, whatever the record's settings are."""
    config = record.config
    one: Sequence[Any]
    if record.experiment in EXPERIMENTS:
        one = EXPERIMENTS[record.experiment].descriptions(
            record.profile, [record.label], [len(record.hidden)], seeds=1
        )
    elif record.experiment == "rl":
        one = rl.descriptions([config["environment"]], [record.label], config["steps"], seeds=1)
    elif record.experiment == "wider":
        one = wider.descriptions([config["data"]], [record.label], seeds=1)
    else:
        raise ValueError(
            f"no experiment is called {record.experiment!r}: there are {', '.join(EXPERIMENTS)}, rl and wider"
        )
    described: Runnable = replace(one[0], seed=record.seed)
    return described
