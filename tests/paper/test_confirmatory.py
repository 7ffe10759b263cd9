"""Verdicts of the confirmatory study, on scores whose truth is known."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from kafnets.comparison.summary import Cell
from kafnets.paper.confirmatory import _sureness, judge
from kafnets.paper.evidence import Evidence
from kafnets.paper.figures.forest import forest
from kafnets.paper.plan import CellName, Plan
from kafnets.paper.verdict_tables import comparison_table, judged_table
from kafnets.paper.verdicts import Outcome

PLANNED = Plan.of(Path(__file__).parents[2])


@dataclass(frozen=True)
class Known(Evidence):
    """With these mean error rates, and normal noise of a tenth of them, or of as much as is told."""

    means: dict[CellName, float] = field(default_factory=dict)
    noise: dict[CellName, float] = field(default_factory=dict)
    missing: tuple[CellName, int] | None = None

    def cell(self, experiment: str, profile: str, label: str, layers: int) -> Cell | None:
        assert (experiment, profile) == ("sensorless", "paper")
        name, seeds = (label, layers), list(PLANNED.seeds if self.fresh else range(5))
        random = np.random.default_rng(sum(map(ord, label)) + layers)
        mean = self.means[name]
        errors = mean + self.noise.get(name, 0.1) * mean * random.standard_normal(len(seeds))
        scores = {seed: 1 - float(error) for seed, error in zip(seeds, errors, strict=True)}
        if self.missing is not None and self.missing[0] == name:
            scores.pop(self.missing[1], None)
        return Cell(label, layers, "sensorless", "accuracy", scores, {}, 25, 100, 0.2)


KNOWN = Known(
    Path(),
    means={
        ("kaf", 1): 0.005,
        ("kaf", 2): 0.0014,
        ("tanh", 3): 0.004,
        ("prelu", 3): 0.004,
        ("kaf2d", 2): 0.0014,
        ("kaf frozen", 1): 0.02,
        ("kaf frozen", 2): 0.0016,
        ("kaf from tanh", 1): 0.005,
        ("kaf from tanh", 2): 0.0016,
        ("kaf learned gamma", 1): 0.005,
        ("kaf learned gamma", 2): 0.0014,
    },
    noise={("kaf from tanh", 2): 0.8},
)


def test_verdicts_are_those_of_the_plan() -> None:
    found = {each.claim.number: each for each in judge(PLANNED, KNOWN)}
    outcomes = {number: each.outcome for number, each in found.items()}
    assert outcomes == {
        1: Outcome.CONFIRMED,
        2: Outcome.REFUTED,
        3: Outcome.REFUTED,
        4: Outcome.UNDECIDED,
        10: Outcome.CONFIRMED,
    }
    assert str(found[1]) == "confirmed"
    assert str(found[2]) == "refuted: equality within the margin is shown"
    assert str(found[3]) == "refuted: the opposite is shown for KAF, 2 layers / KAF frozen, 2 layers"
    assert str(found[4]).startswith(
        "undecided: no ratio, not even 1, would have been confirmed for KAF from tanh"
    )
    gain = replace(KNOWN, means=KNOWN.means | {("kaf learned gamma", 1): 0.003, ("kaf2d", 2): 0.00125})
    again = {each.claim.number: each for each in judge(PLANNED, gain)}
    assert str(again[2]) == "confirmed, by less than the margin"
    assert again[10].outcome is Outcome.REFUTED


def test_nothing_is_judged_before_its_runs_are_finished() -> None:
    found = judge(PLANNED, replace(KNOWN, missing=(("kaf2d", 2), 110)))
    outcomes = {each.claim.number: each.outcome for each in found}
    assert outcomes[2] is Outcome.UNFINISHED
    assert outcomes[1] is Outcome.CONFIRMED
    assert str(found[1]) == "not judged yet: 24 of 25 seeds"
    assert found[1].p_value is None
    assert found[1].comparisons[0].sureness is None


def test_tests_are_paired_t_tests_about_the_ratio() -> None:
    random = np.random.default_rng(0)
    ours, theirs = (random.uniform(0.01, 0.02, 25) for _ in range(2))

    def t(border: float, side: str) -> float:
        return float(stats.ttest_1samp(ours - border * theirs, 0, alternative=side).pvalue)

    within = max(t(0.75, "greater"), t(1.25, "less"))
    assert _sureness(PLANNED, "better", ours, theirs) == pytest.approx(
        (t(1, "less"), min(t(1, "greater"), within))
    )
    assert _sureness(PLANNED, "much better", ours, theirs) == pytest.approx(
        (t(0.5, "less"), t(0.5, "greater"))
    )
    beyond = min(1.0, 2 * min(t(0.75, "less"), t(1.25, "greater")))
    assert _sureness(PLANNED, "equal", ours, theirs) == pytest.approx((within, beyond))
    assert _sureness(PLANNED, "no gain", ours, theirs) == pytest.approx((t(0.75, "greater"), t(0.75, "less")))
    assert max(_sureness(PLANNED, "better", ours, theirs, 0.2)) > within


def test_what_could_have_been_seen_is_seen_in_four_of_five_studies() -> None:
    (_, pair, *_) = (found for each in judge(PLANNED, KNOWN) for found in each.comparisons)
    ours, theirs = (KNOWN.means[name] for name in pair.names)
    random = np.random.default_rng(1)
    deviation = pair.seen * theirs  # of means: found from the deviation, so scale back
    assert 0 < pair.seen < 0.2
    fresh = replace(KNOWN, fresh=True)
    cells = [fresh.cell("sensorless", "paper", *name) for name in pair.names]
    assert cells[0] is not None
    assert cells[1] is not None
    spread = np.std([cells[1].test[seed] - cells[0].test[seed] for seed in PLANNED.seeds], ddof=1)
    draws = random.normal(-deviation, spread, (4000, 25))
    p_values = stats.ttest_1samp(draws, 0, axis=1, alternative="less").pvalue
    assert np.mean(p_values < 0.05 / 5) == pytest.approx(0.8, abs=0.03)
    assert ours < theirs


def test_tables_and_forest_plot_show_all_comparisons() -> None:
    judged = judge(PLANNED, KNOWN)
    assert len(judged_table(judged).rows) == 5
    assert len(comparison_table(judged).rows) == 9
    figure = forest(judged, PLANNED.margin)
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names[0] == "claim 1: KAF, 2 layers / tanh, 3 layers"
    assert len(names) == 9
