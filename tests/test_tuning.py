"""``kafnets.tune``: budgets, resuming, what comes out."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone

import kafnets
from kafnets.sklearn import KafnetClassifier, KafnetRegressor
from kafnets.train.search import Budget, arguments_of, best_of, search

FEW = 4
SMALL = KafnetClassifier((8,), epochs=3, random_state=0)


def rows(count: int = 120) -> tuple[pd.DataFrame, Any]:
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({"x": generator.normal(size=count), "city": generator.choice(["a", "b"], count)})
    return frame, np.where((frame["x"] > 0) & (frame["city"] == "a"), "yes", "no")


def test_trials_are_resumed_and_the_best_is_fitted(tmp_path: Path) -> None:
    table, y = rows()
    first = kafnets.tune(table, y, "2 trials", estimator=SMALL, output=tmp_path, progress=False)
    more = kafnets.tune(table, y, FEW, estimator=SMALL, output=tmp_path, progress=False)
    assert more.folder == first.folder
    assert more.tried[:2] == first.tried
    trials = more.trials
    assert trials.index.tolist() == list(range(FEW))
    assert trials["learning_rate"].isna().tolist() == [True] + [False] * (FEW - 1)  # first, as it is
    assert trials["width"].dropna().nunique() == FEW - 1
    assert more.score == trials["score"].max()
    assert {name: more.best.get_params()[name] for name in more.parameters} == more.parameters
    assert more.best.predict(table).shape == (120,)
    again = kafnets.tune(table, y, FEW, estimator=SMALL, output=tmp_path, progress=False)
    assert again.tried == more.tried
    np.testing.assert_array_equal(again.best.predict_proba(table), more.best.predict_proba(table))
    other = kafnets.tune(
        table.assign(x=0.5 * table["x"]), y, 1, estimator=SMALL, output=tmp_path, progress=False
    )
    assert other.folder != more.folder  # other data
    assert other.parameters == {}


def test_a_budget_of_time_and_tasks(tmp_path: Path) -> None:
    table, y = rows()
    numbers = table["x"].to_numpy()
    quick = KafnetRegressor((4,), epochs=1, loss="absolute_error")
    found = kafnets.tune(table, numbers, "0.1s", estimator=quick, output=tmp_path, progress=False)
    assert len(found.tried) >= 1
    assert found.score == -min(each.loss for each in found.tried)
    for target, task, wanted in (
        (numbers, None, True),
        (y, None, False),
        (np.arange(120), None, True),
        (np.arange(120) % 5, None, False),
        (np.arange(120) % 5, "regression", True),
    ):
        assert kafnets.tuning._is_regression(target, task) == wanted


def test_interrupted_and_diverged_trials(tmp_path: Path) -> None:
    calls = 0

    def tried(arguments: dict[str, Any]) -> tuple[float, float]:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        if calls == 3:
            raise FloatingPointError("the loss became nan")
        return float(calls), 0.0

    def once() -> Any:
        return search(tmp_path / "trials", Budget.of(4), tried, activation="relu", progress=False)

    with pytest.raises(KeyboardInterrupt):
        once()
    trials = once()
    assert [each.score for each in trials] == [1.0, None, 4.0, 5.0]
    assert best_of(trials).score == 5.0
    assert "base" not in trials[-1].parameters
    assert once() == trials
    assert calls == 5


def test_the_space_is_what_estimators_take() -> None:
    point = {"width": 40, "depth": 3, "learning_rate": 0.01, "weight_decay": 0.1, "dropout": 0.2}
    found = arguments_of(point | {"base": "mish", "dictionary_size": 12})
    assert found["hidden"] == (40, 40, 40)
    assert found["activation_options"] == {"base": "mish", "dictionary_size": 12}
    assert "init" in arguments_of(point | {"base": "none", "dictionary_size": 12})["activation_options"]
    assert KafnetClassifier().set_params(**found).get_params()["dropout"] == 0.2
    assert arguments_of({}) == {}


@pytest.mark.parametrize(
    ("given", "trials", "seconds"),
    [("10min", None, 600), ("1.5 h", None, 5400), ("90s", None, 90), ("20 trials", 20, None), (7, 7, None)],
)
def test_budgets(given: Any, trials: int | None, seconds: float | None) -> None:
    assert Budget.of(given) == Budget(trials, seconds)


@pytest.mark.parametrize("given", ["ten minutes", "0 trials", "1.5 trials", 0, True, None, "-3s", "0s"])
def test_budgets_that_are_none(given: Any) -> None:
    with pytest.raises(ValueError, match="budget must be, for example, '10min'"):
        kafnets.tune(np.zeros((3, 1)), [0, 1, 0], given)


def test_a_sequence_of_embeddings_gives_trials_the_first(tmp_path: Path) -> None:
    table, y = rows()
    several = clone(SMALL).set_params(n_members=2, embedding=("kaf", None))
    found = kafnets.tune(table, y, 1, estimator=several, output=tmp_path, progress=False)
    first = clone(SMALL).set_params(n_members=1, embedding="kaf")
    alone = kafnets.tune(table, y, 1, estimator=first, output=tmp_path, progress=False)
    assert (found.score, found.tried[0].loss) == (alone.score, alone.tried[0].loss)
    assert found.best.embedding == ("kaf", None)


def test_mistakes(tmp_path: Path) -> None:
    table, y = rows(20)
    with pytest.raises(TypeError, match="estimator must be a KafnetClassifier or KafnetRegressor"):
        kafnets.tune(table, y, 1, estimator=torch.nn.ReLU(), output=tmp_path)
    with pytest.raises(ValueError, match="task must be 'classification'"):
        kafnets.tune(table, y, 1, task="ranking", output=tmp_path)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="X has 20 rows, of which validation_fraction"):
        kafnets.tune(table, y, 1, estimator=SMALL, output=tmp_path, progress=False)
