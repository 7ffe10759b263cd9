"""Mean ranks over several data sets, with tests for differences.

After Demšar (2006): Friedman's test over data sets, then Nemenyi's critical difference between mean ranks.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kafnets.comparison.statistics import DIGITS, LEVEL


@dataclass(frozen=True)
class MeanRanks:
    """Outcome of a comparison over data sets.

    Attributes:
        ranks: mean rank by label, best (1) first.
        sets: how many data sets there were.
        friedman: p-value for equality of all.
        critical_difference: of mean ranks; smaller differences are not significant at the 5 % level.
    """

    ranks: dict[str, float]
    sets: int
    friedman: float
    critical_difference: float


def mean_ranks(scores: Mapping[str, Mapping[str, float]]) -> MeanRanks:
    """Rank labels by their scores, larger being better; equal scores share a rank.

    Args:
        scores: by data set and label.
    """
    from scipy import stats

    labels = list(next(iter(scores.values()), {}))
    if len(labels) < 3 or len(scores) < 2:
        raise ValueError(
            f"ranks need at least three labels and two data sets, got {len(labels)} and {len(scores)}"
        )
    if any(set(own) != set(labels) for own in scores.values()):
        raise ValueError("ranks need the same labels in all data sets")
    table = np.array([[own[label] for label in labels] for own in scores.values()])
    if np.isnan(table).any():
        raise ValueError("ranks need numbers, got NaN among the scores")
    table = np.round(table, DIGITS)
    means = stats.rankdata(-table, axis=1).mean(axis=0)
    order = np.argsort(means, kind="stable")
    count = len(labels)
    quantile = stats.studentized_range.ppf(1 - LEVEL, count, math.inf) / math.sqrt(2)
    return MeanRanks(
        {labels[index]: float(means[index]) for index in order},
        len(scores),
        float(stats.friedmanchisquare(*table.T).pvalue),
        float(quantile * math.sqrt(count * (count + 1) / (6 * len(scores)))),
    )


def alike(ranking: MeanRanks) -> list[tuple[str, ...]]:
    """The largest groups of labels without significant differences."""
    labels, groups = list(ranking.ranks), list[tuple[str, ...]]()
    for begin, first in enumerate(labels):
        near = [
            label
            for label in labels[begin:]
            if ranking.ranks[label] - ranking.ranks[first] <= ranking.critical_difference
        ]
        end = begin + len(near)
        if len(near) > 1 and (not groups or labels.index(groups[-1][-1]) < end - 1):
            groups.append(tuple(near))
    return groups
