"""What people give to estimators: tables as they are, weights, several outputs, mistakes."""

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import OneHotEncoder

import kafnets
from kafnets.data.splits import Part
from kafnets.sklearn import KafnetClassifier, KafnetRegressor
from kafnets.train import Predictor, Settings, fit

EXACT: dict[str, Any] = {
    "batch_size": 1000,
    "validation_fraction": None,
    "embedding": None,  # quantiles are of rows
    "n_members": 2,
    "dropout": 0.0,
    "epochs": 15,
    "learning_rate": 0.01,
    "label_smoothing": 0.0,
    "initialize_biases": False,
    "random_state": 0,
}
"""Whole batches, nothing at random but the first weights."""


def patients(rows: int = 240) -> tuple[pd.DataFrame, Any]:
    """A column of each kind, with gaps, and an outcome that needs the text and a number."""
    generator = np.random.default_rng(0)
    age = generator.uniform(20, 80, rows)
    city = generator.choice(["Rome", "Bari", "Pisa"], rows)
    ill = (age > 50) & (city != "Bari")
    frame = pd.DataFrame(
        {
            "age": np.where(generator.random(rows) < 0.05, np.nan, age),
            "city": pd.Series(city, dtype="str").where(generator.random(rows) > 0.05),
            "ward": pd.Categorical(generator.choice(["a", "b"], rows)),
            "smokes": generator.random(rows) < 0.5,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(generator.integers(0, 900, rows), "D"),
            "visits": pd.array(generator.integers(0, 9, rows), dtype="Int64"),
        }
    )
    return frame, np.where(ill, "ill", "well")


def test_tables_with_columns_of_any_kind(tmp_path: Path) -> None:
    frame, labels = patients()
    model = KafnetClassifier((20,), epochs=40, random_state=0).fit(frame, labels)
    assert model.score(frame, labels) > 0.85
    assert model.n_features_in_ == 6
    assert model.feature_names_in_.tolist() == list(frame.columns)
    theirs = KafnetClassifier((20,), epochs=40, random_state=0).fit(pl.from_pandas(frame), labels)
    np.testing.assert_array_equal(theirs.predict_proba(pl.from_pandas(frame)), model.predict_proba(frame))
    np.testing.assert_array_equal(theirs.predict_proba(frame), model.predict_proba(frame))
    model.to_predictor().save(tmp_path)
    again = Predictor.load(tmp_path)
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(frame), model.predict(frame))
    passes = KafnetClassifier((20,), random_state=0)
    for _ in range(40):
        passes.partial_fit(frame, labels)
    assert passes.score(frame, labels) > 0.85
    assert (
        cross_val_score(KafnetClassifier((20,), epochs=30, random_state=0), frame, labels, cv=2).mean() > 0.7
    )


def test_a_table_becomes_what_an_encoder_would_make_of_it() -> None:
    frame, labels = patients()
    frame = frame[["city", "age"]].assign(city=frame["city"].fillna("none"), age=frame["age"].fillna(50))
    encoder = make_column_transformer((OneHotEncoder(sparse_output=False), ["city"]), remainder="passthrough")
    encoded = encoder.fit_transform(frame)
    ours = KafnetClassifier((8,), epochs=3, random_state=0).fit(frame, labels)
    theirs = KafnetClassifier((8,), epochs=3, random_state=0).fit(encoded, labels)
    np.testing.assert_array_equal(ours.predict_proba(frame), theirs.predict_proba(encoded))


def test_columns_that_are_missing_or_new_and_categories_that_are_new() -> None:
    frame, labels = patients()
    model = KafnetClassifier((8,), epochs=2, random_state=0).fit(frame, labels)
    with pytest.raises(ValueError, match="yet now missing:\n- age"):
        model.predict(frame.drop(columns="age"))
    with pytest.raises(ValueError, match="unseen at fit time:\n- weight"):
        model.predict(frame.assign(weight=1.0))
    with pytest.raises(ValueError, match=r"same order (.|\n)*X\[model.feature_names_in_\]"):
        model.predict(frame[frame.columns[::-1]])
    with (
        pytest.warns(UserWarning, match="feature names"),
        pytest.raises(TypeError, match="columns age, city"),
    ):
        model.predict(np.zeros((3, 6)))
    new, none = frame.assign(city="Oslo"), frame.assign(city="Bari")
    with pytest.warns(UserWarning, match="column 'city' has 'Oslo', not seen in training: encoded as zeros"):
        found = model.predict_proba(new)
    assert (found != model.predict_proba(none)).any()
    with pytest.raises(ValueError, match="the column 'age' should hold numbers"):
        model.predict(frame.assign(age="old"))
    with pytest.raises(ValueError, match="X: the column 'name' has 240 different texts, too many"):
        model.fit(frame.assign(name=[f"n{number}" for number in range(240)]), labels)
    with pytest.raises(ValueError, match="X must have rows and columns"):
        model.fit(frame[:0], labels[:0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(frame, labels[:-1])


def test_sparse_rows_are_refused_with_the_remedy() -> None:
    frame, labels = patients()
    rows = sparse.csr_array(frame[["age"]].fillna(0).to_numpy())
    with pytest.raises(TypeError, match=r"Sparse data was passed for X.*toarray"):
        KafnetClassifier().fit(rows, labels)


def repeated(rows: int = 60) -> tuple[Any, Any, Any]:
    """Features whose medians and quartiles do not change if rows are repeated, a target, and repetitions."""
    generator = np.random.default_rng(1)
    features = np.where(generator.random((rows, 4)) < 0.5, -1.0, 1.0) * generator.choice([1, 2], (rows, 4))
    features = np.concatenate([features, -features])
    target = np.sin(features[:, 0] * features[:, 1]) + features[:, 2]
    return features, target, np.tile(generator.integers(1, 4, rows), 2)


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression", "multilabel", "several"])
def test_weights_are_repetitions(task: str) -> None:
    features, target, times = repeated()
    y: Any = {
        "binary": target > 0,
        "multiclass": np.digitize(target, [-1, 1]),
        "regression": target,
        "multilabel": np.stack([target > 0, features[:, 1] > 0], 1).astype(int),
        "several": np.stack([target, features[:, 3] ** 2], 1),
    }[task]
    kind = KafnetRegressor if task in ("regression", "several") else KafnetClassifier
    weighted = kind((8,), **EXACT).fit(features, y, sample_weight=times)
    often = kind((8,), **EXACT).fit(features.repeat(times, 0), y.repeat(times, 0))
    plain = kind((8,), **EXACT).fit(features, y)
    how = "predict" if kind is KafnetRegressor else "predict_proba"
    found, wanted, other = (getattr(each, how)(features) for each in (weighted, often, plain))
    np.testing.assert_array_equal(weighted.scaling_.spread, often.scaling_.spread)  # type: ignore[attr-defined]
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)
    assert np.abs(other - wanted).max() > 1e-2
    assert weighted.history_[-1]["train_loss"] == pytest.approx(often.history_[-1]["train_loss"], rel=1e-3)
    assert weighted.score(features, y, times) == pytest.approx(
        weighted.score(features.repeat(times, 0), y.repeat(times, 0))
    )
    same = kind((8,), **EXACT).fit(features, y, sample_weight=np.full(len(y), 3.0))
    np.testing.assert_array_equal(getattr(same, how)(features), other)


def test_rows_of_weight_zero_are_not_there() -> None:
    features, target, _ = repeated()
    weight = np.where(np.arange(len(target)) % 3 == 0, 0.0, 2.0)
    weight[1] = 1.0
    spoiled = np.where((weight == 0)[:, None], 1e6, features)
    found = KafnetRegressor((8,), epochs=5, random_state=0).fit(spoiled, target, weight)
    there = weight > 0
    wanted = KafnetRegressor((8,), epochs=5, random_state=0).fit(
        features[there], target[there], weight[there]
    )
    np.testing.assert_allclose(found.predict(features), wanted.predict(features), rtol=1e-9)
    for wrong, words in (
        (-weight, "sample_weight must be one number ≥ 0 for each .* Negative values"),
        (weight[:-1], "sample_weight.shape"),
        ("heavy", "sample_weight must be one number .* could not convert"),
    ):
        with pytest.raises(ValueError, match=words):
            found.fit(features, target, wrong)


def test_weights_decide_which_epoch_is_best() -> None:
    """The validation part counts the rows that matter, and only those."""
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(400, 3)).astype(np.float32)
    labels = (rows[:, 0] > 0).astype(np.int64)
    wrong = np.arange(400) % 2 == 0
    target, weight = np.where(wrong, 1 - labels, labels), np.where(wrong, 1e-4, 2.0)
    model = kafnets.mlp(3, (8,), 1, "relu", generator=torch.Generator().manual_seed(0))
    parts = [Part(rows[own], target[own], weight[own]) for own in (slice(300), slice(300, None))]
    trained = fit(
        model, parts[0], Settings(epochs=40, learning_rate=0.02, metric="accuracy"), validation=parts[1]
    )
    assert trained.validation["accuracy"] > 0.95
    assert trained.validation["auc"] > 0.95


def test_classes_have_weights() -> None:
    generator = np.random.default_rng(0)
    rare = generator.random(1500) < 0.08
    features = generator.normal(size=(1500, 2)) + rare[:, None]
    options: dict[str, Any] = {"epochs": 10, "random_state": 0}
    plain = KafnetClassifier((8,), **options).fit(features, rare)
    balanced = KafnetClassifier((8,), class_weight="balanced", **options).fit(features, rare)
    by_hand = {False: len(rare) / (2 * (~rare).sum()), True: len(rare) / (2 * rare.sum())}
    same = KafnetClassifier((8,), class_weight=by_hand, **options).fit(features, rare)
    np.testing.assert_allclose(same.predict_proba(features), balanced.predict_proba(features))
    theirs = LogisticRegression(class_weight="balanced").fit(features, rare)
    recalls = [each.predict(features)[rare].mean() for each in (plain, balanced, theirs)]
    assert recalls[0] < 0.4 < recalls[2] - 0.15 < recalls[1]
    for wrong, words in (
        ("even", "class_weight must be 'balanced', a dictionary or None, got 'even'"),
        ({True: -1}, "class_weight must be numbers ≥ 0, got -1 for the class True"),
        ({True: "5"}, "class_weight must be numbers ≥ 0, got '5' for the class True"),
        ({True: 0, False: 0}, "class_weight, multiplied by sample_weight, is 0 for all rows"),
    ):
        with pytest.raises(ValueError, match=words):
            KafnetClassifier(class_weight=wrong).fit(features, rare)
    with pytest.raises(ValueError, match="needs all rows at once"):
        KafnetClassifier(class_weight="balanced").partial_fit(features, rare)
    KafnetClassifier((4,), class_weight=by_hand).partial_fit(features, rare)
    with pytest.raises(ValueError, match="class_weight is for one label per row"):
        KafnetClassifier(class_weight="balanced").fit(features, np.stack([rare, ~rare], 1).astype(int))


def test_several_labels(tmp_path: Path) -> None:
    features = np.random.default_rng(0).normal(size=(600, 5))
    labels = (features[:, :4] + features[:, 1:] > 0).astype(int)
    model = KafnetClassifier((30,), epochs=40, random_state=0).fit(features[:400], labels[:400])
    likely = model.predict_proba(features[400:])
    assert likely.shape == (200, 4)
    found = model.predict(features[400:])
    np.testing.assert_array_equal(found, likely > 0.5)
    assert model.score(features[400:], labels[400:]) == accuracy_score(labels[400:], found) > 0.5
    predictor = model.to_predictor()
    predictor.save(tmp_path)
    again = Predictor.load(tmp_path)
    np.testing.assert_array_equal(again.predict(features), model.predict(features))
    scores = again.scores(features[400:], labels[400:])
    assert scores["accuracy"] == model.score(features[400:], labels[400:])
    assert scores["label_accuracy"] == pytest.approx((found == labels[400:]).mean())
    model.partial_fit(features, labels)
    same = KafnetClassifier((30,), epochs=2, random_state=0).fit(features, sparse.csr_array(labels))
    assert same.predict(features).shape == labels.shape
    with pytest.raises(ValueError, match="MultiOutputClassifier"):
        model.fit(features, labels + 2 * labels[:, ::-1])
    with pytest.raises(ValueError, match="y must be as it was before, for multilabel with 4 outputs"):
        model.partial_fit(features, labels[:, :3])


def test_several_numbers(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    features = generator.normal(size=(500, 3))
    target = np.stack([100 + 5 * features[:, 0] ** 2, -1e-3 * features[:, 1]], 1)
    model = KafnetRegressor((30,), epochs=60, random_state=0).fit(features[:400], target[:400])
    found = model.predict(features[400:])
    assert found.shape == (100, 2)
    each = [r2_score(target[400:, number], found[:, number]) for number in (0, 1)]
    assert min(each) > 0.9
    assert model.score(features[400:], target[400:]) == pytest.approx(np.mean(each))
    predictor = model.to_predictor()
    predictor.save(tmp_path)
    again = Predictor.load(tmp_path)
    np.testing.assert_array_equal(again.predict(features), model.predict(features))
    assert again.score(features[400:], target[400:]) == pytest.approx(np.mean(each))
    with pytest.raises(ValueError, match="target must have 2 values per row, 500"):
        again.score(features, target[:, 0])
    passes = KafnetRegressor((10,), random_state=0)
    for _ in range(3):
        passes.partial_fit(features, target)
    assert passes.predict(features).shape == (500, 2)
    with pytest.warns(UserWarning, match="column-vector"):
        assert KafnetRegressor((4,), epochs=1).fit(features, target[:, :1]).predict(features).shape == (500,)


def test_nothing_is_said_of_tables_that_hold_no_surprises() -> None:
    frame, labels = patients()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KafnetClassifier((4,), epochs=1).fit(frame, labels).predict(frame)


def test_embeddings_can_be_given_for_each_network() -> None:
    x = np.random.default_rng(0).normal(size=(60, 3))
    y = x[:, 0] > 0
    fitted = KafnetClassifier(hidden=(4,), epochs=1, n_members=2, embedding=(None, "periodic")).fit(x, y)
    members = [str(member) for member in next(iter(fitted.module_.children())).children()]
    assert ["PeriodicEmbedding" in member for member in members] == [False, True]
    first = KafnetClassifier((4,), n_members=2, embedding=("periodic", None)).partial_fit(x, y)
    assert "PeriodicEmbedding" in str(first.module_)
    with pytest.raises(ValueError, match="one entry for each of 2 networks, got 1"):
        KafnetClassifier(n_members=2, embedding=("kaf",)).fit(x, y)
    with pytest.raises(ValueError, match=r"embedding must be .* or None, got 'cosine'"):
        KafnetClassifier(n_members=2, embedding=(None, "cosine")).fit(x, y)


def test_targets_that_cannot_be_learned_from() -> None:
    x = np.random.default_rng(0).normal(size=(6, 2))
    labels = np.array(["ill", "well", None, "ill", "well", "ill"], dtype=object)
    frame = pd.DataFrame(x, columns=["a", "b"])
    for target in (labels, np.where(labels == None, np.nan, labels), pd.Series(labels)):  # noqa: E711
        for rows in (x, frame):
            with pytest.raises(ValueError, match="y contains NaN, first in row 2: omit rows without"):
                KafnetClassifier().fit(rows, target)
    with pytest.raises(ValueError, match="y contains NaN, first in row 1"):
        KafnetRegressor().fit(x, pd.Series([1, None, 3, 4, 5, 6], dtype="Int64"))
    with pytest.raises(ValueError, match=r"y must be numbers; for classes, use KafnetClassifier .*'ill'"):
        KafnetRegressor().fit(frame, np.where(x[:, 0] > 0, "ill", "well"))
    with pytest.raises(ValueError, match="y must have two classes or more, got one class: 'ill'"):
        KafnetClassifier().fit(x, np.full(6, "ill"))
    fitted = KafnetClassifier((2,)).partial_fit(x, [0, 1, 0, 1, 0, 1])
    with pytest.raises(ValueError, match=r"y holds 7, which is not among the classes \[0, 1\]"):
        fitted.partial_fit(x, [0, 1, 7, 1, 0, 1])


def test_rows_of_text_are_refused_with_the_remedy() -> None:
    numbers = np.random.default_rng(0).normal(size=(6, 2))
    texts = np.array([["1", "Rome"]] * 6, dtype=object)
    fitted = KafnetRegressor((2,), epochs=1).fit(numbers, numbers[:, 0])
    for given in (lambda: fitted.predict(texts), lambda: fitted.fit(texts, numbers[:, 0])):
        with pytest.raises(ValueError, match="'Rome' in X: give numbers, or a DataFrame"):
            given()


def test_arguments_of_a_wrong_type_are_told_by_name() -> None:
    x = np.random.default_rng(0).normal(size=(60, 3))
    for options, words in (
        ({"dropout": None}, "dropout must be from 0 to below 1, got None"),
        ({"validation_fraction": "0.1"}, "validation_fraction must be between 0 and 1, got '0.1'"),
        ({"embedding": 3}, r"embedding must be 'auto', .* or None, got 3"),
    ):
        with pytest.raises(ValueError, match=words):
            KafnetClassifier(**options).fit(x, x[:, 0] > 0)
