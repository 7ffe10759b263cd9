"""The paired test."""

import numpy as np
import pytest
from scipy import stats

from kafnets.comparison.statistics import paired_test


def test_without_overlap_it_is_scipys() -> None:
    ours, theirs = np.random.default_rng(0).normal(size=(2, 6))
    found = paired_test(ours.tolist(), theirs.tolist())
    assert found is not None
    assert found.p_value == pytest.approx(stats.ttest_rel(ours, theirs).pvalue)
    assert found.name == "paired t-test over 6 seeds"
    assert found.difference == pytest.approx((ours - theirs).mean())


def test_overlap_makes_it_more_careful() -> None:
    """With five seeds of 70/15/15: the statistic shrinks by sqrt((1/5) / (1/5 + 15/70))."""
    ours, theirs = [0.91, 0.93, 0.92, 0.94, 0.90], [0.90, 0.91, 0.90, 0.93, 0.89]
    plain, careful = (paired_test(ours, theirs, test_to_train=ratio) for ratio in (0.0, 15 / 70))
    assert plain is not None
    assert careful is not None
    difference = np.subtract(ours, theirs)
    t = difference.mean() / np.sqrt((1 / 5 + 15 / 70) * difference.var(ddof=1))
    assert careful.p_value == pytest.approx(2 * stats.t.sf(t, 4))
    assert careful.p_value > plain.p_value
    assert "corrected resampled t-test over 5 seeds" in careful.name


def test_it_rarely_cries_wolf_on_overlapping_parts() -> None:
    """Two equal classifiers, right or wrong on fixed rows: seeds draw their test parts from the same rows."""
    generator = np.random.default_rng(1)
    plain = careful = 0
    for _ in range(300):
        right = generator.random((2, 400)) < 0.8
        parts = [generator.permutation(400)[:200] for _ in range(5)]
        ours, theirs = ([row[part].mean() for part in parts] for row in right)
        plain += paired_test(ours, theirs).significant  # type: ignore[union-attr]
        careful += paired_test(ours, theirs, test_to_train=1.0).significant  # type: ignore[union-attr]
    assert careful < 0.15 * 300 < plain


def test_ends() -> None:
    assert paired_test([0.5], [0.4]) is None
    assert paired_test([0.5, 0.6], [0.5, 0.6]) is None
    assert paired_test([0.75, 0.75], [0.5, 0.5]) is None
    assert paired_test([0.9, 0.8, 0.7], [0.8, 0.7, 0.6]) is None  # they differ by rounding alone
    assert paired_test([900.3, 800.3], [900.1, 800.1]) is None
    found = paired_test([0.75, 0.76], [0.5, 0.52])
    assert found is not None
    assert found.corrected(3).p_value == pytest.approx(3 * found.p_value)
    assert found.corrected(1000).p_value == 1
