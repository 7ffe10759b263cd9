"""The study of deep Q-learning."""

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.dqn import page, run
from benchmarks.study import Run
from benchmarks.tables.run import stored
from kafnets.nn import KAF
from tests.paper.test_plan import git

ROOT = Path(__file__).parents[1]


def line(task: str, method: str, rate: float, seed: int, area: float) -> dict[str, Any]:
    return {"task": task, "method": method, "rate": rate, "seed": seed, "scores": {"area": area}}


def test_curves_are_means_of_the_episodes_that_ended_in_each_part() -> None:
    ended = [(250, 1.0), (300, 3.0), (401, 5.0), (1000, 7.0)]
    found = run.curve(ended, 1000)
    assert len(found) == run.POINTS == 50
    assert found[:15] == [1.0] * 14 + [3.0]  # none before the first: as the first
    assert found[20] == 5.0
    assert found[-2:] == [5.0, 7.0]


@pytest.mark.parametrize("method", run.METHODS)
def test_networks_have_as_many_parameters(method: str) -> None:
    assert run.width_of("kaf", 4, 2) == run.WIDTH
    assert run.width_of(method, 4, 2) in (64, 80)


def test_runs_are_stored_once_and_pilots_choose_the_rates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two methods, with few steps."""
    (name, task) = next(iter(run.TASKS.items()))
    settings = task.settings | {"learning_starts": 50, "train_freq": 16, "gradient_steps": 1}
    monkeypatch.setattr(run, "TASKS", {name: replace(task, steps=200, settings=settings)})
    monkeypatch.setattr(run, "METHODS", {key: run.METHODS[key] for key in ("kaf", "kaf, one per layer")})
    monkeypatch.setattr(run, "PILOT", range(1))
    monkeypatch.setattr(run, "FRESH", range(100, 101))
    monkeypatch.setattr(run, "EPISODES", 1)
    output = tmp_path / "dqn.jsonl"
    for _ in range(2):
        run.main([f"--output={output}"])
    lines = [json.loads(each) for each in output.read_text().splitlines()]
    assert [each["seed"] for each in lines] == [0, 0, 0, 0, 100, 100]
    chosen = run.rates(lines)
    for each in lines[4:]:
        assert each["rate"] == chosen[name, each["method"]]
        assert each["scores"].keys() == {"area", "final", "greedy"}
        assert each["provenance"]["versions"]["stable-baselines3"]
    again = run.train(Run(name, "kaf", run.RATES[0], 0))
    assert again["curve"] == lines[0]["curve"]


def test_the_pilot_decides_when_it_is_finished() -> None:
    task, method, (low, high) = "CartPole-v1", "kaf", run.RATES
    lines = [line(task, method, rate, seed, 10 * rate) for rate in run.RATES for seed in run.PILOT]
    lines.append(line(task, method, low, 100, 1e6))  # of the study: chooses nothing
    assert run.rates(lines) == {(task, method): high}
    assert run.rates(lines[1:]) == {}


def whole(task: str, method: str, rate: float, seed: int, area: float) -> dict[str, Any]:
    scores = {"area": area, "final": 2 * area, "greedy": 3 * area}
    rest = {"curve": [area] * run.POINTS, "width": 64, "parameters": 7170, "seconds": {"fit_cpu": 60.0}}
    return line(task, method, rate, seed, area) | rest | {"scores": scores}


def finished(kaf: float) -> list[dict[str, Any]]:
    """All runs, with noise of standard deviation 1 and so much more area for KAFs per neuron."""
    noise = np.random.default_rng(0)
    low, lines = run.RATES[0], []
    for task, method in itertools.product(run.TASKS, run.METHODS):
        mean = {"kaf": 50 + kaf, "tanh": 49.0}.get(method, 50.0)
        lines += [
            whole(task, method, rate, seed, mean - 10 * rate) for rate in run.RATES for seed in run.PILOT
        ]
        lines += [whole(task, method, low, seed, mean + noise.standard_normal()) for seed in run.FRESH]
    return lines


def test_tables_follow_the_plan() -> None:
    lines = finished(kaf=5.0)
    assert page.fixed_one(lines) == dict.fromkeys(run.TASKS, "relu")
    shown = page.tests_table(lines)
    own = [row for row in shown.rows if row[0] == "CartPole-v1"]
    assert [row[1:3] for row in own] == [
        ("kaf", "relu"),
        ("kaf, one per layer", "relu"),
        ("kaf, one per layer", "kaf"),
        ("rational, one per layer", "relu"),
    ]
    assert {row[3] for row in own} == {"16"}
    assert float(own[0][5]) < 0.001 < float(own[1][5])
    areas = [
        [
            each["scores"]["area"]
            for each in lines
            if each["seed"] >= 100 and each["task"] == "CartPole-v1" and each["method"] == method
        ]
        for method in ("kaf", "relu")
    ]
    assert own[0][4].startswith(f"{np.mean(areas[0]) - np.mean(areas[1]):+.1f} (")
    assert own[3][5] == "-"  # not judged
    assert len(page.score_table(lines).rows) == 10
    assert page.score_table(lines).rows[0][:3] == ("CartPole-v1", "relu", "64")
    assert len(page.picture(lines).axes) == 2


def test_unfinished_studies_have_no_p_values() -> None:
    lines = finished(kaf=5.0)[:-1]
    shown = page.tests_table(lines)
    assert {row[5] for row in shown.rows} == {"-"}
    assert {row[3] for row in shown.rows if row[0] == "LunarLander-v3"} == {"15"}
    pilot = [each for each in lines if each["seed"] < 100]
    assert page.judged(pilot) == {}
    assert page.NONE_YET in page.page("<!-- generated: dqn-tests -->\n<!-- end -->", pilot)


def test_the_page_says_what_is_stored() -> None:
    lines = list(stored(ROOT / run.OUTPUT))
    text = (ROOT / page.PAGE).read_text(encoding="utf-8")
    assert page.page(text, lines) == text
    assert (ROOT / page.PICTURE).exists() == bool(page.judged(lines))
    planned = (ROOT / "benchmarks/dqn/PLAN.md").read_bytes()
    for commit in {each["provenance"]["commit"] for each in lines}:
        assert "uncommitted" not in commit
        if git("cat-file", "-e", f"{commit}^{{commit}}").returncode == 0:
            assert git("show", f"{commit}:benchmarks/dqn/PLAN.md").stdout == planned


def test_one_function_per_layer_is_one() -> None:
    activation, options = run.METHODS["kaf, one per layer"]
    assert activation == "kaf"
    assert KAF(80, **options).alpha.shape[0] == 1
