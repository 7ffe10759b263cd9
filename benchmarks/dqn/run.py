"""Deep Q-learning with fixed and learned activations: see PLAN.md. One line of JSON per run.

python -m benchmarks.dqn.run    # continues where an earlier call left off

Needs `pip install '.[rl]' 'gymnasium[box2d]'`.
"""

import argparse
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from gymnasium.spaces import Discrete
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import sync_envs_normalization
from torch import nn

import kafnets
from benchmarks.study import Run, run_missing
from benchmarks.tables.run import stored
from benchmarks.when.methods import size, widest
from kafnets.randomness import own_randomness
from kafnets.rl import DQNPolicy
from kafnets.rl.normalization import Normalized, OneEnvironment
from kafnets.rl.unlogged import FUSED, UnloggedDQN

OUTPUT = Path("benchmarks/results/dqn.jsonl")


@dataclass(frozen=True)
class Task:
    """Steps in the environment, and settings of Stable-Baselines3's DQN."""

    steps: int
    settings: dict[str, Any]


TASKS = {
    "CartPole-v1": Task(
        50_000,
        {
            "batch_size": 64,
            "buffer_size": 100_000,
            "learning_starts": 1000,
            "target_update_interval": 10,
            "train_freq": 256,
            "gradient_steps": 128,
            "exploration_fraction": 0.16,
            "exploration_final_eps": 0.04,
        },
    ),
    "LunarLander-v3": Task(
        50_000,
        {
            "batch_size": 128,
            "buffer_size": 50_000,
            "learning_starts": 0,
            "target_update_interval": 250,
            "train_freq": 4,
            "gradient_steps": 2,
            "exploration_fraction": 0.12,
            "exploration_final_eps": 0.1,
        },
    ),
}
"""By Gymnasium's names."""

LEARNED: dict[str, Any] = {"init": "elu", "tails": "linear"}
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "relu": ("relu", {}),
    "tanh": ("tanh", {}),
    "kaf": ("kaf", LEARNED),
    "kaf, one per layer": ("kaf", LEARNED | {"groups": 1}),
    "rational, one per layer": ("rational", {"groups": 1}),
}
"""Activations with their options."""
FIXED = ("relu", "tanh")

RATES = (5e-4, 2e-3)
PILOT, FRESH = range(2), range(100, 116)
"""Seeds that choose the learning rate, and those that are judged."""
WIDTH = 64
"""Of the two hidden layers with a KAF per neuron; the others have as many parameters."""
POINTS = 50
"""Of a curve."""
EPISODES = 10
"""Without exploration, at the end."""


class Episodes(BaseCallback):
    """When the episodes of training ended, and their rewards."""

    def __init__(self) -> None:
        super().__init__()
        self.ended: list[tuple[int, float]] = []

    def _on_step(self) -> bool:
        self.ended += [
            (self.num_timesteps, float(info["episode"]["r"]))
            for info in self.locals["infos"]
            if "episode" in info
        ]
        return True


def curve(ended: Sequence[tuple[int, float]], steps: int) -> list[float]:
    """Mean rewards of the episodes that ended in each of ``POINTS`` equal parts of the steps.

    Where none ended, it is the point before; at the beginning, the first one that exists.
    """
    parts: list[list[float]] = [[] for _ in range(POINTS)]
    for step, reward in ended:
        parts[min(POINTS - 1, (step - 1) * POINTS // steps)].append(reward)
    found: list[float] = []
    last = next(fmean(part) for part in parts if part)
    for part in parts:
        last = fmean(part) if part else last
        found.append(round(last, 4))
    return found


def width_of(method: str, inputs: int, outputs: int) -> int:
    """The largest even one with at most as many parameters as two layers of ``WIDTH`` with KAFs have."""

    def network(name: str, width: int, generator: torch.Generator | None = None) -> nn.Sequential:
        activation, options = METHODS[name]
        return kafnets.mlp(inputs, (width, width), outputs, activation, generator=generator, **options)

    largest = widest(method, lambda *sizes: network(method, *sizes), size(network("kaf", WIDTH)), seed=0)
    first = largest[0] if isinstance(largest, nn.Sequential) else None
    assert isinstance(first, nn.Linear)
    return first.out_features


def environment(name: str, seed: int) -> Normalized:
    """Observations are normalized by what has been seen so far."""
    return Normalized(make_vec_env(name, seed=seed, vec_env_cls=OneEnvironment), norm_reward=False)


def train(run: Run) -> dict[str, Any]:
    """One agent."""
    task, (activation, options) = TASKS[run.task], METHODS[run.method]
    with own_randomness():
        env, other = environment(run.task, run.seed), environment(run.task, run.seed + 10_000)
        (inputs,), actions = env.observation_space.shape or (0,), env.action_space
        assert isinstance(actions, Discrete)
        width = width_of(run.method, inputs, int(actions.n))
        model = UnloggedDQN(
            DQNPolicy,
            env,
            run.rate,
            policy_kwargs={
                "activation": activation,
                "activation_options": options,
                "net_arch": [width, width],
                "optimizer_kwargs": FUSED,
            },
            seed=run.seed,
            device="cpu",
            **task.settings,
        )
        episodes = Episodes()
        model.learn(task.steps, episodes)
        sync_envs_normalization(env, other)
        other.training = False
        rewards, _ = evaluate_policy(model, other, EPISODES, return_episode_rewards=True)
    assert isinstance(rewards, list)
    points = curve(episodes.ended, task.steps)
    return {
        "scores": {
            "area": fmean(points),
            "final": fmean(points[-POINTS // 10 :]),
            "greedy": float(fmean(rewards)),
        },
        "curve": points,
        "width": width,
        "parameters": size(model.q_net),
    }


def rates(lines: Sequence[dict[str, Any]]) -> dict[tuple[str, str], float]:
    """By task and method, that with the largest mean area over the pilot's seeds.

    A task and method whose pilot is not finished is left out.
    """
    found = {}
    for task, method in itertools.product(TASKS, METHODS):
        areas = {
            rate: {
                line["seed"]: line["scores"]["area"]
                for line in lines
                if (line["task"], line["method"], line["rate"]) == (task, method, rate)
            }
            for rate in RATES
        }
        if all(own.keys() >= set(PILOT) for own in areas.values()):
            found[task, method] = max(RATES, key=lambda rate: fmean(areas[rate][seed] for seed in PILOT))
    return found


def planned(path: Path) -> Iterator[Run]:
    """All runs, seed by seed: first the pilot's, which have to be stored when the others are asked for."""
    for seed, rate, task, method in itertools.product(PILOT, RATES, TASKS, METHODS):
        yield Run(task, method, rate, seed)
    chosen = rates(list(stored(path)))
    for seed, task, method in itertools.product(FRESH, TASKS, METHODS):
        yield Run(task, method, chosen[task, method], seed)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=OUTPUT)
    given = parser.parse_args(arguments)
    run_missing(planned(given.output), given.output, train, "gymnasium", "stable-baselines3")


if __name__ == "__main__":
    main()
