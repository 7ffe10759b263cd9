"""Penalties, and parameter groups for weight decay and learning rates.

A module declares the type of its parameters in class attributes, all tuples of names:
``mixing_parameters`` (coefficients of an expansion, with the first axis over neurons), ``l2_parameters``
(weight decay applies, but no penalty that drives single ones to 0) and ``undecayed_parameters``. All others
follow the usual rule: weight decay applies to matrices and filters, but not to biases, normalization weights
and slopes, which have one axis or none.
"""

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from kafnets.nn.activation import Activation
from kafnets.registry import Facts


def penalty(model: nn.Module, p: int = 1, *, group: bool = False) -> Tensor:
    r"""A penalty on all mixing coefficients of a model, to be added to a loss.

    >>> model = kafnets.mlp(8, (16, 16), 1, "kaf")
    >>> loss = model(torch.randn(5, 8)).square().mean() + 1e-4 * kafnets.penalty(model, p=2, group=True)

    Args:
        model: any module that contains ours, at any depth. Shared modules count once.
        p: 1 for :math:`\sum |\alpha|`, which drives single coefficients to 0; 2 for
            :math:`\sum \alpha^2`, which also includes parameters with an :math:`\ell_2` penalty only, those
            of APL and PELU.
        group: one group per neuron, :math:`\sum_n \|\alpha_n\|_2`, which drives all coefficients of a neuron
            to 0 together and thereby switches it off. Requires ``p=2``.

    Returns:
        A scalar tensor, 0 for a model without mixing coefficients.
    """
    if p not in (1, 2):
        raise ValueError(f"p must be 1 or 2, got {p!r}")
    if group and p != 2:
        raise ValueError("group=True needs p=2: with p=1 a group's norm is the sum of its members'")
    total: Tensor | None = None
    for alpha in mixing_coefficients(model, with_l2=p == 2 and not group):
        if group:
            # The norm has no derivative at 0, where torch gives 0, a subgradient: a neuron that is
            # off stays off.
            term = torch.linalg.vector_norm(alpha.reshape(len(alpha), -1), dim=1).sum()
        else:
            # Coefficients may be complex.
            term = alpha.abs().sum() if p == 1 else alpha.abs().square().sum()
        total = term if total is None else total + term.to(total.device)
    return torch.zeros(()) if total is None else total


def distance_from_start(model: nn.Module) -> Tensor:
    r"""Penalty on the distance from the initial knots, :math:`\sum (q - q_{start})^2`, for splines.

    Weight decay does not apply to them (Scardapane et al., 2016). The sum is over all modules with a method
    ``distance_from_start``. Shared modules count once; the penalty is 0 for a model without any.

    >>> model = nn.Sequential(nn.Linear(3, 8), kafnets.SAF(8), nn.Linear(8, 1))
    >>> kafnets.distance_from_start(model).item()
    0.0
    """
    total: Tensor | None = None
    for module in model.modules():
        if callable(distance := getattr(module, "distance_from_start", None)):
            term = distance()
            total = term if total is None else total + term.to(total.device)
    return torch.zeros(()) if total is None else total


def param_groups(
    model: nn.Module,
    *,
    weight_decay: float,
    mixing_decay: float | None = None,
    lr: float | None = None,
    activation_lr: float = 1.0,
) -> list[dict[str, Any]]:
    """Group a model's trainable parameters by the weight decay that applies to them, for any optimizer.

    >>> model = nn.Sequential(nn.Linear(3, 8), kafnets.KAF(8), nn.Linear(8, 1))
    >>> groups = kafnets.param_groups(model, weight_decay=1e-4, mixing_decay=1e-5)
    >>> [(group["name"], group["weight_decay"], len(group["params"])) for group in groups]
    [('weights', 0.0001, 2), ('mixing', 1e-05, 1), ('undecayed', 0.0, 2)]

    Each parameter is in exactly one group, in the order of ``model.parameters()``. Empty groups are omitted.

    Args:
        model: any module.
        weight_decay: for the weights of linear maps, convolutions and embeddings.
        mixing_decay: for mixing coefficients. None: as ``weight_decay``.
        lr: the learning rate, stored in the groups. None: the optimizer's own. Schedulers multiply the
            learning rate of each group, so that the ratio is preserved.
        activation_lr: a factor on it for all parameters of activations of this package: coefficients,
            bandwidths, weights of bases, slopes of ``kafnets.PReLU``. It needs ``lr``.

    Returns:
        Groups named "weights", "mixing" and "undecayed". The last one, with decay 0, contains biases,
        normalization weights, slopes of PReLU, bandwidths, and all others with fewer than two axes. With an
        ``activation_lr`` other than 1, those among them that are part of activations are in "activations",
        and the linear maps inside ``kafnets.NetworkInNetwork`` in "activation_weights".
    """
    _check_rates(lr, activation_lr)
    mixing = weight_decay if mixing_decay is None else mixing_decay
    for name, decay in (("weight_decay", weight_decay), ("mixing_decay", mixing)):
        if not decay >= 0:
            raise ValueError(f"{name} must be a number ≥ 0, got {decay}")
    decays = {
        "weights": weight_decay,
        "activation_weights": weight_decay,
        "mixing": mixing,
        "undecayed": 0.0,
        "activations": 0.0,
    }
    members: dict[str, list[nn.Parameter]] = {group: [] for group in decays}
    own = set() if activation_lr == 1 else _parts_of_activations(model)
    seen: set[nn.Parameter] = set()
    for module in model.modules():
        for name, parameter in module.named_parameters(recurse=False):
            if parameter.requires_grad and parameter not in seen:
                seen.add(parameter)
                group = _group_of(module, name, parameter)
                members[_OF_ACTIVATIONS[group] if module in own else group].append(parameter)
    factors = {group: activation_lr if group in _OF_ACTIVATIONS.values() else 1.0 for group in decays}
    return [
        {"name": group, "params": parameters, "weight_decay": decays[group]}
        | ({} if lr is None else {"lr": lr * factors[group]})
        for group, parameters in members.items()
        if parameters
    ]


_OF_ACTIVATIONS = {"weights": "activation_weights", "mixing": "mixing", "undecayed": "activations"}
"""The groups of parameters of activations, by what the groups would be else."""


def _check_rates(lr: float | None, activation_lr: float) -> None:
    for name, rate in (("lr", lr), ("activation_lr", activation_lr)):
        if rate is not None and not (math.isfinite(rate) and rate > 0):
            raise ValueError(f"{name} must be a positive finite number, got {rate}")
    if lr is None and activation_lr != 1:
        raise ValueError(
            f"activation_lr={activation_lr} is a factor on the learning rate, so it needs lr: "
            f"param_groups(..., lr=1e-3, activation_lr={activation_lr})"
        )


def _parts_of_activations(model: nn.Module) -> set[nn.Module]:
    """The activations of this package, and what is inside them.

    Layers that bring the network's own linear map, such as Maxout, count without that map.
    """
    found: set[nn.Module] = set()
    for module in model.modules():
        if isinstance(module, Activation):
            found.update(module.modules())
        elif isinstance(getattr(module, "facts", None), Facts):
            found.add(module)
    return found


def _group_of(module: nn.Module, name: str, parameter: nn.Parameter) -> str:
    if name in (*getattr(module, "mixing_parameters", ()), *getattr(module, "l2_parameters", ())):
        return "mixing"
    if name in getattr(module, "undecayed_parameters", ()):
        return "undecayed"
    return "undecayed" if parameter.dim() < 2 or name.startswith("bias") else "weights"


def mixing_coefficients(model: nn.Module, *, with_l2: bool) -> Iterator[nn.Parameter]:
    """Each once."""
    seen: set[nn.Parameter] = set()
    for module in model.modules():
        l2_parameters = getattr(module, "l2_parameters", ()) if with_l2 else ()
        for name in (*getattr(module, "mixing_parameters", ()), *l2_parameters):
            parameter = getattr(module, name)
            if parameter not in seen:
                seen.add(parameter)
                yield parameter
