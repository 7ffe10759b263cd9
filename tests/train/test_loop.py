"""The training loop."""

import copy
import inspect
import itertools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import kafnets
from kafnets import data
from kafnets.cli.compare import compare
from kafnets.sklearn import KafnetClassifier
from kafnets.train import Settings, fit
from kafnets.train.recipe import DROPOUT, HIDDEN, RECIPE

SHORT = Settings(epochs=6, patience=6)


def network(splits: data.Splits, activation: str = "kaf", **options: Any) -> nn.Sequential:
    generator = torch.Generator().manual_seed(1)
    return kafnets.mlp(splits.inputs, (20,), splits.outputs, activation, generator=generator, **options)


@pytest.mark.parametrize(("name", "metric", "least"), [
    ("iris", "accuracy", 0.85), ("breast_cancer", "auc", 0.97), ("diabetes", "r2", 0.2),
])  # fmt: skip
def test_it_learns_every_kind_of_task(name: str, metric: str, least: float) -> None:
    splits = data.load(name)
    trained = fit(network(splits), splits, Settings(epochs=150, batch_size=20))
    assert trained.test[metric] > least


def test_a_seed_decides_everything_and_the_global_generator_stays() -> None:
    splits = data.load("digits")
    models = [network(splits, dropout=0.3) for _ in range(3)]
    before = torch.get_rng_state()
    first, second = (fit(model, splits, SHORT, seed=4) for model in models[:2])
    assert torch.equal(torch.get_rng_state(), before)
    assert first.epochs == second.epochs
    assert first.test == second.test
    other = fit(models[2], splits, SHORT, seed=5)
    assert other.epochs != first.epochs


@pytest.mark.parametrize("schedule", [None, lambda optimizer: torch.optim.lr_scheduler.StepLR(optimizer, 2)])
def test_resuming_is_bit_identical(schedule: Any) -> None:
    splits = data.load("digits")
    settings = Settings(epochs=6, patience=6, schedule=schedule)
    states: list[dict[str, Any]] = []
    whole = fit(
        network(splits, "rrelu", dropout=0.2),
        splits,
        settings,
        save=lambda state: states.append(copy.deepcopy(state)),
    )
    for state in (states[0], states[3]):
        torch.rand(3)  # whatever happened in between
        rest = fit(network(splits, "rrelu", dropout=0.2), splits, settings, resume=state)
        assert rest.test == whole.test
        assert rest.epochs == whole.epochs
        for one, two in zip(rest.model.parameters(), whole.model.parameters(), strict=True):
            assert torch.equal(one, two)


def test_resuming_from_a_file_is_bit_identical_for_images(tmp_path: Path) -> None:
    splits = data.load("digits")
    parts = {
        name: replace(part, features=part.features.reshape(-1, 1, 8, 8))
        for name in ("train", "validation", "test")
        if (part := getattr(splits, name))
    }
    images, settings = replace(splits, **parts), Settings(epochs=3, patience=3)

    def convolutional() -> nn.Sequential:
        generator = torch.Generator().manual_seed(1)
        return kafnets.cnn(1, 8, 2, 10, "kaf", filters=4, generator=generator)

    numbers = itertools.count(1)
    whole = fit(
        convolutional(),
        images,
        settings,
        save=lambda state: torch.save(state, tmp_path / f"{next(numbers)}.pt"),
    )
    rest = fit(convolutional(), images, settings, resume=torch.load(tmp_path / "1.pt"))
    assert rest.epochs == whole.epochs
    for one, two in zip(rest.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(one, two)


def test_it_stops_early_and_keeps_the_best_weights() -> None:
    splits = data.load("iris")
    settings = Settings(epochs=300, patience=5, learning_rate=0.05)
    trained = fit(network(splits), splits, settings)
    assert len(trained.epochs) == trained.best_epoch + 5 < 300
    best = max(trained.epochs, key=lambda row: (row["validation_accuracy"], -row["epoch"]))
    assert best["epoch"] == trained.best_epoch
    assert trained.validation["accuracy"] == best["validation_accuracy"]


def test_decay_reaches_what_may_decay() -> None:
    splits = data.load("iris")
    decays: dict[str, float] = {}

    def optimizer(groups: Any) -> torch.optim.Optimizer:
        decays.update({group["name"]: group["weight_decay"] for group in groups})
        return torch.optim.SGD(groups, lr=0.1)

    fit(network(splits, "prelu"), splits, Settings(epochs=1, weight_decay=0.3, optimizer=optimizer))
    assert decays == {"weights": 0.3, "undecayed": 0.0}


def test_any_optimizer() -> None:
    splits = data.load("iris")
    settings = Settings(epochs=3, optimizer=lambda groups: torch.optim.SGD(groups, lr=0.1))
    assert len(fit(network(splits), splits, settings).epochs) == 3
    assert settings.describe()["optimizer"].endswith("<lambda>")


def test_settings_are_checked_and_nan_is_named() -> None:
    with pytest.raises(ValueError, match="batch_size must be an integer ≥ 1, or 'auto', got 0"):
        Settings(batch_size=0)
    with pytest.raises(ValueError, match="learning_rate must be a number ≥ 0, or 'auto', got -1"):
        Settings(learning_rate=-1)
    splits = data.load("diabetes")
    model = network(splits, "paf", degree=9)
    with pytest.raises(FloatingPointError, match=r"the loss became nan in epoch .*smaller learning_rate"):
        fit(model, splits, Settings(epochs=30, learning_rate=1e6))


def test_automatic_settings_depend_on_the_number_of_rows() -> None:
    auto = Settings(
        batch_size="auto",
        epochs=100,
        learning_rate="auto",
        weight_decay="auto",
        optimizer="AdamW",
        schedule="cosine",
        regularization_schedule="flat_cosine",
    )
    assert [auto.rows_a_step(rows) for rows in (100, 3200, 10**6)] == [32, 100, 256]
    assert [auto.rate(rows) for rows in (100, 40_960)] == pytest.approx([3e-3, 3e-3 * math.sqrt(8)])
    steps = auto.epochs * 160
    share = 3 / 8 + 1 / (3 * math.pi)  # the mean of the rate's schedule times the decay's
    kept = (1 - auto.decay(40_960) * auto.rate(40_960) * share) ** steps
    assert kept == pytest.approx(math.exp(-1), rel=1e-3)
    assert auto.decay(40) == 1.0
    assert Settings(weight_decay=0.5).decay(40) == 0.5
    for wrong in (
        {"weight_decay": "auto"},
        {"schedule": "linear"},
        {"optimizer": "sgd"},
        {"batch_size": "all"},
    ):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Settings(**wrong)  # type: ignore[arg-type]


def test_the_commands_and_estimators_defaults_are_the_recipe() -> None:
    options = inspect.signature(compare).parameters
    assert options["hidden"].default == ",".join(map(str, HIDDEN))
    assert options["epochs"].default == RECIPE.epochs
    assert options["dropout"].default == KafnetClassifier().dropout == DROPOUT
    assert (RECIPE.patience, RECIPE.keep) == (None, "best")
    for name in ("patience", "batch_size", "learning_rate"):
        assert options[name].default is None  # the recipe's
    estimator = KafnetClassifier()
    for name in ("epochs", "batch_size", "learning_rate", "label_smoothing"):
        assert getattr(estimator, name) == getattr(RECIPE, name)
    assert estimator._settings().weight_decay == RECIPE.weight_decay


def test_a_part_with_one_class_is_judged_by_its_loss() -> None:
    """There is no AUC then, and the untrained network must not be kept for that."""
    splits = data.load("breast_cancer")
    rows = splits.validation.target == 0
    one = data.Part(splits.validation.features[rows], splits.validation.target[rows])
    trained = fit(network(splits), replace(splits, validation=one), Settings(epochs=30))
    assert trained.best_epoch > 0


def test_networks_of_another_width_are_refused() -> None:
    splits = data.load("breast_cancer")
    wide = nn.Linear(splits.inputs, 2)
    with pytest.raises(
        ValueError, match=r"must give the shape \(rows, 1\) for this binary task, got \(100, 2\)"
    ):
        fit(wide, splits, Settings(epochs=1))


def test_without_validation_the_last_epoch_is_kept() -> None:
    splits = data.load("iris")
    model = network(splits)
    states: list[dict[str, Any]] = []
    trained = fit(model, splits.train, Settings(epochs=3, patience=1), save=states.append)
    assert [set(row) for row in trained.epochs] == [{"epoch", "train_loss"}] * 3
    assert (trained.best_epoch, trained.validation, trained.test) == (3, {}, {})
    for name, value in model.state_dict().items():
        torch.testing.assert_close(value, states[-1]["model"][name], rtol=0, atol=0)


def test_parts_are_as_good_as_splits() -> None:
    splits = data.load("iris")
    whole = fit(network(splits), splits, SHORT)
    parts = fit(network(splits), splits.train, SHORT, validation=splits.validation, test=splits.test)
    assert (parts.test, parts.epochs) == (whole.test, whole.epochs)
    with pytest.raises(ValueError, match="model must give the shape"):
        fit(network(splits), splits.train, SHORT, classes=splits.outputs + 1)
