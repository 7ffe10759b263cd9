"""Normalized observations and rewards of one environment: as Stable-Baselines3 has them, to the last bit.

At each step the usual classes copy what nobody else has, and take means of single rows. With small networks
that is a large part of the time.
"""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.running_mean_std import RunningMeanStd
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecNormalize

Array = NDArray[Any]


class OneEnvironment(DummyVecEnv):
    """A single one, with one array as observation and a new dictionary of information for each step."""

    def __init__(self, env_fns: list[Callable[[], gymnasium.Env[Any, Any]]]) -> None:
        if len(env_fns) != 1:
            raise ValueError(f"OneEnvironment takes one environment, got {len(env_fns)}: use DummyVecEnv")
        super().__init__(env_fns)

    def step_wait(self) -> tuple[Array, Array, Array, list[dict[str, Any]]]:
        env: gymnasium.Env[Array, Array] = self.envs[0]
        observation, reward, terminated, truncated, info = env.step(self.actions[0])
        ended = terminated or truncated
        info["TimeLimit.truncated"] = truncated and not terminated
        if ended:
            info["terminal_observation"] = observation
            observation, self.reset_infos[0] = env.reset()
        seen = np.array(observation, self.observation_space.dtype)[None]
        return seen, np.array([reward], np.float32), np.array([ended]), [info]


class Normalized(VecNormalize):
    """For one environment, such as :class:`OneEnvironment`.

    Args:
        venv: a single environment.
        options: for ``VecNormalize``.
    """

    def __init__(self, venv: VecEnv, **options: Any) -> None:
        super().__init__(venv, **options)
        self.obs_rms = RowStatistics(shape=venv.observation_space.shape or ())  # type: ignore[assignment]
        self.ret_rms = RowStatistics()

    def normalize_obs(self, obs: Any) -> Any:
        """What is given stays as it is."""
        assert isinstance(self.obs_rms, RunningMeanStd)
        return self._normalize_obs(obs, self.obs_rms).astype(np.float32)

    def _normalize_obs(self, obs: Array, obs_rms: RunningMeanStd) -> Array:
        scaled = (obs - obs_rms.mean) / np.sqrt(obs_rms.var + self.epsilon)
        return _between(scaled, self.clip_obs)

    def normalize_reward(self, reward: Array) -> Array:
        if self.norm_reward:
            reward = _between(reward / np.sqrt(self.ret_rms.var + self.epsilon), self.clip_reward)
        return reward.astype(np.float32)


class RowStatistics(RunningMeanStd):
    """Running means and variances that are given a row at a time."""

    def update(self, arr: Array) -> None:
        # The row is its own mean and varies by 0; np.mean and np.var take ten times as long to say so.
        (row,) = arr
        self.update_from_moments(row, 0.0, 1)  # type: ignore[arg-type]


def _between(values: Array, bound: float) -> Array:
    """What np.clip gives, which looks at its arguments for longer than this takes."""
    return np.minimum(np.maximum(values, -bound), bound)
