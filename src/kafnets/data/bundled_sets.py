"""The small data sets that come with scikit-learn."""

import functools
from typing import Any

import numpy as np

from kafnets.data.dataset import DataSet
from kafnets.data.splits import (
    Splits,
    classification_splits,
    digest_of,
    random_rows,
    regression_splits,
    stratified_rows,
)

SHARES = (0.70, 0.15, 0.15)


def load(name: str, seed: int = 0, scaling: str = "range") -> Splits:
    """One of them, divided 70/15/15 at random by the seed, each class alike."""
    from sklearn import datasets

    bunch: Any = getattr(datasets, f"load_{name}")()
    features = bunch.data.astype(np.float32)
    generator = np.random.default_rng(seed)
    about = {"digest": digest_of(bunch.data, bunch.target), "scaling": scaling}
    if not hasattr(bunch, "target_names"):
        rows = random_rows(len(features), SHARES, generator)
        return regression_splits(name, features, bunch.target.astype(np.float64), rows, **about)
    labels = bunch.target.astype(np.int64)
    classes = tuple(np.asarray(bunch.target_names).tolist())
    rows = stratified_rows(labels, SHARES, generator)
    return classification_splits(name, features, labels, rows, classes, **about)


SETS = tuple(
    DataSet(
        name,
        functools.partial(load, name),
        rows,
        description,
        "not stated by scikit-learn, whose code is under BSD-3-Clause",
        source,
        "scikit-learn",
    )
    for name, rows, description, source in (
        ("digits", 1797, "handwritten digits; 64 features, 10 classes", "UCI data set 80, its test part"),
        ("wine", 178, "wines of three growers; 13 features, 3 classes", "UCI data set 109"),
        ("breast_cancer", 569, "breast tumors; 30 features, 2 classes", "UCI data set 17"),
        ("iris", 150, "irises; 4 features, 3 classes", "UCI data set 53"),
        ("diabetes", 442, "diabetes progression; 10 features, regression", "Efron et al., 2004"),
    )
)
