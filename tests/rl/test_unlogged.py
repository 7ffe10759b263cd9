"""Learning without logs is Stable-Baselines3's learning."""

from typing import Any

import pytest
import torch
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.policies import ActorCriticPolicy

from kafnets.rl import DQNPolicy, MlpPolicy
from kafnets.rl.unlogged import FUSED, UnloggedDQN, UnloggedPPO

SETTINGS: dict[Any, dict[str, Any]] = {
    PPO: {"n_steps": 128, "batch_size": 32, "n_epochs": 3},
    DQN: {"learning_starts": 20, "train_freq": 4, "gradient_steps": 2, "target_update_interval": 30},
}


def weights(algorithm: Any, policy: Any, env: str, settings: dict[str, Any], **options: Any) -> list[Any]:
    model = algorithm(policy, env, policy_kwargs=options, seed=0, device="cpu", **settings)
    model.learn(300)
    return list(model.policy.state_dict().values())


def assert_same(expected: list[Any], found: list[Any]) -> None:
    for one, two in zip(expected, found, strict=True):
        assert torch.equal(one, two)


@pytest.mark.parametrize("activation", ["tanh", "kaf"])
@pytest.mark.parametrize(
    ("usual", "own", "policy", "env"),
    [(PPO, UnloggedPPO, MlpPolicy, "Pendulum-v1"), (DQN, UnloggedDQN, DQNPolicy, "CartPole-v1")],
)
def test_the_same_to_the_last_bit(usual: Any, own: Any, policy: Any, env: str, activation: str) -> None:
    options = {"activation": activation, "net_arch": [8, 8]}
    learned = [weights(each, policy, env, SETTINGS[usual], **options) for each in (usual, own)]
    assert_same(*learned)


def test_policies_act_and_learn_as_the_usual_ones() -> None:
    usual = weights(PPO, ActorCriticPolicy, "Pendulum-v1", SETTINGS[PPO], net_arch=[8, 8])
    own = weights(UnloggedPPO, MlpPolicy, "Pendulum-v1", SETTINGS[PPO], net_arch=[8, 8], activation="tanh")
    assert_same(usual, own)


def test_one_call_for_all_parameters_differs_by_rounding() -> None:
    """Of few updates: later on rounding decides what happens."""
    steps = SETTINGS[PPO] | {"n_steps": 320, "n_epochs": 1}
    options = {"activation": "kaf", "net_arch": [8, 8]}
    usual, fused = (
        weights(UnloggedPPO, MlpPolicy, "Pendulum-v1", steps, **options, optimizer_kwargs={"eps": 1e-5} | how)
        for how in ({}, FUSED)
    )
    for one, two in zip(usual, fused, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("settings", [{"ent_coef": 0.01}, {"target_kl": 0.1}, {"clip_range_vf": 0.2}])
def test_other_settings_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="UnloggedPPO supports"):
        weights(UnloggedPPO, MlpPolicy, "Pendulum-v1", SETTINGS[PPO] | settings)
