"""Ensembles of trees, from scikit-learn, as rivals of networks."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kafnets.data.splits import Part, Splits
from kafnets.train import metrics

SMALLEST = 1e-12
"""Of a probability: a forest that is certain and wrong would have an infinite loss."""

GRIDS: dict[str, tuple[str, tuple[float, ...]]] = {
    "random forest": ("max_features", (0.1, 0.3, 1.0)),
    "gradient boosting": ("learning_rate", (0.03, 0.1, 0.3)),
}
"""By label: what is tuned, and the values that are tried."""

FIXED: dict[str, dict[str, Any]] = {
    "random forest": {},
    # Without holding out rows to stop by, as it would on long tables, and for three times as long as usual.
    "gradient boosting": {"max_iter": 300, "early_stopping": False},
}
"""By label: other settings that are not scikit-learn's defaults."""


def attempt(label: str, value: float, splits: Splits, seed: int) -> dict[str, Any]:
    """Grow one ensemble on the training part. Its parameters are counted as nodes."""
    model = _model(label, splits.task, {GRIDS[label][0]: value}, seed)
    model.fit(splits.train.features, splits.train.target)
    return {
        "validation": _scores(model, splits, splits.validation),
        "test": _scores(model, splits, splits.test),
        "parameters": _nodes(model),
    }


def _model(label: str, task: str, options: dict[str, float], seed: int) -> Any:
    from sklearn import ensemble

    kinds = {
        ("random forest", True): ensemble.RandomForestRegressor,
        ("random forest", False): ensemble.RandomForestClassifier,
        ("gradient boosting", True): ensemble.HistGradientBoostingRegressor,
        ("gradient boosting", False): ensemble.HistGradientBoostingClassifier,
    }
    return kinds[label, task == "regression"](random_state=seed, **FIXED[label], **options)


def _scores(model: Any, splits: Splits, part: Part) -> dict[str, float]:
    outputs = _outputs(model, splits.task, part.features)
    return metrics.scores(splits.task, torch.from_numpy(outputs), torch.from_numpy(part.target))


def _outputs(model: Any, task: str, features: NDArray[np.float32]) -> NDArray[np.float64]:
    """What a network would give: logarithms of odds, or a number."""
    if task == "regression":
        found: NDArray[np.float64] = model.predict(features)[:, None]
        return found
    logarithms = np.log(np.clip(model.predict_proba(features), SMALLEST, 1))
    return logarithms[:, 1:] - logarithms[:, :1] if task == "binary" else logarithms


def _nodes(model: Any) -> int:
    if hasattr(model, "estimators_"):
        return sum(tree.tree_.node_count for tree in model.estimators_)
    return sum(len(tree.nodes) for trees in model._predictors for tree in trees)
