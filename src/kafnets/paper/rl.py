"""Reinforcement learning: PPO on MuJoCo, policies of two hidden layers of 64. Figure 9.

The paper does not say how long it trained, nor whether the value network keeps its tanh. Here a run has
1,000,000 steps, as in the PPO paper, and both networks of an agent have the same activation.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kafnets.inspection.snapshots import Snapshots
from kafnets.provenance import provenance
from kafnets.randomness import own_randomness
from kafnets.registry import find
from kafnets.rl import ppo
from kafnets.train.loop import Progress
from kafnets.train.processes import OneProcess, Processes
from kafnets.train.runs import RunFolder
from kafnets.train.tensorboard import listening

ACTIVATIONS = ("tanh", "kaf")
ENVIRONMENTS = tuple(ppo.ENVIRONMENTS)
STEPS = 1_000_000
HIDDEN = (64, 64)

RECENT = 100
"""The curve is the mean reward of so many last episodes, as the baseline logs it."""

LAST = 0.1
"""The final reward is the mean over episodes that end in this share of the steps."""

EPISODES = 10
"""For the reward of the trained policy without its noise."""


@dataclass(frozen=True)
class PolicyDescription:
    """One run of PPO.

    Attributes:
        label: the name of the activation in tables.
        environment: one of ``ENVIRONMENTS``, or Gymnasium's name of another MuJoCo environment.
        activation: a registered name.
        seed: of the initial weights, the environment, and everything random in training.
        steps: in the environment, rounded up to whole iterations.
        options: for the activation.
        hidden: widths of the hidden layers.
    """

    label: str
    environment: str
    activation: str
    seed: int
    steps: int = STEPS
    options: dict[str, Any] = field(default_factory=dict)
    hidden: tuple[int, ...] = HIDDEN
    experiment: str = "rl"

    @property
    def profile(self) -> str:
        """The name for its number of steps."""
        return profile_of(self.steps)

    @property
    def data(self) -> str:
        """Gymnasium's name."""
        return ppo.gymnasium_name(self.environment)

    @property
    def folder(self) -> Path:
        """Where its run folder is, below the folder of results."""
        layers = f"{len(self.hidden)}x{self.hidden[0]}"
        network = f"{self.label}-{layers}".replace(" ", "_")
        return Path(self.experiment) / self.profile / self.environment / network / f"seed-{self.seed}"

    def config(self) -> dict[str, Any]:
        """For the run folder."""
        return asdict(self) | {"profile": self.profile, "data": self.data, "ppo": ppo.PPO}

    def processes(self) -> Processes:
        """This one, on the processor: the networks are small."""
        return OneProcess()

    def train(
        self, folder: RunFolder, processes: Processes, progress: Progress | None, tensorboard: bool
    ) -> None:
        """Carry it out, from where the folder's checkpoint left off."""
        from kafnets.rl.agent import Agent

        with own_randomness(), listening(progress, folder.path, tensorboard=tensorboard) as told:
            agent = Agent(self.data, self.activation, self.hidden, self.options, self.seed)
            history = _History(Snapshots(self.seed == 0))
            stored = folder.load_checkpoint()
            if stored is not None:
                agent.restore(stored["agent"])
                history.restore(stored["history"])
            while agent.steps < self.steps:
                told(history.iterate(agent))
                folder.save_checkpoint({"agent": agent.state(), "history": history.state()})
            history.snapshots.take(agent.policy_network, agent.observations, "end")
            greedy = agent.evaluate(EPISODES, self.seed)
        test = {
            "reward": history.final(self.steps),
            "area": float(np.mean([row["validation_reward"] for row in history.rows])),
            "greedy": greedy,
        }
        report = {
            "data": {"name": self.data, "task": "control"},
            "rows": [agent.steps, 0, 0],
            "parameters": agent.parameters,
            "trained_parameters": agent.parameters,
            "test": test,
            "validation": {"reward": history.rows[-1]["validation_reward"]},
            "best_epoch": len(history.rows),
            "seconds_of_training": history.seconds,
            "epochs": history.rows,
            "processes": 1,
            "threads": torch.get_num_threads(),
            "provenance": provenance("gymnasium", "mujoco", "stable-baselines3"),
        }
        folder.finish(report, agent.weights(), history.snapshots.arrays)


class _History:
    """What has happened so far."""

    def __init__(self, snapshots: Snapshots) -> None:
        self.snapshots = snapshots
        self.rows: list[dict[str, Any]] = []
        self.episodes: list[tuple[int, float]] = []
        self.seconds = 0.0

    def iterate(self, agent: Any) -> dict[str, Any]:
        """One iteration of the agent, as a row."""
        begin, number = time.perf_counter(), len(self.rows) + 1
        first = agent.copied_policy_network() if number == 1 else None
        ended = agent.iterate()
        self.seconds += time.perf_counter() - begin
        self.episodes += [(agent.steps, reward) for reward in ended]
        recent = [reward for _, reward in self.episodes[-RECENT:]]
        row = {
            "epoch": number,
            "steps": agent.steps,
            "episodes": len(ended),
            # Before the first episode ends there is nothing to tell.
            "validation_reward": float(np.mean(recent)) if recent else 0.0,
        }
        self.rows.append(row)
        if first is not None:
            self.snapshots.take(first, agent.observations, "start")
        self.snapshots.after_epoch(number, agent.policy_network, agent.observations)
        return row

    def final(self, steps: int) -> float:
        """Mean reward of the last episodes."""
        late = [reward for step, reward in self.episodes if step > (1 - LAST) * steps]
        return float(np.mean(late or [reward for _, reward in self.episodes[-1:]]))

    def state(self) -> dict[str, Any]:
        """For a checkpoint."""
        return {
            "snapshots": self.snapshots.state(),
            "rows": self.rows,
            "episodes": self.episodes,
            "seconds": self.seconds,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """From a checkpoint."""
        self.snapshots.restore(state["snapshots"])
        self.rows, self.episodes, self.seconds = state["rows"], state["episodes"], state["seconds"]


def descriptions(
    environments: Sequence[str] = ENVIRONMENTS,
    activations: Sequence[str] = ACTIVATIONS,
    steps: int = STEPS,
    seeds: int = 5,
) -> list[PolicyDescription]:
    """One per environment, activation and seed; seed by seed, so that early results can be compared."""
    for name in activations:
        find(name)
    # Each once, however it is called.
    every = dict.fromkeys(map(ppo.short_name, environments))
    return [
        PolicyDescription(name, environment, name, seed, steps)
        for seed in range(seeds)
        for environment in every
        for name in dict.fromkeys(activations)
    ]


def profile_of(steps: int) -> str:
    """For the PPO paper's number of steps it is "paper"."""
    return "paper" if steps == STEPS else f"{steps}-steps"
