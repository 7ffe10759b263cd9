"""Activations by name in transformers, from Hugging Face."""

from typing import Any

from kafnets.integrations.without_width import without_width
from kafnets.packages import needed_by
from kafnets.registry import find


def register(name: str | None = None, activation: str = "kaf", **options: Any) -> None:
    """Add activations to ``ACT2FN``, so that configurations can name them.

    Without arguments, it adds all activations of this package whose names transformers does not have::

        kafnets.integrations.transformers.register()
        model = AutoModel.from_config(BertConfig(hidden_act="kaf"))

    With a name, it adds one activation with options, such as ``register("kaf_gelu", base="gelu")`` for models
    whose pretrained weights expect GELU, since such a KAF is initialized as GELU. Transformers does not
    specify the number of features, so each layer has one function for all of them; use
    :func:`kafnets.convert` for one per channel. If a checkpoint lacks the coefficients, they keep their
    initial values.

    Args:
        name: a new name for one activation. None: all of them under their own names.
        activation: the activation that it stands for.
        options: for the activation.
    """
    with needed_by("kafnets.integrations.transformers"):
        from transformers.activations import ACT2CLS, ACT2FN
    wanted: dict[str, Any] = without_width() if name is None else {name: (find(activation), options)}
    for key, value in wanted.items():
        if key not in ACT2FN or name is not None:
            ACT2FN[key] = ACT2CLS[key] = value
