"""Policies of Stable-Baselines3 with activations from the registry."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3 import A2C, DDPG, DQN, PPO, SAC, TD3

import kafnets
from kafnets import rl

CONTINUOUS, DISCRETE = "Pendulum-v1", "CartPole-v1"
FEW = {"PPO": {"n_steps": 32, "batch_size": 16, "n_epochs": 1}}
ON_POLICY = [(PPO, CONTINUOUS), (PPO, DISCRETE), (A2C, CONTINUOUS), (A2C, DISCRETE)]
OFF_POLICY = [
    (SAC, rl.SACPolicy, CONTINUOUS),
    (TD3, rl.TD3Policy, CONTINUOUS),
    (DDPG, rl.TD3Policy, CONTINUOUS),
    (DQN, rl.DQNPolicy, DISCRETE),
]


def agent(algorithm: Any, policy: Any, env: str, activation: str, **options: Any) -> Any:
    return algorithm(
        policy,
        env,
        policy_kwargs={"activation": activation, "activation_options": options, "net_arch": [8, 8]},
        seed=0,
        device="cpu",
        **FEW.get(algorithm.__name__, {}),
    )


def assert_survives_saving(model: Any, algorithm: Any, policy: Any, folder: Path) -> None:
    seen = np.stack([model.observation_space.sample() for _ in range(5)])
    expected, _ = model.predict(seen, deterministic=True)
    model.save(folder / "model.zip")
    np.testing.assert_allclose(
        algorithm.load(folder / "model.zip").predict(seen, deterministic=True)[0], expected
    )
    model.policy.save(folder / "policy.pt")
    np.testing.assert_allclose(
        policy.load(folder / "policy.pt").predict(seen, deterministic=True)[0], expected
    )


@pytest.mark.parametrize(("algorithm", "env"), ON_POLICY)
@pytest.mark.parametrize("activation", ["kaf", "kaf2d"])
def test_learns_and_survives_saving(algorithm: Any, env: str, activation: str, tmp_path: Path) -> None:
    model = agent(algorithm, rl.MlpPolicy, env, activation, dictionary_size=6)
    before = {name: value.clone() for name, value in model.policy.named_parameters() if "alpha" in name}
    assert len(before) == 4  # two layers of the actor, two of the critic
    model.learn(64)
    after = dict(model.policy.named_parameters())
    assert all(not torch.equal(value, after[name]) for name, value in before.items())
    assert_survives_saving(model, algorithm, rl.MlpPolicy, tmp_path)


@pytest.mark.parametrize(("algorithm", "policy", "env"), OFF_POLICY)
def test_off_policy_algorithms(algorithm: Any, policy: Any, env: str, tmp_path: Path) -> None:
    model = agent(algorithm, policy, env, "kaf")
    main, target = (
        (model.q_net, model.q_net_target)
        if isinstance(model, DQN)
        else (
            model.critic,
            model.critic_target,
        )
    )
    copied = target.state_dict()
    assert any("alpha" in name for name in copied)
    for name, value in main.state_dict().items():
        assert torch.equal(value, copied[name]), name
    model.learn(120)
    assert_survives_saving(model, algorithm, policy, tmp_path)


@pytest.mark.parametrize("name", kafnets.names())
def test_every_registered_activation(name: str) -> None:
    model = agent(PPO, rl.MlpPolicy, CONTINUOUS, name)
    model.learn(32)
    action, _ = model.predict(np.zeros(3, dtype=np.float32))
    assert np.isfinite(action).all()


def test_width_halves_behind_2d_kafs() -> None:
    policy = agent(PPO, rl.MlpPolicy, DISCRETE, "kaf2d").policy
    assert policy.mlp_extractor.latent_dim_pi == 4
    assert policy.action_net.in_features == 4
    assert policy.value_net.in_features == 4
    assert policy.mlp_extractor.policy_net[2].in_features == 4


def test_actor_and_critic_of_different_widths() -> None:
    arch = {"pi": [6], "vf": [10, 4]}
    policy = PPO(rl.MlpPolicy, DISCRETE, policy_kwargs={"activation": "kaf", "net_arch": arch}).policy
    assert policy.action_net.in_features == 6
    assert policy.value_net.in_features == 4


def test_images_through_a_features_extractor() -> None:
    space = gymnasium.spaces.Box(0, 255, (3, 36, 36), np.uint8)
    from stable_baselines3.common.torch_layers import NatureCNN

    policy = rl.MlpPolicy(
        space,
        gymnasium.spaces.Discrete(3),
        lambda _: 1e-3,
        features_extractor_class=NatureCNN,
        net_arch=[16],
    )
    action, _ = policy.predict(space.sample())
    assert action in (0, 1, 2)


@pytest.mark.parametrize("name", ["kaf2d", "maxout", "crelu", "lp_unit"])
def test_off_policy_refuses_what_changes_the_width(name: str) -> None:
    with pytest.raises(ValueError, match=f"'{name}' is not one: use it with kafnets.rl.MlpPolicy"):
        agent(SAC, rl.SACPolicy, CONTINUOUS, name)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"activation": "kav"}, ValueError, "did you mean"),
        ({"activation": torch.nn.Tanh}, TypeError, "activation must be a registered name"),
        ({"activation_fn": torch.nn.Tanh}, TypeError, "activation_fn is not supported by this policy"),
        ({"activation": "kaf", "activation_options": {"size": 3}}, TypeError, "kaf: .*size"),
    ],
)
def test_refusals(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        PPO(rl.MlpPolicy, CONTINUOUS, policy_kwargs=options)
