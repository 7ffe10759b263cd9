"""Weight decay and dropout that fade, and which epoch is kept."""

import copy
from typing import Any

import pytest
import torch
from torch import nn

import kafnets
from kafnets import data
from kafnets.train import Settings, fit
from kafnets.train.schedules import share_left
from kafnets.train.selection import Selection


def network(splits: data.Splits, dropout: float = 0.4, activation: str = "kaf") -> nn.Sequential:
    generator = torch.Generator().manual_seed(1)
    return kafnets.mlp(splits.inputs, (8,), splits.outputs, activation, dropout=dropout, generator=generator)


def test_the_shares_go_from_all_to_nothing() -> None:
    assert [share_left(None, epoch, 5) for epoch in range(5)] == [1.0] * 5
    cosine = [share_left("cosine", epoch, 5) for epoch in range(5)]
    assert cosine == pytest.approx([1, 0.5 + 0.5**1.5, 0.5, 0.5 - 0.5**1.5, 0])
    flat = [share_left("flat_cosine", epoch, 5) for epoch in range(5)]
    assert flat == pytest.approx([1, 1, 1, 0.5, 0])
    assert share_left("cosine", 0, 1) == 1  # the only epoch is the first
    assert share_left("cosine", 7, 5) == 0  # beyond the end


class Watched(torch.optim.AdamW):
    """Notes the weight decay of every step."""

    decays: list[float]

    def step(self, closure: Any = None) -> Any:
        self.decays.append(max(group["weight_decay"] for group in self.param_groups))
        return super().step(closure)


def test_decay_and_dropout_follow_the_schedule() -> None:
    splits = data.load("iris")
    model = network(splits)
    dropout = next(each for each in model if isinstance(each, nn.Dropout))
    decays: list[float] = []
    shares: list[float] = []

    def watched(groups: Any) -> torch.optim.Optimizer:
        optimizer = Watched(groups, lr=1e-3)
        optimizer.decays = decays
        return optimizer

    settings = Settings(
        epochs=5,
        batch_size=200,
        patience=None,
        weight_decay=0.2,
        optimizer=watched,
        regularization_schedule="cosine",
    )
    fit(model, splits, settings, progress=lambda row: shares.append(dropout.p))
    expected = [share_left("cosine", epoch, 5) for epoch in range(5)]
    assert decays == pytest.approx([0.2 * each for each in expected])
    assert shares == pytest.approx([0.4 * each for each in expected])
    assert dropout.p == 0.4  # so that it can be trained again


def test_dropout_is_put_back_after_an_error() -> None:
    splits = data.load("iris")
    model = network(splits)

    def interrupt(row: dict[str, Any]) -> None:
        if row["epoch"] == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(model, splits, Settings(epochs=5, regularization_schedule="cosine"), progress=interrupt)
    assert [each.p for each in model if isinstance(each, nn.Dropout)] == [0.4]


@pytest.mark.parametrize("optimizer", ["Adam", "AdamW"])
def test_resuming_is_bit_identical_while_they_fade(optimizer: str) -> None:
    splits = data.load("wine")
    settings = Settings(
        epochs=6,
        patience=None,
        weight_decay=0.1,
        optimizer=optimizer,
        schedule="cosine",
        keep="best",
        regularization_schedule="flat_cosine",
    )
    states: list[dict[str, Any]] = []
    whole = fit(network(splits), splits, settings, save=lambda state: states.append(copy.deepcopy(state)))
    for state in (states[0], states[3], states[4]):
        rest = fit(network(splits), splits, settings, resume=state)
        assert (rest.test, rest.epochs, rest.best_epoch) == (whole.test, whole.epochs, whole.best_epoch)
        for one, two in zip(rest.model.parameters(), whole.model.parameters(), strict=True):
            assert torch.equal(one, two)


@pytest.mark.parametrize("schedule", [None, "cosine"])
@pytest.mark.parametrize("fading", [None, "cosine", "flat_cosine"])
def test_automatic_decay_shrinks_to_a_third_whatever_fades(schedule: str | None, fading: str | None) -> None:
    settings = Settings(
        batch_size=100,
        epochs=1000,
        learning_rate=1e-3,
        weight_decay="auto",
        optimizer="AdamW",
        schedule=schedule,
        regularization_schedule=fading,
    )
    rates = [share_left(schedule, epoch, settings.epochs) for epoch in range(settings.epochs)]
    decays = [share_left(fading, epoch, settings.epochs) for epoch in range(settings.epochs)]
    shrunk = sum(
        10 * 1e-3 * rate * settings.decay(1000) * decay for rate, decay in zip(rates, decays, strict=True)
    )
    assert shrunk == pytest.approx(1, rel=0.01)


@pytest.mark.parametrize(("keep", "kept", "improved"), [("best", 5, 4), ("first", 2, 2), ("last", 6, 2)])
def test_equal_scores(keep: str, kept: int, improved: int) -> None:
    """Epochs 2 to 5 score alike; 4 and 5 have the smallest loss of them."""
    model = nn.Linear(1, 1)
    found = Selection(keep, model)
    seen = [(0.8, 0.1), (0.9, 0.5), (0.9, 0.6), (0.9, 0.4), (0.9, 0.4), (0.85, 0.1)]
    for epoch, (score, loss) in enumerate(seen, 1):
        nn.init.constant_(model.weight, epoch)
        found.consider(epoch, score, loss, model)
    assert (found.epoch, found.improved) == (kept, improved)
    assert found.weights["weight"].item() == kept
    again = Selection(keep, model)
    again.restore(found.state())
    assert again.state() == found.state()


def test_checkpoints_of_before_are_taken() -> None:
    found = Selection("first", nn.Linear(1, 1))
    found.restore({"best": {}, "best_score": 0.9, "best_epoch": 3})
    assert (found.score, found.epoch, found.improved) == (0.9, 3, 3)


def test_the_kept_epoch_is_the_best_of_the_log() -> None:
    splits = data.load("breast_cancer")
    settings = Settings(epochs=12, patience=None, learning_rate=0.02, keep="best")
    trained = fit(network(splits), splits, settings)
    best = max(trained.epochs, key=lambda row: (row["validation_auc"], -row["validation_loss"], row["epoch"]))
    assert trained.best_epoch == best["epoch"]
    assert len(trained.epochs) == 12
    assert trained.validation["loss"] == best["validation_loss"]


def test_settings_say_what_is_wrong_and_tell_what_is_new() -> None:
    with pytest.raises(ValueError, match="keep must be 'best', 'last', 'first' or None, got 'worst'"):
        Settings(keep="worst")
    with pytest.raises(ValueError, match="regularization_schedule must be 'cosine', 'flat_cosine' or None"):
        Settings(regularization_schedule="linear")
    assert Settings(keep="best").describe()["keep"] == "best"
    assert not {"keep", "regularization_schedule"} & Settings().describe().keys()
    assert (Settings().kept, Settings(patience=None).kept, Settings(keep="best").kept) == (
        "first",
        "last",
        "best",
    )
