"""Preparation of features."""

import numpy as np
import pytest

from kafnets.data.scaling import RangeScaling

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
    with pytest.raises(ValueError, match="column number 1 holds only gaps in the training part: drop it"):
        RangeScaling.of(np.array([[1.0, NAN], [2.0, NAN]], np.float32))
    with pytest.raises(ValueError, match="infinite values in column number 0"):
        RangeScaling.of(np.array([[np.inf, 1.0], [2.0, 1.0]], np.float32))
