"""``kafnets.tune``: budgets, resuming, what comes out."""

import functools
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.base import clone

import kafnets
from kafnets import tuning
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
        assert tuning._is_regression(target, task) == wanted


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


KILLED = """
import os, sys
from pathlib import Path
from kafnets.train.search import Budget, search

search(Path(sys.argv[1]), Budget.of(3), lambda arguments: os._exit(9), activation="relu", progress=False)
"""


def test_a_first_trial_that_is_killed_is_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "trials"
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", KILLED, str(path)], capture_output=True, check=False)
        assert done.returncode == 9
    tried: list[dict[str, Any]] = []

    def counted(arguments: dict[str, Any]) -> tuple[float, float]:
        tried.append(arguments)
        return float(len(tried)), 0.0

    trials = search(path, Budget.of(3), counted, activation="relu", progress=False)
    assert [bool(each) for each in tried] == [False, True, True]
    assert [each.number for each in trials] == [0, 1, 2]
    assert [bool(each.parameters) for each in trials] == [False, True, True]


def test_interrupted_it_tries_the_estimator_as_it_is_and_logs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    import optuna

    validated, calls = tuning._validated, 0

    def interrupted(*arguments: Any) -> tuple[float, float]:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise KeyboardInterrupt
        return validated(*arguments)

    monkeypatch.setattr(tuning, "_validated", interrupted)
    optuna.logging.set_verbosity(optuna.logging.DEBUG)
    table, y = rows()
    options: dict[str, Any] = {"estimator": SMALL, "output": tmp_path, "progress": False}
    try:
        with pytest.raises(KeyboardInterrupt):
            kafnets.tune(table, y, 2, **options)
        found = kafnets.tune(table, y, 2, **options)
        assert optuna.logging.get_verbosity() == optuna.logging.DEBUG
    finally:
        optuna.logging.set_verbosity(optuna.logging.INFO)
    assert "Trial" not in capfd.readouterr().err
    assert [bool(each.parameters) for each in found.tried] == [False, True]
    assert found.trials.index.tolist() == [0, 1]


def test_a_score_that_is_nan_counts_as_diverged(tmp_path: Path) -> None:
    scores = iter([float("nan"), 0.5])
    found = search(
        tmp_path / "trials", Budget.of(2), lambda _: (next(scores), 0.0), activation="relu", progress=False
    )
    assert [each.score for each in found] == [None, 0.5]


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


def wave(num_features: int) -> torch.nn.Module:
    return torch.nn.Tanh()


def folder_of(estimator: Any, seed: int = 0) -> str:
    table, y = rows(80)
    return tuning._digest(tuning._checked(estimator, table, y, None), estimator, seed)


ELSEWHERE = """
from kafnets.sklearn import KafnetClassifier
from tests.test_tuning import folder_of, wave

print(folder_of(KafnetClassifier((8,), wave, random_state=0)))
"""


def test_functions_go_by_their_names() -> None:
    made = functools.partial(KafnetClassifier, (8,), random_state=0)
    here = folder_of(made(activation=wave))
    root = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE], capture_output=True, text=True, check=True, cwd=root
    )
    assert done.stdout.strip() == here
    settings = [
        made(activation=wave),
        made(activation=functools.partial(wave)),
        made(activation=test_mistakes),
        made(activation_options={"dictionary_size": 9}),
        made(activation_options={"dictionary_size": 8}),
        made(activation_options={"dictionary": np.linspace(-1, 1, 2000)}),
        made(activation_options={"dictionary": np.linspace(-1, 1, 2000) ** 3}),
    ]
    names = [str(tuning._lasting("", each.get_params())) for each in settings]
    assert len(set(names)) == len(settings)
    for name, value in (
        ("activation", lambda num_features: wave(num_features)),
        ("activation_options", {"init": [object()]}),
        ("random_state", np.random.RandomState(0)),
    ):
        with pytest.raises(ValueError, match=f"{name} must be what another process can identify"):
            tuning._lasting(name, value)


def test_data_decide_on_the_folder() -> None:
    table, y = rows(80)
    told = functools.partial(tuning._checked, SMALL)
    weights = np.arange(80)
    numbers = KafnetRegressor((8,), random_state=0)
    several = sparse.csr_matrix(np.stack([y == "yes", table["x"] < 0.5], 1).astype(int))
    found = [
        tuning._digest(checked, SMALL, 0)
        for checked in (
            told(table, y, None),
            told(table, y, weights),
            told(table, several, None),
            told(table, several[:, ::-1], None),
            told(table[["x"]], y, None),
            *(tuning._checked(numbers, table, table["x"].astype(object) * scale, None) for scale in (1, 2)),
        )
    ]
    assert len(set(found)) == len(found)


def test_mistakes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    table, y = rows()
    output = tmp_path / "runs"
    gap = y.astype(object)
    gap[3] = None
    for features, target, options, message in (
        (table, gap, {}, "y contains NaN, first in row 3: omit rows without a target"),
        (sparse.csr_matrix(table[["x"]]), y, {}, "Sparse data was passed for X"),
        (table, "outcome", {}, "y must be a sequence with the target of each row, got 'outcome'"),
        (table, None, {}, "y is None"),
        (table[:50], y, {}, "inconsistent numbers of samples"),
        (table, y, {"sample_weight": [1]}, "sample_weight must be one number ≥ 0 for each of the 120 rows"),
        (table, y, {"seed": "a"}, "seed must be an integer ≥ 0, got 'a'"),
        (table, y, {"estimator": SMALL, "task": "regression"}, "needs a KafnetRegressor as estimator"),
        (table, table["x"], {"estimator": KafnetRegressor(), "task": "classification"}, "a KafnetClassifier"),
        (table, y, {"estimator": torch.nn.ReLU()}, "estimator must be a KafnetClassifier or KafnetRegressor"),
        (table, y, {"task": "ranking"}, "task must be 'classification'"),
        (table[:20], y[:20], {}, "X has 20 rows, of which validation_fraction"),
        (table, y, {"validation_fraction": None}, "set it, such as 0.15"),
        (table, y, {"validation_fraction": 2}, "validation_fraction must be between 0 and 1, got 2"),
        (table, y, {"activation": "kafka"}, "no activation is called 'kafka'"),
        (table, y, {"epochs": 0}, "epochs must be"),
        (table, y, {"metric": "r2"}, "metric must be"),
    ):
        arguments = options.keys() & SMALL.get_params().keys()
        given: dict[str, Any] = {name: each for name, each in options.items() if name not in arguments}
        if arguments:
            given["estimator"] = clone(SMALL).set_params(**{name: options[name] for name in arguments})
        with pytest.raises((TypeError, ValueError), match=message):
            kafnets.tune(features, target, 1, output=output, progress=False, **given)
    assert not output.exists()  # no trial was stored
    assert "Trial" not in capfd.readouterr().err
