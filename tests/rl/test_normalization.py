"""Normalized environments are Stable-Baselines3's."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from kafnets.rl.normalization import Normalized, OneEnvironment


@pytest.mark.parametrize("name", ["CartPole-v1", "Pendulum-v1", "InvertedPendulum-v5"])
@pytest.mark.parametrize("norm_reward", [False, True])
def test_the_same_to_the_last_bit(name: str, norm_reward: bool) -> None:
    """Beyond the end of episodes, and of one that is cut off."""

    def both() -> list[VecNormalize]:
        make: list[Callable[[], gymnasium.Env[Any, Any]]] = [
            lambda: Monitor(gymnasium.make(name, max_episode_steps=20))
        ]
        options: dict[str, Any] = {
            "norm_reward": norm_reward,
            "clip_obs": 1.5,
            "clip_reward": 1.5,
            "gamma": 0.9,
        }
        return [VecNormalize(DummyVecEnv(make), **options), Normalized(OneEnvironment(make), **options)]

    usual, own = both()
    for env in (usual, own):
        env.seed(0)
        env.action_space.seed(0)
    np.testing.assert_array_equal(usual.reset(), own.reset())
    ends = 0
    for _ in range(90):
        steps = [env.step(np.array([env.action_space.sample()])) for env in (usual, own)]
        for expected, found in zip(steps[0][:3], steps[1][:3], strict=True):
            assert isinstance(expected, np.ndarray)
            assert isinstance(found, np.ndarray)
            assert expected.dtype == found.dtype
            np.testing.assert_array_equal(expected, found)
        for kind in ("get_original_obs", "get_original_reward"):
            one, two = (getattr(env, kind)() for env in (usual, own))
            assert one.dtype == two.dtype
            np.testing.assert_array_equal(one, two)
        (one,), (two,) = steps[0][3], steps[1][3]
        assert one.keys() == two.keys()
        assert one["TimeLimit.truncated"] == two["TimeLimit.truncated"]
        if "episode" in one:
            ends += 1
            assert one["episode"]["r"] == two["episode"]["r"]
            np.testing.assert_array_equal(one["terminal_observation"], two["terminal_observation"])
    assert ends > 3
    for statistics in ("obs_rms", "ret_rms"):
        one, two = (getattr(env, statistics) for env in (usual, own))
        np.testing.assert_array_equal(one.mean, two.mean)
        np.testing.assert_array_equal(one.var, two.var)
        assert one.count == two.count


def test_a_second_environment_is_refused() -> None:
    make = [lambda: gymnasium.make("CartPole-v1")] * 2
    with pytest.raises(ValueError, match="takes one environment, got 2"):
        OneEnvironment(make)
