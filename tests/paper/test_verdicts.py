"""Verdicts on claims, from tests over seeds."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from kafnets.comparison.statistics import equivalence_test, holm, paired_test
from kafnets.comparison.summary import Cell
from kafnets.paper import verdicts
from kafnets.paper.claims import CLAIMS
from kafnets.paper.evidence import Evidence
from kafnets.paper.verdicts import Outcome


def cell(*scores: float, parameters: int = 100) -> Cell:
    return Cell("kaf", 1, "rows", "accuracy", dict(enumerate(scores)), {}, 5, parameters, 0.0)


def asking(found: list[verdicts.Question]) -> Callable[[Evidence], list[verdicts.Question]]:
    return lambda _: found


GOOD, BAD = cell(0.91, 0.92, 0.93, 0.91, 0.92), cell(0.81, 0.80, 0.83, 0.80, 0.82)


def test_claims_are_as_sure_as_their_least_sure_test() -> None:
    sure, unsure = verdicts.better(GOOD, BAD, "good over bad"), verdicts.better(BAD, GOOD, "bad over good")
    asked = {
        "all hold": [sure, verdicts.Question("count", holds=True)],
        "one does not": [sure, unsure],
        "a count does not": [sure, verdicts.Question("count", holds=False)],
        "nothing is stored": [sure, verdicts.better(None, BAD, "nothing over bad")],
        "one is missing, one does not": [unsure, verdicts.better(None, BAD, "nothing over bad")],
        "nothing is asked": [],
        "too few seeds": [verdicts.better(cell(0.9, 0.5), cell(0.8, 0.49), "two seeds")],
    }
    asked_for = [verdicts.Claim(name, "here", asking(found)) for name, found in asked.items()]
    found = {verdict.claim.statement: verdict for verdict in verdicts.judge(asked_for, Evidence(Path()))}
    outcomes = {name: verdict.outcome for name, verdict in found.items()}
    assert outcomes == {
        "all hold": Outcome.CONFIRMED,
        "one does not": Outcome.NOT_CONFIRMED,
        "a count does not": Outcome.NOT_CONFIRMED,
        "nothing is stored": Outcome.NOT_TESTED,
        "one is missing, one does not": Outcome.NOT_CONFIRMED,
        "nothing is asked": Outcome.NOT_TESTED,
        "too few seeds": Outcome.NOT_CONFIRMED,
    }
    opposite = "not confirmed: the opposite of a part of it holds here (p = "
    assert str(found["all hold"]) == "confirmed"
    assert str(found["one does not"]).startswith(opposite)
    assert unsure.test is not None
    assert found["one does not"].opposite == pytest.approx(5 * 2 * unsure.test.opposite)
    assert str(found["too few seeds"]) == "not confirmed, though all means point that way"
    assert str(found["a count does not"]) == "not confirmed"
    missing = "could not be tested here, because there are no stored"
    assert str(found["nothing is stored"]).startswith(missing)
    assert str(found["one is missing, one does not"]).startswith(opposite)
    assert str(found["nothing is asked"]) == "could not be tested here, because nothing is stored"
    assert sure.test is not None
    assert found["all hold"].p_value == pytest.approx(6 * sure.test.p_value)


def p_of(question: verdicts.Question) -> float:
    assert question.test is not None
    return question.test.p_value


@dataclass(frozen=True)
class Images(Evidence):
    """Runs on CIFAR-10, with so many seeds of five modules of ELU in the profile "medium"."""

    seeds: int = 5

    def cell(self, experiment: str, profile: str, label: str, layers: int) -> Cell | None:
        assert experiment == "cifar10"
        if profile == "medium" and (label, layers) == ("elu", 5):
            return cell(*BAD.test.values()).only(range(self.seeds)) if self.seeds else None
        return GOOD if label.startswith("kaf") else BAD


@pytest.mark.parametrize(("seeds", "filters"), [(5, 32), (4, 16), (0, 16)])
def test_larger_networks_decide_about_modules_when_they_are_finished(seeds: int, filters: int) -> None:
    questions = CLAIMS[6].ask(Images(Path(), seeds=seeds))
    assert len(questions) == 4
    assert all(f"; {filters} filters" in each.what and not each.missing for each in questions)


def test_margins_are_shares_of_the_errors() -> None:
    assert p_of(verdicts.much_better(GOOD, BAD, "18 % of errors are more than twice 8 %")) < 0.01
    assert p_of(verdicts.much_better(GOOD, cell(0.87, 0.88, 0.89, 0.86, 0.88), "12 % are not")) > 0.9
    near = cell(0.9101, 0.9202, 0.9301, 0.9103, 0.9201)
    assert p_of(verdicts.equal(near, GOOD, "near")) < 0.01
    assert p_of(verdicts.equal(BAD, GOOD, "far")) > 0.9
    assert p_of(verdicts.no_gain(BAD, GOOD, "worse")) < 0.01
    perfect = cell(1.0, 1.0, 1.0, 1.0, 1.0)
    almost = cell(0.9985, 0.9986, 0.9987, 0.9986, 0.9985)
    assert p_of(verdicts.no_gain(perfect, almost, "all errors gone is a gain")) > 0.9
    assert verdicts.better(cell(0.5), cell(0.4), "one seed").missing


def test_means_are_of_the_seeds_that_are_compared() -> None:
    more = replace(GOOD, test=GOOD.test | {5: 0.1})
    found = verdicts.better(more, BAD, "good over bad")
    assert found.found == verdicts.better(GOOD, BAD, "good over bad").found
    assert found.difference == f"{GOOD.mean - BAD.mean:+.4g}"


def test_much_worse_is_told_in_errors() -> None:
    found = verdicts.much_better(cell(0.90, 0.91, 0.89), cell(0.70, 0.71, 0.72), "three times")
    assert found.difference == "2.90 times the errors"


def test_statistics() -> None:
    ours, theirs = [1.0, 2.0, 4.0, 3.0], [0.5, 1.0, 3.0, 3.5]
    both = paired_test(ours, theirs)
    greater = paired_test(ours, theirs, alternative="greater")
    assert both is not None
    assert greater is not None
    assert greater.p_value == pytest.approx(both.p_value / 2)
    assert greater.opposite == pytest.approx(1 - greater.p_value)
    assert both.opposite == 1
    within, beyond = equivalence_test(ours, theirs, 5.0), equivalence_test(ours, theirs, 0.001)
    assert within is not None
    assert within.p_value < 0.05 < within.opposite
    assert beyond is not None
    assert beyond.opposite == pytest.approx(both.p_value, rel=0.02)
    assert equivalence_test(ours, ours, 0.1) is None
    by_seed = paired_test(ours, theirs, alternative="greater", margin=[0.1, 0.2, 0.3, 0.2])
    shifted = paired_test(ours, [0.6, 1.2, 3.3, 3.7], alternative="greater")
    assert by_seed is not None
    assert shifted is not None
    assert by_seed.p_value == pytest.approx(shifted.p_value)
    assert by_seed.difference == both.difference
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
