"""Networks whose members share the weights of their linear maps."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from kafnets.checks import check_integer
from kafnets.networks import Activation, hidden_layers, linear_maps
from kafnets.nn.averaged import Link
from kafnets.nn.shared_members import MemberLinear, SharedMembers


def shared_mlp(
    inputs: int,
    hidden: Sequence[int] = (128, 128, 128),
    outputs: int = 1,
    activation: Activation = "kaf",
    *,
    members: int = 8,
    link: Link = "identity",
    passes: int | None = None,
    first: nn.Module | None = None,
    dropout: float | Sequence[float] = 0.0,
    generator: torch.Generator | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
    **options: Any,
) -> nn.Module:
    """Several fully connected networks with shared weights, whose predictions are averaged.

    Each member has its own activations, biases, and scales of the inputs of each linear map. The scales of
    the features start with random signs, so that members start from different functions; the others start
    at 1.

    >>> net = kafnets.shared_mlp(18, (128, 128), 3, "kaf", members=8, link="softmax", base="mish")
    >>> net.eval()(torch.randn(5, 18)).shape
    torch.Size([5, 3])
    >>> net.train()(torch.randn(5, 18)).shape  # each row is given to a quarter of the members
    torch.Size([2, 5, 3])

    Args:
        inputs: the number of features; with ``first``, of those that it gives.
        hidden: as for :func:`mlp`, widths of one member.
        outputs: of one member.
        activation: as for :func:`mlp`; it must not mix the features of different members.
        members: number of members.
        link: the meaning of outputs, which decides how they are averaged, as in
            :class:`kafnets.nn.Averaged`.
        passes: number of members that are trained with each row, see :class:`kafnets.nn.SharedMembers`.
            None: a quarter of them.
        first: a module that is applied to the inputs once, for all members, such as
            :class:`kafnets.nn.KAFEmbedding`.
        dropout: as for :func:`mlp`.
        generator: for random initial values; None: torch's default one.
        device: of the parameters.
        dtype: of the parameters.
        options: for the activation.
    """
    for name, value in (("inputs", inputs), ("outputs", outputs), ("members", members)):
        check_integer(name, value)
    shape = inputs, [hidden] if isinstance(hidden, int) else list(hidden), outputs
    surroundings = {"dim": -1, "generator": generator, "device": device, "dtype": dtype}
    network = _side_by_side(*shape, activation, members, surroundings, options, dropout)
    _check_apart(network, inputs, members, activation)
    scale = next(each for each in network.modules() if isinstance(each, MemberLinear)).scale
    with torch.no_grad():
        scale.copy_(torch.randint(2, scale.shape, generator=generator) * 2 - 1)
    passes = -(-members // 4) if passes is None else passes
    return SharedMembers(network, members, link, first=first, passes=passes)


def _side_by_side(
    inputs: int,
    hidden: Sequence[int],
    outputs: int,
    activation: Activation,
    members: int,
    surroundings: dict[str, Any],
    options: dict[str, Any],
    dropout: float | Sequence[float],
) -> nn.Sequential:
    """All members, whose features are neighbors, so that activations need not know of them."""
    place = {name: surroundings[name] for name in ("device", "dtype")}
    of_one = linear_maps(MemberLinear, "he", surroundings["generator"], members=members, **place)

    def linear(before: int, after: int) -> nn.Module:
        return of_one(before // members, after // members)

    widths = [each * members for each in hidden]
    layers, width = hidden_layers(
        inputs * members, widths, activation, linear, surroundings, options, dropout=dropout
    )
    return nn.Sequential(*layers, linear(width, outputs * members))


def _check_apart(network: nn.Sequential, inputs: int, members: int, activation: Activation) -> None:
    """Raise if the outputs of other members change with the inputs of the first one."""
    weight = next(network.parameters())
    if weight.is_meta:
        return
    rows = torch.linspace(-2, 2, 5 * inputs * members, device=weight.device, dtype=weight.dtype)
    rows = rows.view(inputs * members, 5).T.contiguous()
    changed = rows.clone()
    changed[:, :inputs] = rows[:, :inputs].flip(0)
    with torch.no_grad():
        before, after = (network.eval()(each).unflatten(1, (members, -1))[:, 1:] for each in (rows, changed))
    network.train()
    if not torch.allclose(before, after, equal_nan=True):
        raise ValueError(
            f"activation {activation!r} mixes the neurons of members that share weights: choose another, or "
            "separate networks"
        )
