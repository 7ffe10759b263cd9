"""Biases from data, dictionaries that move and grow, rates by kind and the monitor, all while training."""

import copy
import json
import math
import warnings
from typing import Any

import pytest
import torch

import kafnets
from kafnets import data
from kafnets.train import Settings, fit
from kafnets.train.schedules import coslog4

SWITCHES: list[dict[str, Any]] = [
    {"activation_lr": 0.3},
    {"calibrate_after": 3},
    {"refine": {2: 12, 4: 20}},
    {"initialize_biases": True},
    {"monitor": True},
    {"schedule": "coslog4", "betas": (0.9, 0.95), "label_smoothing": 0.1},
    {"calibrate_after": 2, "refine": {2: 12, 4: 20}, "activation_lr": 0.1, "monitor": True, "keep": "best"},
]


def network(splits: data.Splits, activation: str = "kaf(dictionary_size=8)") -> Any:
    model = kafnets.mlp(
        splits.inputs,
        (12, 12),
        splits.outputs,
        activation,
        generator=torch.Generator().manual_seed(1),
        dropout=0.1,
    )
    with torch.no_grad():
        next(model.parameters()).mul_(4)  # so that there is something to calibrate
    return model


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r".* of the (inputs|functions) of layer")
        yield


@pytest.mark.parametrize("changes", SWITCHES, ids=lambda changes: "-".join(changes))
def test_resuming_is_bit_identical_around_every_change(changes: dict[str, Any]) -> None:
    splits = data.load("wine")
    settings = Settings(**{"epochs": 6, "patience": None, "batch_size": 32, "optimizer": "AdamW"} | changes)
    states: list[dict[str, Any]] = []
    whole = fit(network(splits), splits, settings, save=lambda state: states.append(copy.deepcopy(state)))
    plain = fit(network(splits), splits, Settings(epochs=6, patience=None, batch_size=32, optimizer="AdamW"))
    assert [row["train_loss"] for row in whole.epochs] != [row["train_loss"] for row in plain.epochs] or (
        settings.monitor
    )
    for state in states[:-1]:
        rest = fit(network(splits), splits, settings, resume=state)
        assert (rest.test, rest.epochs, rest.best_epoch) == (whole.test, whole.epochs, whole.best_epoch)
        for one, two in zip(rest.model.parameters(), whole.model.parameters(), strict=True):
            assert torch.equal(one, two)


def test_dictionaries_move_and_grow_when_they_are_told() -> None:
    splits = data.load("wine")
    sizes: list[int] = []
    ends: list[float] = []
    model = network(splits)

    def note(row: dict[str, Any]) -> None:
        sizes.append(model[1].dictionary_size)
        ends.append(model[1].expansion.dictionary.values[-1])

    settings = Settings(epochs=6, patience=None, calibrate_after=2, refine={3: 12, 5: 20})
    fit(model, splits, settings, progress=note)
    assert sizes == [8, 8, 8, 12, 12, 20]
    assert ends[:2] == [3.0, 3.0]
    assert len(set(ends[2:])) == 1
    assert ends[2] != 3.0


def test_the_best_epoch_may_have_been_before_a_change() -> None:
    splits = data.load("wine")
    model = network(splits)
    settings = Settings(epochs=6, patience=None, learning_rate=0.0, refine={3: 12}, keep="first")
    trained = fit(model, splits, settings)
    assert trained.best_epoch == 1
    assert model[1].dictionary_size == 8


def test_activations_learn_at_their_own_rate() -> None:
    splits = data.load("wine")
    first = network(splits).state_dict()
    tiny = fit(network(splits), splits, Settings(epochs=3, patience=None, activation_lr=1e-6)).model
    moved = {name: (value - first[name]).abs().max().item() for name, value in tiny.state_dict().items()}
    assert moved["1.alpha"] < 1e-6 < 1e-3 < moved["0.weight"]


def test_biases_are_drawn_for_every_activation() -> None:
    splits = data.load("wine")
    for activation in ("kaf", "relu", "prelu"):
        model = network(splits, activation)
        fit(model, splits, Settings(epochs=1, learning_rate=0.0, initialize_biases=True))
        assert model[0].bias.abs().min() > 0
    fit(network(splits, "maxout"), splits, Settings(epochs=1, initialize_biases=True))  # it has its own maps


def test_the_log_tells_what_the_monitor_saw() -> None:
    splits = data.load("wine")
    model = network(splits)
    trained = fit(model, splits, Settings(epochs=3, patience=None, monitor=True, refine={1: 12}))
    for row in trained.epochs:
        for layer in ("1", "4"):
            for measure in ("outside", "dead", "coefficients", "gradients"):
                assert isinstance(row[f"{layer}/{measure}"], float)
    assert json.loads(json.dumps(trained.epochs)) == trained.epochs
    assert not model._forward_pre_hooks  # it is gone
    unwatched = fit(network(splits, "relu"), splits, Settings(epochs=1, monitor=True))
    assert not any("/" in name for name in unwatched.epochs[0])


def test_four_cosines_in_log_time() -> None:
    assert coslog4(0.0) == coslog4(1.0) == coslog4(2.0) == 0.0
    for cycle in range(4):
        end = (2 ** (cycle + 1) - 1) / 15
        top = (2 ** (cycle + 0.5) - 1) / 15
        assert coslog4(end) == pytest.approx(0, abs=1e-9)
        assert coslog4(top) == pytest.approx(1)
    settings = Settings(
        epochs=400, learning_rate=1e-3, weight_decay="auto", optimizer="AdamW", schedule="coslog4"
    )
    steps = [coslog4((step + 0.5) / 4000) for step in range(4000)]
    assert sum(steps) * 1e-3 * settings.decay(1000) == pytest.approx(1, rel=0.01)


def test_predictions_stay_in_the_range_of_targets() -> None:
    splits = data.load("diabetes")
    model: Any = kafnets.mlp(splits.inputs, (), 1)
    with torch.no_grad():
        model[0].weight.mul_(100)
    wild = fit(copy.deepcopy(model), splits, Settings(epochs=1, learning_rate=0.0))
    clamped = fit(model, splits, Settings(epochs=1, learning_rate=0.0, clamp_outputs=True))
    low, high = splits.train.target.min(), splits.train.target.max()
    assert clamped.test["rmse"] <= high - low < wild.test["rmse"]


@pytest.mark.parametrize(("options", "words"), [
    ({"activation_lr": 0}, "activation_lr must be a positive finite number, got 0"),
    ({"activation_lr": 0.1, "optimizer": torch.optim.SGD}, "activation_lr needs an optimizer by name"),
    ({"betas": (0.9, 1.0)}, r"betas must be two numbers from 0 to below 1, or None, got \(0.9, 1.0\)"),
    ({"label_smoothing": 1.0}, "label_smoothing must be from 0 to below 1, or 'auto', got 1.0"),
    ({"activation_lr": "1"}, "activation_lr must be a positive finite number, got '1'"),
    ({"label_smoothing": None}, "label_smoothing must be from 0 to below 1, or 'auto', got None"),
    ({"learning_rate": None}, "learning_rate must be a number ≥ 0, or 'auto', got None"),
    ({"learning_rate": math.inf}, "learning_rate must be a number ≥ 0, or 'auto', got inf"),
    ({"weight_decay": math.inf}, "weight_decay must be a number ≥ 0, or 'auto', got inf"),
    ({"loss": ["poisson"]}, r"loss must be 'squared_error', .*, got \['poisson'\]"),
    ({"calibrate_after": 0}, "calibrate_after must be an integer ≥ 1, or None, got 0"),
    ({"refine": {}}, r"refine must give growing numbers of elements by epochs, such as \{10: 20, 30: 40\}"),
    ({"refine": {5: 20, 3: 40}}, "refine must give growing numbers"),
    ({"refine": {0: 20}}, "refine must give growing numbers"),
    ({"refine": [20]}, r"refine must give growing numbers .* got \[20\]"),
])  # fmt: skip
def test_settings_that_are_refused(options: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Settings(**options)


def test_a_dictionary_that_is_too_long_already_is_told_at_once() -> None:
    splits = data.load("wine")
    with pytest.raises(ValueError, match="refine must begin with 20 elements at least, which layer '1' has"):
        fit(network(splits, "kaf"), splits, Settings(refine={400: 12}))


def test_configs_tell_only_what_differs() -> None:
    told = Settings(refine={10: 20}, betas=(0.9, 0.95), monitor=True).describe()
    assert told.keys() - Settings().describe().keys() == {"refine", "betas", "monitor"}
    assert json.loads(json.dumps(told)) == told
