"""The study of deep Q-learning."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.dqn import run
from benchmarks.study import Run
from kafnets.nn import KAF

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


def test_one_function_per_layer_is_one() -> None:
    activation, options = run.METHODS["kaf, one per layer"]
    assert activation == "kaf"
    assert KAF(80, **options).alpha.shape[0] == 1
