"""MuJoCo environments whose complete state can be stored, so that runs resume with bit-identical results."""

import json
import os
from typing import Any

import gymnasium
import numpy as np
import torch

try:
    import mujoco
except (AttributeError, RuntimeError) as error:  # what it says to a graphics library that is not there
    chosen = os.environ.get("MUJOCO_GL", "")
    raise OSError(
        f"MuJoCo cannot start with MUJOCO_GL={chosen} ({error}): choose another, or none"
    ) from error

from gymnasium.envs.mujoco import MujocoEnv
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.running_mean_std import RunningMeanStd
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from kafnets.rl.normalization import Normalized, OneEnvironment

State = dict[str, Any]


def environment(name: str, *, gamma: float, **options: Any) -> VecNormalize:
    """One environment, observations and rewards normalized by what has been seen so far, as the baseline did.

    Args:
        name: Gymnasium's.
        gamma: the discount, by which rewards are normalized.
        options: for ``gymnasium.make``.
    """
    inner = OneEnvironment([lambda: Monitor(gymnasium.make(name, **options))])
    return Normalized(inner, gamma=gamma)


def state_of(env: VecNormalize) -> State:
    """The complete state, as tensors, numbers and text. The episode continues."""
    monitor, limit, simulation = _parts(env)
    spec = mujoco.mjtState.mjSTATE_INTEGRATION
    physics = np.empty(mujoco.mj_stateSize(simulation.model, spec))
    mujoco.mj_getState(simulation.model, simulation.data, physics, spec)
    return {
        "physics": torch.from_numpy(physics),
        "random": json.dumps(simulation.np_random.bit_generator.state),
        "elapsed": limit._elapsed_steps,
        "rewards": list(map(float, monitor.rewards)),
        "total_steps": monitor.total_steps,
        "statistics": normalization_of(env),
        "returns": torch.from_numpy(env.returns),
    }


def restore(env: VecNormalize, state: State) -> None:
    """Make a new environment of the same kind be where the stored one was."""
    env.reset()
    monitor, limit, simulation = _parts(env)
    spec = mujoco.mjtState.mjSTATE_INTEGRATION
    mujoco.mj_setState(simulation.model, simulation.data, state["physics"].numpy(), spec)
    simulation.np_random.bit_generator.state = json.loads(state["random"])
    limit._elapsed_steps = state["elapsed"]
    monitor.rewards = list(state["rewards"])
    monitor.total_steps = state["total_steps"]
    normalize_as(env, state["statistics"])
    env.returns = state["returns"].numpy().copy()


def normalization_of(env: VecNormalize) -> State:
    """Running means and variances of observations and of discounted rewards."""
    return {
        name: {
            "mean": torch.as_tensor(np.asarray(running.mean)).clone(),
            "var": torch.as_tensor(np.asarray(running.var)).clone(),
            "count": float(running.count),
        }
        for name, running in _running(env)
    }


def normalize_as(env: VecNormalize, statistics: State) -> None:
    """Take over stored means and variances."""
    for name, running in _running(env):
        stored = statistics[name]
        running.mean, running.var = stored["mean"].numpy().copy(), stored["var"].numpy().copy()
        running.count = stored["count"]


def _running(env: VecNormalize) -> list[tuple[str, RunningMeanStd]]:
    assert isinstance(env.obs_rms, RunningMeanStd)
    return [("observations", env.obs_rms), ("rewards", env.ret_rms)]


def _parts(env: VecNormalize) -> tuple[Any, Any, Any]:
    """The wrappers that count, and the simulation."""
    inner = env.venv
    assert isinstance(inner, DummyVecEnv)
    found: dict[type, Any] = {}
    each: Any = inner.envs[0]
    while isinstance(each, gymnasium.Wrapper):
        found[type(each)] = each
        each = each.env
    assert isinstance(each, MujocoEnv)
    return found[Monitor], found[gymnasium.wrappers.TimeLimit], each
