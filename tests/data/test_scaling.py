"""Preparation of features."""

import json

import numpy as np
import pytest

from kafnets import data
from kafnets.data.scaling import RangeScaling, RobustScaling, Scaling, described, scaling_called

NAN = np.nan


def test_linear_to_plus_and_minus_one_by_the_training_part_only() -> None:
    train = np.array([[0.0, 5.0, NAN], [10.0, 5.0, 1.0], [4.0, 5.0, 3.0]], np.float32)
    scaling = RangeScaling.of(train)
    np.testing.assert_allclose(
        scaling.apply(train), [[-1.0, 0.0, 0.0], [1.0, 0.0, -1.0], [-0.2, 0.0, 1.0]], atol=1e-6
    )
    other = np.array([[20.0, 7.0, NAN]], np.float32)
    np.testing.assert_allclose(scaling.apply(other), [[3, 0, 0]], atol=1e-6)


def test_gaps_get_the_median_not_the_middle() -> None:
    train = np.array([[0.0], [1.0], [1.0], [10.0], [NAN]], np.float32)
    assert RangeScaling.of(train).apply(train)[-1, 0] == pytest.approx(-0.8)


def test_what_cannot_be_scaled_is_named() -> None:
    with pytest.raises(
        ValueError, match="column number 1 has missing values only in the training part: drop it"
    ):
        RangeScaling.of(np.array([[1.0, NAN], [2.0, NAN]], np.float32))
    with pytest.raises(ValueError, match=r"infinite or beyond ±1e\+150 in column number 0"):
        RangeScaling.of(np.array([[np.inf, 1.0], [2.0, 1.0]], np.float32))


def test_robust_scaling_goes_by_the_quartiles_and_clips_smoothly() -> None:
    train = np.array([[0.0], [1.0], [2.0], [3.0], [1000.0]], np.float32)
    scaling = RobustScaling.of(train)
    assert (scaling.median.tolist(), scaling.spread.tolist()) == ([2.0], [2.0])
    z = (np.array([-3.0, 2.0, 4.0, 8.0]) - 2) / 2
    scaled = scaling.apply(np.array([[-3.0], [2.0], [4.0], [8.0]]))[:, 0]
    np.testing.assert_allclose(scaled, z / np.sqrt(1 + (z / 3) ** 2), rtol=1e-6)
    far = scaling.apply(np.array([[-1e300], [1000.0], [1e300]]))[:, 0]
    np.testing.assert_allclose(far, [-3, 3, 3], atol=1e-3)
    assert np.abs(far).max() <= 3


def test_gaps_are_at_the_median_of_robust_scaling() -> None:
    scaling = RobustScaling.of(np.array([[1.0], [NAN], [2.0], [3.0], [9.0]], np.float32))
    assert scaling.median.tolist() == [2.5]
    assert scaling.apply(np.array([[NAN]]))[0, 0] == 0


def test_sparse_columns_go_by_their_range_and_constant_ones_become_zero() -> None:
    sparse = np.r_[np.zeros(95), np.full(5, 4.0)]
    train = np.stack([sparse, np.full(100, 7.0)], axis=1)
    scaling = RobustScaling.of(train)
    assert scaling.spread.tolist() == [2.0, 0.0]
    scaled = scaling.apply(train)
    np.testing.assert_allclose(np.unique(scaled[:, 0]), [0, 2 / np.sqrt(1 + (2 / 3) ** 2)], rtol=1e-6)
    assert not scaled[:, 1].any()
    assert scaling.apply(np.array([[0.0, 1e9]])).tolist() == [[0, 0]]
    tiny = np.nextafter(0, 1) * np.arange(5.0)[:, None]
    assert np.isfinite(RobustScaling.of(tiny).apply(np.array([[0.0], [1.0]]))).all()


@pytest.mark.parametrize("kind", [RangeScaling, RobustScaling])
def test_scalings_survive_a_file(kind: type[Scaling]) -> None:
    rows = np.random.default_rng(0).normal(size=(20, 3)) * [1, 1e-5, 1e5]
    scaling = kind.of(rows)
    again = described(json.loads(json.dumps(scaling.describe())))
    assert type(again) is kind
    np.testing.assert_array_equal(again.apply(rows), scaling.apply(rows))


def test_scalings_of_earlier_files_have_no_name() -> None:
    assert isinstance(described({"low": [0.0], "high": [1.0], "median": [0.5]}), RangeScaling)
    with pytest.raises(ValueError, match="scaling must be 'range' or 'robust', got 'minmax'"):
        described({"kind": "minmax", "median": [0.5]})


def test_data_sets_are_scaled_as_asked() -> None:
    assert isinstance(data.load("wine").scaling, RangeScaling)
    robust = data.load("wine", scaling="robust")
    assert isinstance(robust.scaling, RobustScaling)
    assert 1 < np.abs(robust.test.features).max() < 3
    with pytest.raises(ValueError, match="scaling must be 'range' or 'robust', got 'minmax'"):
        data.load("wine", scaling="minmax")


@pytest.mark.parametrize("kind", ["range", "robust"])
def test_scaled_values_have_their_original_back(kind: str) -> None:
    rows = np.random.default_rng(0).normal(3.0, 2.0, (50, 2)) * [1, 1000]
    scaling = scaling_called(kind).of(rows)
    for number, column in enumerate(scaling.apply(rows).T):
        np.testing.assert_allclose(scaling.original(number, column), rows[:, number], rtol=1e-4, atol=1e-3)
    constant = scaling_called(kind).of(np.full((5, 1), 7.0))
    np.testing.assert_allclose(constant.original(0, np.zeros(2)), [7.0, 7.0])
