"""What a network for tables is built from, in numbers and text that a file can hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from kafnets.checks import check_integer
from kafnets.data.splits import Task
from kafnets.networks import Activation, mlp
from kafnets.nn.averaged import Averaged, Link
from kafnets.nn.embedding import EMBEDDINGS
from kafnets.shared_networks import shared_mlp
from kafnets.train.losses import Loss


@dataclass(frozen=True)
class Architecture:
    """What ``kafnets.mlp`` needs to build a network again, or several that are averaged.

    Attributes:
        inputs: the number of features.
        hidden: widths of the hidden layers.
        outputs: of the last layer.
        activation: as for ``kafnets.mlp``.
        options: for the activation.
        dropout: as for ``kafnets.mlp``.
        embeddings: one for each network that is averaged: "kaf" or "periodic" for functions of single
            features behind the features, see :class:`kafnets.nn.KAFEmbedding`; None for the features alone.
        embedded: numbers of the features that have such functions.
        link: what outputs are made of, see :class:`kafnets.nn.Averaged`.
        shared: members of each network, which share its weights, see ``kafnets.shared_mlp``.
    """

    inputs: int
    hidden: Sequence[int]
    outputs: int
    activation: Activation
    options: Mapping[str, Any]
    dropout: tuple[float, ...] | float
    embeddings: tuple[str | None, ...] = (None,)
    embedded: tuple[int, ...] = ()
    link: Link = "identity"
    shared: int = 1

    @classmethod
    def described(cls, content: Mapping[str, Any]) -> Self:
        """From its attributes as JSON gives them back."""
        values: dict[str, Any] = {
            name: tuple(each) if isinstance(each, list) else each for name, each in content.items()
        }
        return cls(**values)

    def build(self, generator: torch.Generator | None = None) -> nn.Module:
        """With initial weights."""
        networks = [self._network(kind, generator) for kind in self.embeddings]
        return networks[0] if len(networks) == 1 else Averaged(networks, self.link)

    def _network(self, embedding: str | None, generator: torch.Generator | None) -> nn.Module:
        first: nn.Module | None = None
        width = self.inputs
        if embedding is not None and self.embedded:
            first = EMBEDDINGS[embedding](self.inputs, self.embedded, generator=generator)
            width = first.out_features
        what = width, self.hidden, self.outputs, self.activation
        options = {"dropout": self.dropout, "generator": generator, **self.options}
        if self.shared > 1:
            return shared_mlp(*what, members=self.shared, link=self.link, first=first, **options)
        network = mlp(*what, **options)
        return network if first is None else nn.Sequential(first, *network)


def embeddings_of(
    embedding: str | Sequence[str | None] | None, members: int, *, shared: bool = False
) -> tuple[str | None, ...]:
    """One for each network that is averaged.

    Args:
        embedding: "kaf", "periodic" or None for all of them, or a sequence of these with one for each;
            "auto": "kaf" for every second one, since networks that see different things have different
            errors.
        members: how many.
        shared: whether they share their weights, and so their embedding.
    """
    check_integer("n_members", members)
    if shared and not (embedding is None or isinstance(embedding, str)):
        raise ValueError(f"embedding must be one for all members with share_weights=True, got {embedding!r}")
    members = 1 if shared else members
    if embedding == "auto":
        return tuple("kaf" if number % 2 else None for number in range(members))
    each = (
        tuple(embedding)
        if isinstance(embedding, Sequence) and not isinstance(embedding, str)
        else (embedding,) * members
    )
    if len(each) != members:
        raise ValueError(f"embedding must have one entry for each of {members} networks, got {len(each)}")
    for one in each:
        if one is not None and one not in EMBEDDINGS:
            raise ValueError(
                f"embedding must be 'auto', {', '.join(map(repr, EMBEDDINGS))} or None, got {one!r}"
            )
    return each


def columns_to_embed(features: NDArray[np.floating]) -> tuple[int, ...]:
    """Numbers of the columns with more than two values: of two, every function is linear."""
    columns = enumerate(np.asarray(features).T)
    return tuple(number for number, column in columns if len(np.unique(column[~np.isnan(column)])) > 2)


def link_of(task: Task, loss: Loss) -> Link:
    """What a network's outputs are made of."""
    if task == "regression":
        return "log" if loss.logarithmic else "identity"
    return "softmax" if task == "multiclass" else "logistic"
