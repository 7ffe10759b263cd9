"""Dictionaries from data."""

from typing import Any

import hypothesis
import numpy as np
import pytest
import torch
from hypothesis import strategies
from hypothesis.extra import numpy as arrays

import kafnets
from kafnets import Dictionary, Gaussian, Polynomial, Softplus
from kafnets.arrays.library import NUMPY
from kafnets.dictionaries import THRESHOLDS, by_novelty, by_quantiles, rule_of_thumb

VALUES = np.random.default_rng(0).normal(0, 2, 2000)
NUMBERS = arrays.arrays(
    np.float64, strategies.integers(2, 60), elements=strategies.integers(-20, 20).map(float)
)


def joined_one_by_one(values: Any, kernel: Any, threshold: float, criterion: str) -> list[float]:
    """The definitions, word for word."""
    elements = [values[0]]
    for value in values[1:]:
        d = np.array(elements)
        with_all, own = kernel.value(NUMPY, value, d), kernel.value(NUMPY, value, value)
        if criterion == "coherence":
            joins = np.abs(with_all / np.sqrt(own * kernel.value(NUMPY, d, d))).max() < threshold
        else:
            matrix = kernel.value(NUMPY, d[:, None], d)
            joins = own - with_all @ np.linalg.solve(matrix, with_all) > threshold * own
        if joins:
            elements.append(value)
    return sorted(elements)


def test_equally_many_values_between_neighbors() -> None:
    dictionary = by_quantiles(VALUES, 21)
    counts, _ = np.histogram(VALUES, dictionary.elements)
    assert counts.min() >= 99
    assert counts.max() <= 101
    assert dictionary.values[0] == VALUES.min()
    assert dictionary.values[-1] == VALUES.max()
    assert by_quantiles(torch.from_numpy(VALUES).reshape(10, 200), 21) == dictionary


def test_values_that_repeat() -> None:
    assert by_quantiles([0.0] * 50 + [4.0], 5).values == (0, 1, 2, 3, 4)
    zeros = np.maximum(VALUES, 0)
    dictionary = by_quantiles(zeros, 20)
    assert dictionary.size == 20
    assert dictionary.values[0] == 0


@hypothesis.given(NUMBERS, strategies.integers(2, 30), strategies.sampled_from(sorted(THRESHOLDS)))
def test_any_values(values: Any, size: int, criterion: Any) -> None:
    hypothesis.assume(values.min() < values.max())
    for dictionary in (by_quantiles(values, size), by_novelty(values, size, criterion=criterion)):
        assert dictionary.size == size
        assert values.min() <= dictionary.values[0] < dictionary.values[-1] <= values.max()


@pytest.mark.parametrize("criterion", list(THRESHOLDS))
@pytest.mark.parametrize("kernel", [Gaussian(0.7), Polynomial(3)], ids=repr)
@pytest.mark.parametrize("threshold", [0.01, 0.5, 0.9])
def test_novelty_is_what_its_definition_says(kernel: Any, criterion: Any, threshold: float) -> None:
    if (len(expected := joined_one_by_one(VALUES[:300], kernel, threshold, criterion))) < 2:
        with pytest.raises(ValueError, match=r"threshold=.* accepts only one of the values"):
            by_novelty(VALUES[:300], None, kernel, threshold, criterion=criterion)
        return
    found = by_novelty(VALUES[:300], None, kernel, threshold, criterion=criterion)
    assert list(found.values) == expected


def test_coherence_is_a_least_distance_for_gaussians() -> None:
    dictionary = by_novelty(VALUES, kernel=Gaussian(0.5), threshold=0.8)
    least = np.sqrt(-np.log(0.8) / 0.5)
    assert np.diff(dictionary.elements).min() >= least
    assert np.abs(VALUES[:, None] - dictionary.elements).min(1).max() <= least


def test_sizes_of_streams() -> None:
    assert by_novelty(VALUES).size == by_novelty(VALUES[:, None]).size <= 20
    assert by_novelty(VALUES, 7, threshold=0.95).size == 7
    first_two = by_novelty(VALUES, 2, threshold=0.95).values
    assert VALUES[0] in first_two
    for criterion in THRESHOLDS:
        for size in (5, 20, 40):
            assert by_novelty(VALUES, size, criterion=criterion).size == size
    assert by_novelty([0.0, 1.0], 5).values == (0, 0.25, 0.5, 0.75, 1)


def test_the_rule_of_thumb() -> None:
    even = Dictionary.equispaced(20, 3.0)
    assert rule_of_thumb(even) == Gaussian().fitted(even.spacing, 1).gamma
    assert rule_of_thumb(even, 2) == pytest.approx(np.sqrt(2) * rule_of_thumb(even))
    assert rule_of_thumb(Dictionary.of([0, 1, 2, 3, 10])) == pytest.approx(1 / 6)


def test_they_fit_modules() -> None:
    dictionary = by_quantiles(VALUES, 20)
    kaf = kafnets.KAF(
        4, dictionary=dictionary.values, kernel=Gaussian(rule_of_thumb(dictionary)), init="tanh"
    )
    assert kaf.expansion.dictionary == dictionary
    torch.testing.assert_close(
        kaf(kaf.dictionary[:, None].expand(-1, 4)),
        kaf.dictionary[:, None].tanh().expand(-1, 4),
        atol=1e-3,
        rtol=0,
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: by_quantiles(VALUES, 1), "size must be an integer ≥ 2, got 1"),
        (lambda: by_quantiles([1.0, 1.0], 5), "two different values or more, got 2, all the same"),
        (lambda: by_quantiles([], 5), "values must hold two different values"),
        (lambda: by_quantiles([1.0, np.nan], 5), "values must be finite, got 1 that are not"),
        (lambda: by_novelty([1.0, np.inf]), "values must be finite"),
        (lambda: by_novelty(VALUES, 1), "size must be an integer ≥ 2, got 1"),
        (lambda: by_novelty(VALUES, threshold=1.5), "threshold must be between 0 and 1, got 1.5"),
        (lambda: by_novelty(VALUES, kernel=Softplus()), "kernel must be positive semi-definite"),
        (lambda: by_novelty(VALUES, criterion="new"), "criterion must be one of 'coherence'"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_mistakes_are_named(make: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()
