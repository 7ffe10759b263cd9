"""Estimators and comparisons whose members share weights."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kafnets
from kafnets.nn import KAFEmbedding, SharedMembers
from kafnets.sklearn import KafnetClassifier, KafnetRegressor

FEW: dict[str, Any] = {
    "hidden": (32, 32), "n_members": 4, "share_weights": True, "epochs": 60, "random_state": 0, "verbose": 0,
}  # fmt: skip


@pytest.fixture
def rows() -> tuple[np.ndarray, np.ndarray]:
    features = np.random.default_rng(0).uniform(-2, 2, (400, 3))
    return features, np.sin(2 * features[:, 0]) + features[:, 1] ** 2


@pytest.mark.parametrize("classes", [2, 3])
def test_a_classifier_learns_with_shared_weights(rows: Any, classes: int, tmp_path: Path) -> None:
    features, value = rows
    target = np.searchsorted(np.quantile(value, np.linspace(0, 1, classes + 1)[1:-1]), value)
    model = KafnetClassifier(**FEW).fit(features, target)
    assert isinstance(model.module_, SharedMembers)
    assert model.score(features, target) > 0.9
    predictor = model.to_predictor()
    predictor.save(tmp_path / "model")
    again = kafnets.Predictor.load(tmp_path / "model")
    np.testing.assert_allclose(
        again.predict_proba(features), model.predict_proba(features), rtol=1e-5, atol=1e-6
    )
    with pytest.raises(ValueError, match="file holds one network"):
        predictor.export(tmp_path / "model.c")


def test_a_regressor_learns_with_shared_weights_and_an_embedding(rows: Any) -> None:
    features, target = rows
    model = KafnetRegressor(**FEW, embedding="kaf").fit(features, target)
    assert isinstance(model.module_.first, KAFEmbedding)
    assert model.score(features, target) > 0.9


def test_members_with_shared_weights_have_one_embedding(rows: Any) -> None:
    with pytest.raises(ValueError, match="embedding must be one for all members with share_weights=True"):
        KafnetRegressor(**FEW, embedding=(None, "kaf", None, "kaf")).fit(*rows)


def test_a_comparison_shares_weights_and_resumes(rows: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame(rows[0], columns=list("abc")).assign(y=rows[1])
    options: dict[str, Any] = {
        "activations": ["kaf"], "seeds": 1, "hidden": (8,), "epochs": 2, "n_members": 4, "output": tmp_path,
        "progress": False,
    }  # fmt: skip
    shared = kafnets.compare(frame, "y", share_weights=True, **options)
    assert isinstance(shared.best.model, SharedMembers)
    again = kafnets.compare(frame, "y", share_weights=True, **options)
    assert [each.test for each in again.runs] == [each.test for each in shared.runs]
    separate = kafnets.compare(frame, "y", **options)
    assert separate.folder != shared.folder
    assert "share_weights" not in separate.runs[0].config
