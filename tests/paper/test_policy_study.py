"""The planned study of policies: its plan, that its runs came after it, and verdicts on known scores."""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

from kafnets.cli import app
from kafnets.comparison.statistics import LEVEL
from kafnets.comparison.summary import Cell
from kafnets.paper import rl
from kafnets.paper.evidence import Evidence
from kafnets.paper.policy_study import PLAN, PolicyPlan, judge, policy_table
from kafnets.paper.store import FRESH, Store
from kafnets.paper.verdicts import Outcome
from kafnets.rl import ppo
from tests.paper.test_plan import git

ROOT = Path(__file__).parents[2]
PLANNED = PolicyPlan.of(ROOT)
STORED = [each for each in Evidence(ROOT / "results", fresh=True).records if each.experiment == "rl"]


@dataclass(frozen=True)
class Known(Evidence):
    """With these differences of areas, and normal noise with a standard deviation of 1."""

    differences: dict[str, float] = field(default_factory=dict)
    missing: str = ""

    def rewards(self, steps: int, environment: str, metric: str) -> dict[str, Cell]:
        assert self.fresh
        assert (steps, metric) == (PLANNED.steps[environment], "area")
        means = {"tanh": 100.0, "kaf": 100 + self.differences[environment]}
        random = np.random.default_rng(1)
        found = {}
        for label, mean in means.items():
            seeds = [seed for seed in PLANNED.seeds if environment != self.missing or seed != 103]
            scores = {seed: mean + float(random.standard_normal()) for seed in seeds}
            found[label] = Cell(label, 2, environment, "area", scores, {}, 8, 100, 0.0)
        return found


def test_the_plan_is_about_the_papers_environments() -> None:
    assert set(PLANNED.steps) == set(rl.ENVIRONMENTS)
    assert {PLANNED.theirs, PLANNED.ours} == set(rl.ACTIVATIONS)
    assert PLANNED.level == LEVEL
    assert min(PLANNED.seeds) == FRESH
    assert len(PLANNED.seeds) == 8
    planned = PLANNED.descriptions()
    assert len(planned) == 48
    assert [each.seed for each in planned] == sorted(each.seed for each in planned)
    assert {(each.environment, each.label) for each in planned[:6]} == {
        (environment, label) for environment in PLANNED.steps for label in rl.ACTIVATIONS
    }


def test_the_plan_counts_on_the_exploratory_seeds() -> None:
    text = (ROOT / PLAN).read_text(encoding="utf-8")
    evidence = Evidence.of(ROOT)
    for environment, name in zip(
        PLANNED.steps, ("Swimmer", "InvertedPendulum", "HumanoidStandup"), strict=True
    ):
        areas = evidence.rewards(300_000, environment, "area")
        ours, theirs = (areas[label].test for label in ("kaf", "tanh"))
        differences = np.array([ours[seed] - theirs[seed] for seed in range(3)])
        mean, deviation = differences.mean(), differences.std(ddof=1)
        powers = [
            stats.nct.sf(stats.t.ppf(1 - LEVEL / 3, seeds - 1), seeds - 1, abs(mean) / deviation * seeds**0.5)
            for seeds in (5, 8, 12, 20)
        ]
        digits = 0 if mean > 1000 else 1
        row = [name, f"{mean:+,.{digits}f} ± {deviation:,.{digits}f}", *(f"{power:.2f}" for power in powers)]
        assert f"| {' | '.join(row)} |" in text


def test_the_plan_is_older_than_its_runs() -> None:
    planned = {(each.environment, each.steps, each.label, each.seed) for each in PLANNED.descriptions()}
    for record in STORED:
        config = record.config
        assert (config["environment"], config["steps"], record.label, record.seed) in planned
        assert datetime.fromisoformat(record.provenance["date"]) > PLANNED.date
        commit = record.provenance["commit"]
        assert "uncommitted" not in commit
        if git("cat-file", "-e", f"{commit}^{{commit}}").returncode == 0:
            assert git("show", f"{commit}:{PLAN}").stdout == (ROOT / PLAN).read_bytes(), commit


def test_verdicts_are_those_of_the_plan() -> None:
    known = Known(Path(), differences={"swimmer": 5.0, "inverted_pendulum": -5.0, "humanoidstandup": 0.0})
    judged = judge(PLANNED, known)
    assert [each.outcome for each in judged] == [Outcome.CONFIRMED, Outcome.REFUTED, Outcome.UNDECIDED]
    assert str(judged[1]) == "refuted: the opposite is shown"
    assert "would have been confirmed" in str(judged[2])
    one = judged[0]
    assert one.ours is not None
    assert one.theirs is not None
    expected = stats.ttest_rel(
        list(one.ours.test.values()), list(one.theirs.test.values()), alternative="greater"
    )
    assert one.p_value == pytest.approx(3 * expected.pvalue)
    assert one.effect.difference == pytest.approx(one.ours.mean - one.theirs.mean)
    rows = policy_table(judged).rows
    assert rows[0][:3] == ("swimmer", "1,000,000", "8")
    assert rows[0][6] == "**confirmed**"


def test_environments_with_missing_seeds_are_not_judged() -> None:
    known = Known(Path(), differences=dict.fromkeys(PLANNED.steps, 5.0), missing="swimmer")
    judged = judge(PLANNED, known)
    assert str(judged[0]) == "not judged yet: 7 of 8 seeds"
    assert judged[0].p_value is None
    assert judged[1].outcome is Outcome.CONFIRMED
    empty = judge(PLANNED, Evidence(Path("none")))
    assert {str(each) for each in empty} == {"not judged yet: 0 of 8 seeds"}
    assert policy_table(empty).rows[0][3:6] == ("-", "-", "-")


def test_the_command_runs_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two seeds of one environment, with one short iteration per run."""
    monkeypatch.setitem(ppo.PPO, "n_steps", 64)
    monkeypatch.setattr(rl, "EPISODES", 1)
    plan = (ROOT / PLAN).read_text(encoding="utf-8")
    for steps in ("1_000_000", "300_000"):
        plan = plan.replace(f"= {steps}", "= 1")
    plan = plan.replace("humanoidstandup = 1\n", "").replace("swimmer = 1\n", "")
    (tmp_path / PLAN).parent.mkdir()
    (tmp_path / PLAN).write_text(plan.replace("[100, 107]", "[100, 101]"), encoding="utf-8")
    command = ["reproduce", "confirmatory", "--study", "policies", "--folder", str(tmp_path)]
    result = CliRunner().invoke(app, [*command, "--output", str(tmp_path / "runs")])
    assert result.exit_code == 0, result.output
    assert "4 of 4 planned runs are finished" in result.output
    assert (tmp_path / "runs/rl/1-steps/inverted_pendulum/kaf-2x64/seed-101/DONE").exists()

    store = tmp_path / "results"
    store.mkdir()
    assert len(Store(store).add(tmp_path / "runs")) == 4
    assert {path.name for path in store.iterdir()} == {"rl-confirmatory.jsonl", "SHA256SUMS"}
    assert Evidence(store).policies(1, "inverted_pendulum") == []
    (judged,) = judge(PolicyPlan.of(tmp_path), Evidence(store))
    assert judged.ours is not None
    assert set(judged.ours.test) == {100, 101}
    assert judged.outcome is not Outcome.UNFINISHED
