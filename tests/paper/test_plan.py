"""The confirmatory study: its plan, and that its runs came after it."""

import subprocess
from datetime import datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kafnets.cli import app
from kafnets.comparison.statistics import LEVEL, POWER
from kafnets.paper.claims import CLAIMS
from kafnets.paper.evidence import Evidence
from kafnets.paper.plan import PLAN, Plan
from kafnets.paper.store import FRESH, Store
from kafnets.paper.verdicts import MUCH, TRIFLE

ROOT = Path(__file__).parents[2]
PLANNED = Plan.of(ROOT)
FRESH_RUNS = Evidence(ROOT / "results", fresh=True).records
STORED = [each for each in FRESH_RUNS if each.experiment == PLANNED.experiment]


def test_the_plan_is_about_the_same_claims_and_margins() -> None:
    assert [claim.number for claim in PLANNED.claims] == [1, 2, 3, 4, 10]
    assert all("Sensorless" in CLAIMS[number - 1].statement for number in (1, 2))
    assert (PLANNED.level, PLANNED.power, PLANNED.margin, PLANNED.factor) == (LEVEL, POWER, TRIFLE, MUCH)
    assert min(PLANNED.seeds) == FRESH
    assert len(PLANNED.seeds) >= 20


def test_seeds_are_completed_one_by_one() -> None:
    planned = PLANNED.descriptions()
    assert len(planned) == len(PLANNED.cells) * len(PLANNED.seeds) == 275
    assert [each.seed for each in planned] == sorted(each.seed for each in planned)
    assert {(each.label, len(each.hidden)) for each in planned[: len(PLANNED.cells)]} == set(PLANNED.cells)


def test_explored_seeds_and_fresh_ones_are_never_mixed() -> None:
    explored = Evidence.of(ROOT).records
    assert not {each.key for each in explored} & {each.key for each in FRESH_RUNS}
    assert len(explored) + len(FRESH_RUNS) == len(Store(ROOT / "results").records)
    planned = {(each.label, len(each.hidden), each.seed) for each in PLANNED.descriptions()}
    assert {(each.label, len(each.hidden), each.seed) for each in STORED} <= planned


def test_the_plan_is_older_than_its_runs() -> None:
    for record in STORED:
        assert datetime.fromisoformat(record.provenance["date"]) > PLANNED.date
        assert "uncommitted" not in record.provenance["commit"]


def git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True)


def test_runs_were_made_by_commits_that_have_the_plan_as_it_is() -> None:
    """So the plan's commit is not younger than theirs."""
    commits = {record.provenance["commit"] for record in STORED}
    known = [commit for commit in commits if git("cat-file", "-e", f"{commit}^{{commit}}").returncode == 0]
    if not known:
        pytest.skip("no run is stored, or this checkout has no history")
    for commit in known:
        assert git("show", f"{commit}:{PLAN}").stdout == (ROOT / PLAN).read_bytes(), commit


def test_stored_runs_are_not_repeated() -> None:
    left = Store(ROOT / "results").missing(PLANNED.descriptions())
    assert len(left) == len(PLANNED.descriptions()) - len(STORED)
    assert not {(each.label, each.hidden, each.seed) for each in left} & {
        (each.label, each.hidden, each.seed) for each in STORED
    }


def test_the_command_needs_a_checkout(tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["reproduce", "confirmatory", "--folder", str(tmp_path)])
    assert shown.exit_code == 2
    assert "must be a checkout of kafnets" in " ".join(shown.output.split())
