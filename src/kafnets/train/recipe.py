"""The defaults of the estimators and of ``kafnets compare``, the same for all activations.

The paper's settings are the defaults of ``Settings``. The stored results have an earlier recipe, that of
``kafnets.paper.wider``.
"""

from typing import Any

from kafnets.train.settings import Settings

HIDDEN = (90, 90)
"""Widths of the hidden layers: below 20,000 parameters on Sensorless, with KAFs."""

DROPOUT = 0.15
"""Behind each hidden layer, in the first epoch."""

SCALING = "robust"
"""Of features, by its name in ``kafnets.data.scaling``."""

RECIPE = Settings(
    batch_size="auto",
    epochs=100,
    patience=None,
    learning_rate="auto",
    weight_decay="auto",
    optimizer="AdamW",
    schedule="cosine",
    keep="best",
    regularization_schedule="flat_cosine",
)

STARTS: dict[str, dict[str, Any]] = {"kaf": {"init": "elu"}, "kaf2d": {"init": "elu"}}
"""Options of activations that are given none: few rows are learned better from a calm start."""
