"""What people use on tables, beside networks."""

import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from kafnets import data
from kafnets.comparison.plan import plan
from kafnets.comparison.rivals import KINDS, attempt


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("table", ["wine", "breast_cancer", "diabetes"])
def test_rivals_are_scored_as_networks_are(name: str, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = KINDS[name]
    pytest.importorskip(kind.module)
    splits = data.load(table, scaling="robust")
    if kind.package == "pytabkit":
        monkeypatch.setitem(kind.fixed, "n_epochs", 40)
    found = attempt(kind, kind.values[1], splits, seed=0)
    assert found["parameters"] > 100 or kind.package == "pytabkit"
    assert found["test"]["r2" if table == "diabetes" else "accuracy"] > (0.1 if table == "diabetes" else 0.85)
    assert np.isfinite(found["test"]["loss"])


def test_rivals_run_at_their_defaults_and_tuned(tmp_path: Path) -> None:
    default, tuned = plan("wine", None, ["kaf"], ["boosting"], seeds=1, output=tmp_path).rivals
    assert (default.label, default.values) == ("gradient boosting", (None,))
    assert (tuned.label, tuned.values) == ("gradient boosting tuned", (0.03, 0.1, 0.3))
    assert default.config()["settings"] == {}
    assert tuned.config()["settings"]["max_iter"] == 300
    splits = data.load("wine", scaling="robust")
    model = HistGradientBoostingClassifier(random_state=0)
    model.fit(splits.train.features, splits.train.target)
    accuracy = model.score(splits.test.features, splits.test.target)
    assert attempt(default.kind, None, splits, seed=0)["test"]["accuracy"] == pytest.approx(accuracy)


def test_edge_wise_networks_are_of_the_size_that_is_told() -> None:
    splits = data.load("wine", scaling="robust")
    found = attempt(KINDS["edgewise"], None, splits, seed=0)
    assert found["parameters"] == 32 * (13 * 9 + 1) + 3 * (32 * 9 + 1) + 2 * 32  # and the normalization
    again = attempt(KINDS["edgewise"], 8, splits, seed=0)
    assert again == found
    assert attempt(KINDS["edgewise"], 5, splits, seed=0)["parameters"] < found["parameters"]


def test_a_package_that_is_missing_is_named_before_anything_is_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(ModuleNotFoundError, match="needs the package lightgbm: pip install lightgbm"):
        plan("wine", None, ["kaf"], ["lightgbm"], output=tmp_path)
    monkeypatch.setitem(sys.modules, "catboost", None)
    with pytest.raises(ModuleNotFoundError, match="lightgbm and catboost: pip install lightgbm catboost"):
        plan("wine", None, ["kaf"], ["lightgbm", "forest", "catboost"], output=tmp_path)
    assert not list(tmp_path.iterdir())
