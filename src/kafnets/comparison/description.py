"""The description of one run: data, network and seed."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import torch
from torch import nn

from kafnets import data
from kafnets.comparison import prepared, supervised
from kafnets.data.splits import Splits
from kafnets.kernels import Gaussian
from kafnets.networks import cnn, edgewise_mlp
from kafnets.train.architecture import Architecture, columns_to_embed, embeddings_of, link_of
from kafnets.train.loop import Progress
from kafnets.train.processes import Processes, processes_for
from kafnets.train.runs import RunFolder
from kafnets.train.settings import Settings

P = TypeVar("P")

PLAIN = {"scaling": "range", "members": 1, "share_weights": False, "embedding": None}
"""What configs do not name, since there was nothing else when the first were stored."""


@dataclass(frozen=True)
class Description:
    """Everything that a result depends on.

    Attributes:
        experiment: its name.
        profile: "paper", or the name of a smaller setting.
        label: the name of the activation in tables.
        data: the name of the data set or table.
        activation: a registered name.
        hidden: widths of the hidden layers; for a convolutional network, filters of its modules.
        seed: of the division of the data, the initial weights, and everything random in training.
        options: for the activation.
        dropout: after each hidden layer.
        scaling: of features: "range" or "robust", see ``kafnets.data.load``.
        frozen: whether the activation's own parameters are not trained.
        members: networks for rows of features whose predictions are averaged.
        share_weights: whether they are one network with shared weights.
        embedding: learned functions of single features, see ``kafnets.sklearn.KafnetClassifier``.
        network: "mlp" for rows of features, "cnn" for images, "edgewise" for rows of features, with one
            function per connection instead of the activation.
        table: for a table, how it is read: its target, task and columns to drop.
        settings: of training.
        prepared: for a table, the folder that holds its divisions, see ``kafnets.comparison.prepared``. No
            result depends on it.
    """

    experiment: str
    profile: str
    label: str
    data: str
    activation: str
    hidden: tuple[int, ...]
    seed: int
    options: dict[str, Any] = field(default_factory=dict)
    dropout: tuple[float, ...] = ()
    frozen: bool = False
    network: Literal["mlp", "cnn", "edgewise"] = "mlp"
    table: dict[str, Any] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    scaling: str = "range"
    prepared: Path | None = None
    members: int = 1
    share_weights: bool = False
    embedding: str | None = None

    @property
    def folder(self) -> Path:
        """Where its run folder is, below the folder of results."""
        layers = f"{len(self.hidden)}x{self.hidden[0]}" if self.hidden else "linear"
        return (
            Path(self.experiment)
            / self.profile
            / f"{self.label}-{layers}".replace(" ", "_")
            / f"seed-{self.seed}"
        )

    def config(self) -> dict[str, Any]:
        """For the run folder.

        The paper's scaling is not told, nor its divisor in the rule of thumb for bandwidths, nor that one
        network has no embedding: configs that were stored before there were others do not name them.
        """
        if not self.settings.named:
            told = self.settings.describe()
            raise ValueError(
                "optimizer and schedule must be names, so that a run folder records its settings, "
                f"got {told['optimizer']!r} and {told['schedule']!r}: kafnets.train.fit takes functions"
            )
        config = asdict(self) | {"settings": self.settings.describe()}
        del config["prepared"]
        for name, plain in PLAIN.items():
            if config[name] == plain:
                del config[name]
        kernel = config["options"].get("kernel")
        if isinstance(kernel, dict) and kernel.get("divisor") == Gaussian.divisor:
            del kernel["divisor"]
        return config

    def load(self) -> Splits:
        """The data."""
        if self.prepared is not None:
            return prepared.load(prepared.path_of(self.prepared, self.seed))
        return data.load(self.data, self.seed, self.scaling)

    def architecture(self, splits: Splits) -> Architecture:
        """Of a network for rows of features."""
        embeddings = embeddings_of(self.embedding, self.members, shared=self.share_weights)
        return Architecture(
            splits.inputs,
            self.hidden,
            splits.outputs,
            self.activation,
            self.options,
            self.dropout or 0.0,
            embeddings,
            columns_to_embed(splits.train.features) if any(embeddings) else (),
            link_of(splits.task, self.settings.numbers),
            self.members if self.share_weights else 1,
        )

    def build(self, splits: Splits) -> nn.Module:
        """The network, with its initial weights."""
        generator = torch.Generator().manual_seed(self.seed)
        network: nn.Module
        if self.network == "cnn":
            channels, *size = splits.train.features.shape[1:]
            network = cnn(
                channels,
                (size[0], size[1]),
                len(self.hidden),
                splits.outputs,
                self.activation,
                filters=self.hidden[0],
                dropout=self.dropout or 0.0,
                generator=generator,
                **self.options,
            )
        elif self.network == "edgewise":
            # As it was when the first of these runs were stored: configs do not name what is not changed.
            earlier: dict[str, Any] = {"input_boundary": 1.0, "base": None, "normalize_from": 1}
            network = edgewise_mlp(
                splits.inputs, self.hidden, splits.outputs, generator=generator, **earlier | self.options
            )
        else:
            network = self.architecture(splits).build(generator)
        if self.frozen:
            for module in network.modules():
                if hasattr(module, "facts"):
                    module.requires_grad_(False)
        return network

    def processes(self) -> Processes:
        """Those that share the run."""
        return processes_for(self.settings)

    def train(
        self, folder: RunFolder, processes: Processes, progress: Progress | None, tensorboard: bool
    ) -> None:
        """Carry it out."""
        splits = self.load()
        model = self.build(splits)
        supervised.train(model, splits, self.settings, self.seed, folder, processes, progress, tensorboard)


def chosen(profiles: Mapping[str, P], name: str) -> P:
    """The profile of that name."""
    if name not in profiles:
        raise ValueError(f"profile must be one of {', '.join(profiles)}, got {name!r}")
    return profiles[name]


def with_seeds(one: Description, seeds: int) -> list[Description]:
    """The same run with seeds from 0."""
    return [replace(one, seed=seed) for seed in range(seeds)]
