"""Activations by name in transformers, from Hugging Face."""

from typing import Any

from kafnets.integrations.without_width import without_width
from kafnets.packages import needed_by
from kafnets.registry import find


def register(name: str | None = None, activation: str = "kaf", **options: Any) -> None:
    """Add activations to ``ACT2FN``, so that configurations can name them.

    Without arguments, all activations of this package that have a name which transformers does not know::

        kafnets.integrations.transformers.register()
        model = AutoModel.from_config(BertConfig(hidden_act="kaf"))

    With a name, one with options: ``register("kaf_gelu", base="gelu")`` for models whose pretrained weights
    expect GELU, since such a KAF starts as it. Transformers does not say how many features there are, so that
    each layer has one function for all; :func:`kafnets.convert` gives one per channel. A checkpoint without
    the coefficients leaves them at their first values.

    Args:
        name: a new name for one activation. None: all of them under their own names.
        activation: what it stands for.
        options: for the activation.
    """
    with needed_by("kafnets.integrations.transformers"):
        from transformers.activations import ACT2CLS, ACT2FN
    wanted: dict[str, Any] = without_width() if name is None else {name: (find(activation), options)}
    for key, value in wanted.items():
        if key not in ACT2FN or name is not None:
            ACT2FN[key] = ACT2CLS[key] = value
