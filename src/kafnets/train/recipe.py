"""The defaults of the estimators and of ``kafnets compare``, the same for all activations.

The paper's settings are the defaults of ``Settings``. The stored results have an earlier recipe, that of
``kafnets.paper.wider``.
"""

from typing import Any

from kafnets.train.settings import Settings

HIDDEN = (128, 128, 128)
"""Widths of the hidden layers."""

MEMBERS = 6
"""Networks that the estimators average."""

DROPOUT = 0.15
"""Behind each hidden layer, in the first epoch."""

SCALING = "robust"
"""Of features, by its name in ``kafnets.data.scaling``."""

RECIPE = Settings(
    batch_size="auto",
    epochs=60,
    patience=None,
    learning_rate="auto",
    weight_decay=0.5,
    optimizer="AdamW",
    betas=(0.9, 0.95),
    schedule="coslog4",
    keep="best",
    regularization_schedule="cosine",
    label_smoothing="auto",
)

STARTS: dict[str, dict[str, Any]] = {"kaf": {"base": "mish"}, "kaf2d": {"init": "elu"}}
"""Options of activations that are given none: few rows are learned better from a calm start."""
