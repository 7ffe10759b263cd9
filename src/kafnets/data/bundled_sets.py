"""The small data sets that come with scikit-learn."""

from typing import Any

import numpy as np

from kafnets.data.splits import (
    Splits,
    classification_splits,
    digest_of,
    random_rows,
    regression_splits,
    stratified_rows,
)

NAMES = ("digits", "wine", "breast_cancer", "iris", "diabetes")
SHARES = (0.70, 0.15, 0.15)


def load(name: str, seed: int = 0, scaling: str = "range") -> Splits:
    """One of them, divided 70/15/15 at random by the seed, each class alike."""
    from sklearn import datasets

    bunch: Any = getattr(datasets, f"load_{name}")()
    features = bunch.data.astype(np.float32)
    generator = np.random.default_rng(seed)
    digest = digest_of(bunch.data, bunch.target)
    if not hasattr(bunch, "target_names"):
        target = bunch.target.astype(np.float64)
        return regression_splits(
            name,
            features,
            target,
            random_rows(len(target), SHARES, generator),
            digest=digest,
            scaling=scaling,
        )
    labels = bunch.target.astype(np.int64)
    classes = tuple(np.asarray(bunch.target_names).tolist())
    rows = stratified_rows(labels, SHARES, generator)
    return classification_splits(name, features, labels, rows, classes, digest=digest, scaling=scaling)
