"""What it costs to act with a policy of KAFs beside one of tanh: whole steps in MuJoCo's environments."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kafnets.comparison.table import Table
from kafnets.ops import use_backend
from kafnets.provenance import provenance
from kafnets.randomness import own_randomness
from kafnets.timing import in_turns, threads

ACTIVATIONS = ("tanh", "kaf", "kaf2d")
HIDDEN = (64, 64)
PACKAGES = ("gymnasium", "mujoco", "stable-baselines3")
STEPS = 25
"""In one turn, which is short: the speed of a machine drifts."""


def run(*, quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """Steps a second over those with tanh, by environment and activation, on one thread, as Stable-Baselines3
    acts.

    The median over turns of the ratio within a turn. Actions are chosen, but the environment is given others,
    the same for all: how often a policy falls and is put up again is not what is measured.
    """
    from kafnets.rl.agent import Agent
    from kafnets.rl.ppo import ENVIRONMENTS

    result: dict[str, Any] = {"provenance": provenance(*PACKAGES), "profile": "quick" if quick else "full"}
    result["steps"] = STEPS
    result["turns"] = 40 if quick else 800
    result["ratios"] = {}
    with threads(1), own_randomness():
        for environment in ENVIRONMENTS.values():
            say(f"{environment}: checking")
            agents = {name: Agent(environment, name, HIDDEN, {}, 0) for name in ACTIVATIONS}
            for agent in agents.values():
                check(agent)
            say(f"{environment}: timing")
            runs = {name: _acting(agent) for name, agent in agents.items()}
            times = in_turns(runs, result["turns"])
            result["ratios"][environment] = {
                name: _percentiles(times["tanh"] / own) for name, own in times.items()
            }
    result["bars"] = bars(result)
    return result


def check(agent: Any) -> None:
    """The policy must choose the same actions with the fused kernels as with the plain formula."""
    seen = torch.randn(64, *agent.env.observation_space.shape, generator=torch.Generator().manual_seed(0))
    chosen, _ = agent.model.predict(seen.numpy(), deterministic=True)
    with use_backend("composite"):
        plain, _ = agent.model.predict(seen.numpy(), deterministic=True)
    if not abs(chosen - plain).max() < 1e-4 * abs(plain).max():
        raise AssertionError("the policy's actions depend on which kernels compute them")


def _acting(agent: Any) -> Callable[[], None]:
    agent.env.seed(0)
    observation = agent.env.reset()
    generator = np.random.default_rng(0)

    def steps() -> None:
        nonlocal observation
        for _ in range(STEPS):
            chosen, _ = agent.model.predict(observation)
            observation, *_ = agent.env.step(generator.uniform(-1, 1, chosen.shape).astype(chosen.dtype))

    return steps


def _percentiles(ratios: NDArray[np.float64]) -> dict[str, float]:
    return {
        f"p{each}" if each != 50 else "median": float(np.percentile(ratios, each)) for each in (10, 50, 90)
    }


def bars(result: dict[str, Any]) -> list[dict[str, Any]]:
    """What was asked for: nine tenths of the steps at least."""
    found = []
    for environment, ratios in result["ratios"].items():
        rate = ratios["kaf"]["median"]
        what = f"{environment}: steps a second with KAF / with tanh, acting"
        found.append({"what": what, "measured": rate, "bar": ">= 0.9", "met": rate >= 0.9})
    return found


def tables(result: dict[str, Any]) -> list[Table]:
    """Steps per second, relative to tanh."""
    rows = (
        (environment, *(f"{ratios[name]['median']:.2f}" for name in ACTIVATIONS))
        for environment, ratios in result["ratios"].items()
    )
    headings = ("environment", *(f"{name} / tanh" for name in ACTIVATIONS))
    return [Table("steps per second", headings, tuple(rows))]
