"""What estimators predict: losses, probabilities, importances; and what they show meanwhile."""

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import log_loss, mean_poisson_deviance

from kafnets.sklearn import KafnetClassifier, KafnetRegressor
from kafnets.train import Predictor, Settings, metrics
from kafnets.train.losses import Loss
from kafnets.train.progress import FitProgress
from kafnets.train.temperature import temperature_of


def waves(rows: int, seed: int = 0) -> tuple[Any, Any]:
    """Numbers with noise whose width depends on the feature."""
    generator = np.random.default_rng(seed)
    features = generator.uniform(-2, 2, (rows, 1))
    noise = generator.exponential(1, rows) * (0.5 + np.abs(features[:, 0]))
    return features, 100 + 10 * (np.sin(2 * features[:, 0]) + noise)


@pytest.mark.parametrize("quantile", [0.1, 0.9])
def test_quantiles_are_covered_everywhere(quantile: float, tmp_path: Path) -> None:
    features, target = waves(1500)
    model = KafnetRegressor((20,), loss="quantile", quantile=quantile, epochs=40, n_members=1, random_state=0)
    model.fit(features, target)
    fresh, wanted = waves(4000, 1)
    below = wanted <= model.predict(fresh)
    assert below.mean() == pytest.approx(quantile, abs=0.04)
    outer = np.abs(fresh[:, 0]) > 1  # where the noise is wider
    assert below[outer].mean() == pytest.approx(quantile, abs=0.06)
    losses = [row["validation_loss"] for row in model.history_]
    assert losses[model.best_epoch_ - 1] == min(losses)
    model.to_predictor().save(tmp_path)
    again = Predictor.load(tmp_path)
    assert again.loss == Loss("quantile", quantile)
    np.testing.assert_array_equal(again.predict(fresh), model.predict(fresh))


def test_the_absolute_error_gives_medians() -> None:
    features, target = waves(1500)
    fresh, wanted = waves(4000, 1)
    options: dict[str, Any] = {"epochs": 40, "n_members": 2, "random_state": 0}
    median = KafnetRegressor((20,), loss="absolute_error", **options).fit(features, target).predict(fresh)
    mean = KafnetRegressor((20,), **options).fit(features, target).predict(fresh)
    assert (wanted <= median).mean() == pytest.approx(0.5, abs=0.04)
    assert (wanted <= mean).mean() > 0.56  # the noise is skewed
    assert np.abs(wanted - median).mean() < np.abs(wanted - mean).mean()
    assert ((wanted - median) ** 2).mean() > ((wanted - mean) ** 2).mean()


def test_counts_with_a_logarithmic_link(tmp_path: Path) -> None:
    """As good as scikit-learn's where that is right, and better where the logarithm is no straight line."""
    generator = np.random.default_rng(0)
    features = generator.normal(size=(3000, 2))
    straight, bent = 3 + features @ [0.5, -0.3], 3 + np.cos(2 * features[:, 0])
    for logarithms, factor in ((straight, 1.15), (bent, 0.5)):
        counts = generator.poisson(np.exp(logarithms))
        model = KafnetRegressor((20,), loss="poisson", epochs=30, n_members=2, random_state=0)
        model.fit(features[:2000], counts[:2000])
        theirs = PoissonRegressor(alpha=1e-6).fit(features[:2000], counts[:2000])
        found = model.predict(features[2000:])
        assert (found > 0).all()
        deviance = mean_poisson_deviance(counts[2000:], found)
        assert deviance < factor * mean_poisson_deviance(counts[2000:], theirs.predict(features[2000:]))
        assert found.mean() == pytest.approx(counts[2000:].mean(), rel=0.1)
    model.to_predictor().save(tmp_path)
    again = Predictor.load(tmp_path)
    np.testing.assert_array_equal(again.predict(features), model.predict(features))
    assert again.score(features, counts) == pytest.approx(model.score(features, counts))
    both = np.stack([counts, 2 * counts], 1)
    assert KafnetRegressor((4,), loss="poisson", epochs=1).fit(features, both).predict(features).shape == (
        3000,
        2,
    )


def test_losses_that_cannot_be() -> None:
    features, target = waves(40)
    for options, words in (
        (
            {"loss": "huber"},
            "loss must be 'squared_error', 'absolute_error', 'quantile', 'poisson', got 'huber'",
        ),
        ({"loss": "quantile"}, "quantile must be between 0 and 1 for loss='quantile', such as 0.9, got None"),
        ({"loss": "quantile", "quantile": 1.0}, "quantile must be between 0 and 1"),
        ({"quantile": 0.5}, "quantile is for loss='quantile'"),
    ):
        with pytest.raises(ValueError, match=words):
            KafnetRegressor(**options).fit(features, target)
    with pytest.raises(ValueError, match="y must be numbers ≥ 0, not all of them 0, for loss='poisson'"):
        KafnetRegressor(loss="poisson").fit(features, target - 200)
    assert Settings(loss="poisson").deciding("regression") == "loss"


def test_losses_are_the_formulas() -> None:
    generator = np.random.default_rng(0)
    outputs, target, weight = generator.normal(size=50), generator.poisson(2, 50), generator.uniform(size=50)
    error = target - outputs
    for loss, wanted in (
        (Loss(), error**2),
        (Loss("absolute_error"), np.abs(error)),
        (Loss("quantile", 0.8), np.where(error > 0, 0.8 * error, -0.2 * error)),
        (Loss("poisson"), np.exp(outputs) - target * outputs),
    ):
        tensors = torch.tensor(outputs)[:, None], torch.tensor(target, dtype=torch.float64)
        found = metrics.loss("regression", *tensors, numbers=loss).item()
        assert found == pytest.approx(wanted.mean())
        weighted = metrics.scores("regression", *tensors, torch.tensor(weight), loss)["loss"]
        assert weighted == pytest.approx(np.average(wanted, weights=weight))


@pytest.mark.parametrize("task", ["binary", "multiclass", "multilabel"])
def test_the_temperature_is_what_outputs_were_multiplied_by(task: Any) -> None:
    generator = torch.Generator().manual_seed(0)
    outputs = 2 * torch.randn(20000, 1 if task == "binary" else 3, generator=generator)
    if task == "multiclass":
        target = torch.multinomial(outputs.softmax(1), 1, generator=generator)[:, 0]
    else:
        target = (torch.rand(outputs.shape, generator=generator) < outputs.sigmoid()).long()
        target = target[:, 0] if task == "binary" else target
    for factor in (0.3, 1.0, 4.0):
        found = temperature_of(task, factor * outputs, target)
        assert found == pytest.approx(factor, rel=0.05)
        weight = torch.full((len(target),), 2.0)  # as if there were twice as many
        assert temperature_of(task, factor * outputs, target, weight) == pytest.approx(found, rel=0.05)
        fewer = temperature_of(task, factor * outputs[:200], target[:200])
        assert min(1, factor) <= fewer <= max(1, factor)


def test_the_temperature_of_few_rows() -> None:
    generator, kept = torch.Generator().manual_seed(0), 0
    for _ in range(40):
        outputs = 2 * torch.randn(45, 3, generator=generator)
        target = torch.multinomial(outputs.softmax(1), 1, generator=generator)[:, 0]
        kept += temperature_of("multiclass", outputs, target) == 1
    assert kept >= 36  # by chance, a test at the 5 % level finds two of 40 to differ
    all_right = torch.tensor([[1.0], [-1.0]] * 50), torch.tensor([1, 0] * 50)
    assert 0.1 < temperature_of("binary", *all_right) < 1
    assert temperature_of("binary", 5 * all_right[0], all_right[1]) == 1  # sure enough


def test_calibrated_probabilities(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    features = generator.normal(size=(4000, 6))
    labels = generator.random(4000) < 1 / (1 + np.exp(-2 * features[:, 0]))
    rows, y, fresh, wanted = features[:600], labels[:600], features[600:], labels[600:]
    # Memorized, and so far too sure.
    options: dict[str, Any] = {"epochs": 60, "dropout": 0.0, "weight_decay": 0.0, "refit": False}
    options |= {"early_stopping": False, "label_smoothing": 0.0, "random_state": 0, "learning_rate": 0.01}
    options["n_members"] = 2
    plain = KafnetClassifier((40,), **options).fit(rows, y)
    model = KafnetClassifier((40,), calibrate_probabilities=True, **options).fit(rows, y)
    before, after = (log_loss(wanted, each.predict_proba(fresh)) for each in (plain, model))
    assert after <= before + 1e-3
    np.testing.assert_array_equal(model.predict(fresh), plain.predict(fresh))
    predictor = model.to_predictor()
    assert predictor.temperature != 1
    predictor.save(tmp_path)
    again = Predictor.load(tmp_path)
    np.testing.assert_array_equal(again.predict_proba(fresh), model.predict_proba(fresh))
    assert again.scores(fresh, wanted)["loss"] == pytest.approx(after, rel=1e-6)
    sharp = plain.to_predictor().calibrated(fresh, wanted)
    assert log_loss(wanted, sharp.predict_proba(fresh)) <= min(before, after) + 1e-6
    with pytest.raises(ValueError, match="calibrate_probabilities needs held-out rows"):
        KafnetClassifier(calibrate_probabilities=True).fit(rows[:30], y[:30])


def test_smoothed_labels_are_calibrated_by_default() -> None:
    generator = np.random.default_rng(0)
    features = generator.normal(size=(1200, 4))
    labels = (features[:, 0] > 0).astype(int)
    options: dict[str, Any] = {"epochs": 20, "n_members": 2, "random_state": 0}
    default, plain, unsmoothed = (
        KafnetClassifier((20,), **options, **each).fit(features[:400], labels[:400])
        for each in ({}, {"calibrate_probabilities": False}, {"metric": "loss"})
    )
    fresh, wanted = features[400:], labels[400:]
    assert default.predictor_.temperature < 1 == plain.predictor_.temperature
    assert unsmoothed.predictor_.temperature == 1
    before, after = (log_loss(wanted, each.predict_proba(fresh)) for each in (plain, default))
    assert after < 0.9 * before
    np.testing.assert_array_equal(default.predict(fresh), plain.predict(fresh))
    few = KafnetClassifier((20,), **options).fit(features[:9], labels[:9])  # none are held out
    assert few.predictor_.temperature == 1
    with pytest.raises(TypeError, match="calibrate_probabilities must be True, False or 'auto', got 'yes'"):
        KafnetClassifier(calibrate_probabilities="yes").fit(features, labels)


def test_importances_have_names() -> None:
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({"noise": generator.normal(size=300), "city": generator.choice(["a", "b"], 300)})
    frame["age"] = generator.normal(size=300)
    target = 3 * frame["age"] + (frame["city"] == "a")
    model = KafnetRegressor((10,), epochs=30, random_state=0).fit(frame, target)
    found = model.feature_importances(frame, target)
    assert found.index.tolist() == ["age", "city", "noise"]
    assert found.index.name == "feature"
    assert found["mean"].iloc[0] > 10 * max(found["mean"].iloc[2], 0)
    pd.testing.assert_frame_equal(model.feature_importances(pl.from_pandas(frame), target), found)
    plain = KafnetRegressor((4,), epochs=1).fit(frame[["age"]].to_numpy(), target)
    assert plain.feature_importances(frame[["age"]].to_numpy(), target).index.tolist() == ["x0"]
    assert not hasattr(model, "feature_importances_")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    features, target = waves(100)

    def shown(verbose: Any, stream: io.StringIO) -> tuple[str, str]:
        monkeypatch.setattr(sys, "stderr", stream)
        KafnetRegressor((4,), epochs=2, n_members=1, verbose=verbose, random_state=0).fit(features, target)
        return stream.getvalue(), capsys.readouterr().out

    for quiet in ("auto", False, 0):
        assert shown(quiet, Terminal()) == ("", "")  # so short that nobody waits
        assert shown(quiet, io.StringIO()) == ("", "")
    bar, lines = shown(True, Terminal())
    assert "training on all rows" in bar
    assert lines == ""
    for verbose, stream in ((1, io.StringIO()), (2, Terminal())):
        bar, lines = shown(verbose, stream)
        assert bar == ""
        assert lines.splitlines()[0].startswith("epoch 1, train_loss ")
    monkeypatch.setattr("kafnets.train.progress.LONG", 0.0)
    assert "training on all rows" in shown("auto", Terminal())[0]
    with pytest.raises(ValueError, match="verbose must be 'auto', True, False, 0, 1 or 2, got 3"):
        FitProgress(3)  # type: ignore[arg-type]
