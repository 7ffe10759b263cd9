"""What it costs to act with a policy of KAFs beside one of tanh: whole steps in MuJoCo's environments."""

from collections.abc import Callable
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from kafnets.ops import use_backend
from kafnets.provenance import provenance
from kafnets.timing import interleaved, threads

ACTIVATIONS = ("tanh", "kaf", "kaf2d")
HIDDEN = (64, 64)
PACKAGES = ("gymnasium", "mujoco", "stable-baselines3")
STEPS = 100
"""In one repetition."""


def run(*, quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """Times of some steps by environment and activation, on one thread, as Stable-Baselines3 acts."""
    from kafnets.rl.agent import Agent, own_randomness
    from kafnets.rl.environments import ENVIRONMENTS

    result: dict[str, Any] = {"provenance": provenance(*PACKAGES), "profile": "quick" if quick else "full"}
    result["steps"] = STEPS
    result["times"] = {}
    with threads(1), own_randomness():
        for environment in ENVIRONMENTS.values():
            say(f"{environment}: checking")
            agents = {name: Agent(environment, name, HIDDEN, {}, 0) for name in ACTIVATIONS}
            for agent in agents.values():
                check(agent)
            say(f"{environment}: timing")
            runs = {name: _acting(agent) for name, agent in agents.items()}
            timings = interleaved(runs, seconds_a_run=1 if quick else 20)
            result["times"][environment] = {name: timing.as_dict() for name, timing in timings.items()}
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
    observation = agent.env.reset()

    def steps() -> None:
        nonlocal observation
        for _ in range(STEPS):
            action, _ = agent.model.predict(observation)
            observation, *_ = agent.env.step(action)

    return steps


def bars(result: dict[str, Any]) -> list[dict[str, Any]]:
    """What was asked for: nine tenths of the steps at least."""
    found = []
    for environment, times in result["times"].items():
        rate = times["tanh"]["median"] / times["kaf"]["median"]
        what = f"{environment}: steps a second with KAF / with tanh, acting"
        found.append({"what": what, "measured": rate, "bar": ">= 0.9", "met": rate >= 0.9})
    return found


def print_result(result: dict[str, Any], console: Console) -> None:
    """Steps a second, relative to tanh."""
    table = Table("environment", *(f"{name} / tanh" for name in ACTIVATIONS), title="steps a second")
    for environment, times in result["times"].items():
        ratios = (f"{times['tanh']['median'] / times[name]['median']:.2f}" for name in ACTIVATIONS)
        table.add_row(environment, *ratios)
    console.print(table)
    for bar in result["bars"]:
        console.print(f"{bar['what']}: {bar['measured']:.2f} {'met' if bar['met'] else 'NOT MET'}")
