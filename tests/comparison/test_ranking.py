"""The ranking: effects, ties, rare classes and the verdict."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.metrics import average_precision_score, balanced_accuracy_score

from kafnets.comparison.ranking import Ranking, rank, stored_step_times
from kafnets.comparison.record import DataFacts, Record
from kafnets.comparison.statistics import detectable, effect, paired_test, seeds_needed
from kafnets.train import metrics

RELU = (0.90, 0.91, 0.90, 0.92, 0.91)
KAF = (0.950, 0.962, 0.949, 0.970, 0.961)


def records(label: str, *scores: float, task: str = "multiclass", rarest: int | None = None) -> list[Record]:
    data = DataFacts("rows", task, (700, 150, 150), "0", rarest=rarest)
    config = {"experiment": "compare", "profile": "p", "data": "rows", "label": label, "hidden": [8, 8]}
    metric = metrics.MAIN[task]
    also = {"balanced_accuracy": 0.5, "average_precision": 0.25} if task == "binary" else {}
    return [
        Record(config | {"seed": seed}, data, {metric: score, **also}, {metric: score}, 9, 9, 1.0, 1, {})
        for seed, score in enumerate(scores)
    ]


def ranked(*members: list[Record]) -> Ranking:
    return rank([each for member in members for each in member])


def test_the_interval_and_the_p_value_say_the_same() -> None:
    generator = np.random.default_rng(0)
    for comparisons in (1, 3):
        for _ in range(200):
            theirs = generator.normal(0.9, 0.02, 5)
            ours = theirs + generator.normal(0.01, 0.02, 5)
            found = effect(list(ours), list(theirs), test_to_train=0.2, comparisons=comparisons)
            assert found.p_value is not None
            assert found.significant == (not found.low <= 0 <= found.high)
            if found.ratio is not None:
                assert found.significant == (not found.ratio[1] <= 1 <= found.ratio[2])
                assert found.ratio[1] <= found.ratio[0] <= found.ratio[2]


def test_fieller_is_the_set_of_ratios_that_no_test_refuses() -> None:
    ours, theirs = 1 - np.array(KAF), 1 - np.array(RELU)
    found = effect(KAF, RELU, test_to_train=0.2)
    assert found.ratio is not None
    for ratio, inside in ((found.ratio[1] - 1e-6, False), (found.ratio[1] + 1e-6, True),
                          (found.ratio[2] - 1e-6, True), (found.ratio[2] + 1e-6, False)):  # fmt: skip
        tested = paired_test(list(ours), list(ratio * theirs), test_to_train=0.2)
        assert tested is not None
        assert tested.significant != inside


def test_power_is_that_of_the_noncentral_t_distribution() -> None:
    for seeds in (3, 5, 20):
        difference = detectable(0.02, seeds, test_to_train=0.2)
        shift = difference / (0.02 * math.sqrt(1 / seeds + 0.2))
        critical = stats.t.ppf(0.975, seeds - 1)
        assert stats.nct.sf(critical, seeds - 1, shift) == pytest.approx(0.8, abs=0.005)
    needed = seeds_needed(0.02, 0.02, comparisons=2)
    assert needed is not None
    assert detectable(0.02, needed, comparisons=2) <= 0.02 < detectable(0.02, needed - 1, comparisons=2)
    assert seeds_needed(0.001, 0.02, test_to_train=0.2) is None


def test_the_verdict() -> None:
    relu, kaf = records("relu", *RELU), records("kaf", *KAF)
    found = ranked(relu, kaf)
    assert found.verdict.startswith("kaf has 55 % fewer errors than relu (95 % interval ")
    assert "corrected resampled t-test (Nadeau and Bengio) over 5 seeds" in found.test
    noisy = ranked(relu, records("elu", 0.93, 0.89, 0.94, 0.89, 0.92)).verdict
    assert "The difference between elu and relu is not statistically significant with 5 seeds" in noisy
    assert "points would not be detected" in noisy
    assert ranked(relu, records("elu", *(0.5,) * 5)).verdict == "No other did better than relu."
    assert ranked(relu).verdict == "Only relu was run: name other activations."
    assert "Too few seeds" in ranked(records("relu", 0.9), records("kaf", 0.95)).verdict
    assert "nothing to test against" in ranked(kaf, records("elu", *RELU)).verdict
    lucky = ranked(relu, kaf, records("elu", 0.99)).verdict
    assert lucky.startswith("kaf has")  # not the one-seed wonder
    numbers = [[replace(each, data=replace(each.data, task="regression"), test={"r2": each.test["accuracy"]},
                        validation={"r2": 0.0}) for each in runs] for runs in (relu, kaf)]  # fmt: skip
    assert "kaf leaves 55 % less variance unexplained than relu" in ranked(*numbers).verdict


def test_verdicts_at_the_ends() -> None:
    poor = records("relu", 0.80, 0.82, 0.79, 0.81, 0.80)
    perfect = ranked(poor, records("kaf", *(1.0,) * 5)).verdict
    assert perfect.startswith("kaf has 100 % fewer errors than relu (95 % interval 100 to 100 %")
    nearly = ranked(poor, records("kaf", 0.999, 0.98, 1.0, 1.0, 0.97)).verdict
    assert " to 100 %, p = " in nearly  # there are no more errors to avoid than there are
    alike = ranked(records("relu", 0.8, 0.7, 0.6), records("kaf", 0.9, 0.8, 0.7)).verdict
    assert alike.startswith("kaf is 10 points better than relu with each of 3 seeds: differences")
    two = ranked(records("relu", 0.90, 0.91), records("kaf", 0.95, 0.93)).verdict
    assert "with 2 seeds (p = 0.3); even a perfect score would not be detected. Detecting" in two
    again = ranked(records("relu", 0.9, 0.7, 0.1), records("kaf", 0.7, 0.1, 0.9)).verdict
    assert again == "No other did better than relu."


def test_seeds_that_not_all_have() -> None:
    relu, kaf = records("relu", *RELU), records("kaf", *KAF)
    found = ranked(relu[:4], kaf, records("elu", *KAF[1:4]), records("tanh", *RELU)[4:])
    assert "over up to 4 seeds" in found.test
    cells = {told[1]: dict(zip(found.table().headings, told, strict=True)) for told in found.table().rows}
    assert cells["tanh"]["vs. relu"] == cells["tanh"]["p"] == "-"


def test_ties_share_a_rank() -> None:
    found = ranked(records("relu", 1.0, 1.0), records("kaf", 1.0, 1.0), records("elu", 0.9, 1.0))
    assert [(row.rank, row.label) for row in found.rows] == [(1, "relu"), (1, "kaf"), (3, "elu")]
    assert found.verdict == "No other did better than relu."


def test_rare_classes_are_shown_more_of(tmp_path: Path) -> None:
    few, many = ([records(label, *scores, task="binary", rarest=rarest) for label, scores in
                  (("relu", RELU), ("kaf", KAF))] for rarest in (8, 75))  # fmt: skip
    assert "average precision" in ranked(*few).table().headings
    assert "average precision" not in ranked(*many).table().headings
    timed = rank([each for member in few for each in member], step_times={"relu": 1.0, "kaf": 1.5})
    timed.save(tmp_path)
    stored = json.loads((tmp_path / "ranking.json").read_text())
    assert [row["average_precision"] for row in stored["rows"]] == [0.25, 0.25]
    assert stored_step_times(tmp_path) == {"relu": 1.0, "kaf": 1.5}


def test_further_scores_are_scikit_learns() -> None:
    generator = torch.Generator().manual_seed(0)
    outputs = torch.randn(500, 1, generator=generator).round(decimals=1)  # with ties
    target = (torch.rand(500, generator=generator) < 0.1).long()
    found = metrics.scores("binary", outputs, target)
    true, scores = target.numpy(), outputs[:, 0].numpy()
    assert found["average_precision"] == pytest.approx(average_precision_score(true, scores), abs=1e-12)
    assert found["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(true, scores > 0), abs=1e-12)
