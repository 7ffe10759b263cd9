"""Data of one's own: mistakes are told, not trained on."""

from typing import Any

import numpy as np
import pytest
import torch

from kafnets.data import Part, Splits

X = np.random.default_rng(0).normal(size=(30, 4))


def splits(task: Any, target: Any, **others: Any) -> Splits:
    part = Part(X.astype(np.float32), target)
    return Splits("mine", task, part, part, part, **others)


def test_parts_become_what_training_needs() -> None:
    part = Part(X, np.arange(30, dtype=np.int32))  # type: ignore[arg-type]
    assert part.features.dtype == np.float32
    assert part.target.dtype == np.int64
    tensors = Part(torch.zeros(3, 2), torch.ones(3))  # type: ignore[arg-type]
    assert tensors.target.dtype == np.float32
    same = np.zeros((3, 2), dtype=np.float32)
    assert Part(same, np.zeros(3, dtype=np.int64)).features is same


@pytest.mark.parametrize(
    ("features", "target", "error", "message"),
    [
        (X, X[:, :1, None], ValueError, r"the shape \(rows,\) or \(rows, outputs\), got \(30, 1, 1\)"),
        (X, X[:20, 0], ValueError, "features have 30 rows, but target has 20"),
        (X, np.array(["a"] * 30), TypeError, "target must be numbers, got <U1"),
    ],
)
def test_parts_that_do_not_fit(features: Any, target: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Part(features, target)


def test_tasks_and_classes() -> None:
    labels = np.arange(30) % 3
    assert splits("multiclass", labels).classes == ("0", "1", "2")
    assert splits("multiclass", labels).outputs == 3
    assert splits("multiclass", labels, classes=("a", "b", "c", "d")).outputs == 4
    assert splits("binary", labels % 2).classes == ("0", "1")
    assert splits("regression", X[:, 0]).classes == ()
    with pytest.raises(
        ValueError, match="task must be binary, multiclass, multilabel or regression, got 'classification'"
    ):
        splits("classification", labels)
    with pytest.raises(ValueError, match="target of train must be class numbers from 0 to 1, got -1 to 1"):
        splits("binary", 2 * (labels % 2) - 1)
    with pytest.raises(ValueError, match="class numbers from 0 to 1, got 0 to 2"):
        splits("multiclass", labels, classes=("a", "b"))
    with pytest.raises(TypeError, match="target of train must be class numbers, integers ≥ 0, got float32"):
        splits("binary", X[:, 0])
    with pytest.raises(ValueError, match="classes must be two for task='binary', got 3"):
        splits("binary", labels, classes=("a", "b", "c"))
