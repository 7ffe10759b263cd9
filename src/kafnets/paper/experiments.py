"""The experiments by name, each with the paper's numbers."""

from collections.abc import Callable
from dataclasses import dataclass

from kafnets.comparison.description import Description
from kafnets.paper import cifar10, published, sensorless, susy


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
