"""Short runs of PPO on the real environments."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from stable_baselines3 import PPO
from typer.testing import CliRunner

from kafnets.cli import app
from kafnets.comparison.runner import execute
from kafnets.paper import rl
from kafnets.paper.evidence import Evidence, Missing
from kafnets.paper.figures import results
from kafnets.rl import ppo
from kafnets.rl.ppo import ENVIRONMENTS
from kafnets.train.runs import SHAPES, RunFolder

STEPS = 5000


class Killed(Exception):  # noqa: N818
    pass


def one(environment: str = "inverted_pendulum", activation: str = "kaf") -> rl.PolicyDescription:
    return rl.PolicyDescription(activation, environment, activation, seed=0, steps=STEPS)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rl")
    for activation in rl.ACTIVATIONS:
        assert execute(one(activation=activation), folder) == "trained"
    return folder


def test_report(finished: Path) -> None:
    folder = RunFolder(finished / one().folder)
    report = folder.report()
    assert report["data"] == {"name": "InvertedPendulum-v5", "task": "control"}
    assert [row["steps"] for row in report["epochs"]] == [2048, 4096, 6144]
    assert report["epochs"][-1]["validation_reward"] > report["epochs"][0]["validation_reward"]
    assert report["test"].keys() == {"reward", "area", "greedy"}
    curve = [row["validation_reward"] for row in report["epochs"]]
    assert report["test"]["area"] == pytest.approx(np.mean(curve))
    assert {"gymnasium", "mujoco", "stable-baselines3"} <= report["provenance"]["versions"].keys()
    with np.load(folder.path / SHAPES) as shapes:
        assert {"1/start/curves", "1/epoch 1/curves", "3/end/histogram"} <= set(shapes)
    assert execute(one(), finished) == "found finished"


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_goes_on_to_the_last_bit(environment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ppo.PPO, "n_steps", 320)
    monkeypatch.setattr(rl, "EPISODES", 1)
    description = rl.PolicyDescription("kaf", environment, "kaf", seed=3, steps=4 * 320, hidden=(8,))
    execute(description, tmp_path / "whole")

    def die(row: dict[str, Any]) -> None:
        if row["epoch"] == 3:
            raise Killed

    with pytest.raises(Killed):
        execute(description, tmp_path / "broken", progress=die)
    execute(description, tmp_path / "broken")
    whole, broken = (RunFolder(tmp_path / name / description.folder) for name in ("whole", "broken"))
    assert whole.report()["epochs"] == broken.report()["epochs"]
    assert whole.report()["test"] == broken.report()["test"]
    expected = whole.weights()["policy"]
    assert all(torch.equal(value, expected[name]) for name, value in broken.weights()["policy"].items())


def test_leaves_global_generators_alone(tmp_path: Path) -> None:
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # type: ignore[index] # noqa: NPY002
    execute(rl.PolicyDescription("tanh", "inverted_pendulum", "tanh", seed=0, steps=1, hidden=(4,)), tmp_path)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()  # type: ignore[index] # noqa: NPY002


def test_weights_that_are_no_longer_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def learn(model: PPO, *_: object, **__: object) -> None:
        with torch.no_grad():
            next(model.policy.parameters()).fill_(float("nan"))

    monkeypatch.setattr(PPO, "learn", learn)
    assert execute(one(), tmp_path) == "diverged"


def test_command(finished: Path) -> None:
    command = ["reproduce", "rl", "--envs", "inverted_pendulum", "--steps", str(STEPS), "--seeds", "1"]
    shown = CliRunner().invoke(app, [*command, "--output", str(finished)])
    assert shown.exit_code == 0, shown.output
    assert "InvertedPendulum-v5, 5,000 steps of PPO" in shown.output
    assert "final reward" in shown.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--envs", "pendulum"], "such as Hopper-v5; got 'pendulum'"),
        (["--envs", "CartPole-v1"], "got 'CartPole-v1'"),
        (["--activations", "kav"], "no activation is called 'kav'"),
    ],
)
def test_refusals(arguments: list[str], message: str) -> None:
    shown = CliRunner().invoke(app, ["reproduce", "rl", *arguments])
    assert shown.exit_code == 2
    assert message in shown.output


def test_figure(finished: Path, tmp_path: Path) -> None:
    figure = results.reinforcement_learning(Evidence(finished))
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["swimmer", "humanoidstandup", "inverted_pendulum, 1 seed"]
    assert [line.get_label() for line in figure.axes[2].lines] == ["tanh", "kaf"]
    with pytest.raises(Missing, match="kafnets reproduce rl"):
        results.reinforcement_learning(Evidence(tmp_path))


def test_profiles() -> None:
    assert rl.profile_of(1_000_000) == "paper"
    assert rl.profile_of(300_000) == "300000-steps"


def test_config_is_stored(finished: Path) -> None:
    config = json.loads((finished / one().folder / "config.json").read_text())
    assert config["ppo"]["n_steps"] == 2048
    assert (config["experiment"], config["profile"]) == ("rl", "5000-steps")
