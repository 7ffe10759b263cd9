"""Activations by name in timm."""

import functools
from typing import Any

from kafnets.integrations.without_width import without_width
from kafnets.packages import needed_by
from kafnets.registry import find


def register(name: str | None = None, activation: str = "kaf", **options: Any) -> None:
    """Add activations to timm's registry, so that ``act_layer`` can name them.

    Without arguments, all activations of this package that have a name which timm does not know::

        kafnets.integrations.timm.register()
        model = timm.create_model("resnet18", act_layer="kaf")

    With a name, one with options: ``register("kaf_relu", base="relu")`` for models whose pretrained weights
    expect ReLU. Classes and partials need no name: ``act_layer=functools.partial(kafnets.KAF, base="relu")``.
    Timm does not say how many channels there are, so that each layer has one function for all;
    :func:`kafnets.convert` gives one per channel.

    Args:
        name: a new name for one activation. None: all of them under their own names.
        activation: what it stands for.
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
