"""Where neurons can be taken out of a model: a linear map, an activation, and the next linear map."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from kafnets.nn.activation import Activation
from kafnets.nn.channels import FUNCTIONAL, function_name
from kafnets.nn.kaf import KernelActivation

MAPS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
"""Linear maps that neurons can be taken out of."""

NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
LINEAR = (nn.Identity, nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.Flatten)
"""What leaves sums sums, in evaluation mode."""
POOLS = (
    *(nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d),
    *(nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveMaxPool1d, nn.AdaptiveMaxPool2d),
)
_FUNCTIONS = ("flatten", "dropout", "max_pool1d", "max_pool2d", "avg_pool2d", "adaptive_avg_pool2d")


@dataclass(frozen=True)
class Site:
    """Names of modules: from the map that makes neurons to the one that takes them."""

    producer: str
    before: tuple[str, ...]
    """Normalizations in front of the activation."""
    activation: str
    behind: tuple[str, ...]
    """Normalizations behind it."""
    consumer: str
    linear: bool
    """Whether nothing between activation and consumer is nonlinear, or depends on more than one value."""


def sites_of(model: nn.Module) -> tuple[list[Site], list[str]]:
    """All of them, and one line for each activation that is none, with the reason."""
    try:
        graph = torch.fx.symbolic_trace(model).graph
    except Exception as error:
        raise ValueError(f"model: torch.fx cannot trace this {type(model).__name__}: {error}") from error
    uses = Counter(node.target for node in graph.nodes if node.op == "call_module")
    sites, refused = [], []
    for node in graph.nodes:
        if _is_activation(_module(model, node)):
            try:
                site = _site(model, node)
                shared = [name for name in _names(site) if uses[name] > 1]
                if shared:
                    raise ValueError(f"{shared[0]!r} is used more than once")
                sites.append(site)
            except ValueError as reason:
                refused.append(f"{node.target}: {reason}")
    return sites, refused


def _names(site: Site) -> tuple[str, ...]:
    return site.producer, *site.before, site.activation, *site.behind, site.consumer


def _module(model: nn.Module, node: Any) -> nn.Module | None:
    return model.get_submodule(node.target) if node.op == "call_module" else None


def _is_activation(module: nn.Module | None) -> bool:
    return isinstance(module, (Activation, nn.PReLU, *FUNCTIONAL.values()))


def _site(model: nn.Module, node: Any) -> Site:
    activation = model.get_submodule(node.target)
    if not isinstance(activation, (KernelActivation, *FUNCTIONAL.values())):
        raise ValueError(f"neurons cannot be removed from a {type(activation).__name__}")
    if isinstance(activation, KernelActivation) and activation.groups > 1 and activation._shares:
        raise ValueError("groups of its neurons share functions")
    before, behind, linear = [], [], True
    source = node.args[0]
    while True:
        _only_use(source)
        module = _module(model, source)
        if isinstance(module, MAPS):
            _check_map(source.target, module)
            break
        if isinstance(module, NORMS):
            before.append(source.target)
        elif not isinstance(module, LINEAR) or isinstance(module, nn.Flatten):
            raise ValueError(f"its input comes from {_called(source)}, not from a linear map")
        source = source.args[0]
    here = node
    while True:
        following = _only_use(here)
        module = _module(model, following)
        if isinstance(module, MAPS):
            _check_map(following.target, module)
            break
        if isinstance(module, NORMS):
            behind.append(following.target)
            linear = False
        elif isinstance(module, POOLS) or _called(following) in _FUNCTIONS:
            linear = linear and _called(following) in ("flatten", "dropout")
        elif not isinstance(module, LINEAR):
            what = "the output" if following.op == "output" else _called(following)
            residual = ", a residual branch" if "add" in what else ""
            raise ValueError(f"its output goes to {what}{residual}, not to a linear map")
        here = following
    count = len(model.get_submodule(source.target).weight) // getattr(activation, "inputs", 1)  # type: ignore[arg-type]
    for name in behind:
        if model.get_submodule(name).num_features != count:
            raise ValueError(f"{name!r} follows a layer that flattens images")
    return Site(source.target, tuple(before), node.target, tuple(behind), following.target, linear)


def _only_use(node: Any) -> Any:
    if len(node.users) != 1:
        raise ValueError(
            f"the output of {_called(node)} goes to {len(node.users)} places, as in residual branches"
        )
    return next(iter(node.users))


def _called(node: Any) -> str:
    return node.target if isinstance(node.target, str) else function_name(node.target)


def _check_map(name: str, module: nn.Module) -> None:
    if getattr(module, "groups", 1) != 1:
        raise ValueError(f"{name!r} is a grouped convolution")
    if hasattr(module, "parametrizations"):
        raise ValueError(f"{name!r} has a parametrized weight")
