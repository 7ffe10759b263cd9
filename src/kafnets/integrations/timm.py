"""Activations by name in timm."""

import functools
from typing import Any

from kafnets.integrations.without_width import without_width
from kafnets.packages import needed_by
from kafnets.registry import find


def register(name: str | None = None, activation: str = "kaf", **options: Any) -> None:
    """Add activations to timm's registry, so that ``act_layer`` can name them.

    Without arguments, it adds all activations of this package whose names timm does not have::

        kafnets.integrations.timm.register()
        model = timm.create_model("resnet18", act_layer="kaf")

    With a name, it adds one activation with options, such as ``register("kaf_relu", base="relu")`` for models
    whose pretrained weights expect ReLU. Classes and partials need no name:
    ``act_layer=functools.partial(kafnets.KAF, base="relu")``. Timm does not specify the number of channels,
    so each layer has one function for all of them; use :func:`kafnets.convert` for one per channel.

    Args:
        name: a new name for one activation. None: all of them under their own names.
        activation: the activation that it stands for.
        options: for the activation.
    """
    with needed_by("kafnets.integrations.timm"):
        from timm.layers import create_act
    known = create_act._ACT_LAYER_DEFAULT
    wanted: dict[str, Any] = without_width()
    if name is not None:
        wanted = {name: functools.partial(find(activation), **options)}
    for key, value in wanted.items():
        if key not in known or name is not None:
            known[key] = value
