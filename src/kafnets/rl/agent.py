"""Stable-Baselines3's PPO with the published settings, one iteration at a time."""

import copy
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.evaluation import evaluate_policy
from torch import Tensor, nn

from kafnets.rl import ppo
from kafnets.rl.environments import environment, normalization_of, normalize_as, restore, state_of
from kafnets.rl.policies import MlpPolicy
from kafnets.rl.unlogged import FUSED, UnloggedPPO


class Agent:
    """A policy, the environment it learns in, and all that is needed to go on later."""

    def __init__(
        self, name: str, activation: str, hidden: tuple[int, ...], options: dict[str, Any], seed: int
    ) -> None:
        self.name = name
        self.env = environment(name, gamma=ppo.PPO["gamma"])
        self.model = UnloggedPPO(
            MlpPolicy,
            self.env,
            policy_kwargs={
                "activation": activation,
                "activation_options": options,
                "net_arch": list(hidden),
                "optimizer_kwargs": {"eps": ppo.EPSILON} | FUSED,
            },
            seed=seed,
            device="cpu",
            stats_window_size=ppo.PPO["n_steps"],  # all episodes of an iteration, short as they may be
            **ppo.PPO,
        )

    @property
    def steps(self) -> int:
        """In the environment so far."""
        return self.model.num_timesteps

    @property
    def policy_network(self) -> nn.Sequential:
        """Hidden layers of the policy."""
        network = self.model.policy.mlp_extractor.policy_net
        assert isinstance(network, nn.Sequential)
        return network

    @property
    def parameters(self) -> int:
        """How many are trained, of policy and value."""
        return sum(each.numel() for each in self.model.policy.parameters() if each.requires_grad)

    @property
    def observations(self) -> Tensor:
        """What the policy has seen in the last iteration."""
        seen = self.model.rollout_buffer.observations
        return torch.as_tensor(np.asarray(seen)).float().reshape(-1, seen.shape[-1])

    def iterate(self) -> list[float]:
        """One iteration: collect a horizon of steps, then improve. Gives rewards of episodes that ended."""
        episodes = self.model.ep_info_buffer
        if episodes is not None:
            episodes.clear()
        self.model.learn(ppo.PPO["n_steps"], reset_num_timesteps=False)
        if not all(each.isfinite().all() for each in self.model.policy.parameters()):
            raise FloatingPointError("weights of the policy are no longer finite numbers")
        assert self.model.ep_info_buffer is not None
        return [float(each["r"]) for each in self.model.ep_info_buffer]

    def copied_policy_network(self) -> nn.Sequential:
        """As it is now."""
        return copy.deepcopy(self.policy_network)

    def evaluate(self, episodes: int, seed: int) -> float:
        """Mean reward of the policy without its noise, in another environment of the same kind."""
        other = environment(self.name, gamma=ppo.PPO["gamma"])
        normalize_as(other, normalization_of(self.env))
        other.training, other.norm_reward = False, False
        other.seed(seed + 10_000)
        rewards, _ = evaluate_policy(self.model.policy, other, episodes, return_episode_rewards=True)
        return float(np.mean(rewards))

    def state(self) -> dict[str, Any]:
        """For a checkpoint: tensors, numbers and text only."""
        name, keys, position, has_gauss, cached = np.random.get_state()  # noqa: NPY002 - what PPO draws from
        return {
            "policy": self.model.policy.state_dict(),
            "optimizer": self.model.policy.optimizer.state_dict(),
            "steps": self.model.num_timesteps,
            "updates": self.model._n_updates,
            "last": torch.from_numpy(np.asarray(self.model._last_obs)),
            "begins": torch.from_numpy(np.asarray(self.model._last_episode_starts)),
            "environment": state_of(self.env),
            "torch": torch.get_rng_state(),
            "numpy": [name, torch.from_numpy(np.asarray(keys).astype(np.int64)), position, has_gauss, cached],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Be where the stored one was."""
        restore(self.env, state["environment"])
        self.model.policy.load_state_dict(state["policy"])
        self.model.policy.optimizer.load_state_dict(state["optimizer"])
        self.model.num_timesteps = state["steps"]
        self.model._n_updates = state["updates"]
        self.model._last_obs = state["last"].numpy()
        self.model._last_episode_starts = state["begins"].numpy()
        name, keys, *rest = state["numpy"]
        np.random.set_state((name, keys.numpy().astype(np.uint32), *rest))  # noqa: NPY002
        torch.set_rng_state(state["torch"])

    def weights(self) -> dict[str, Any]:
        """All that acting needs: the policy, and how observations are normalized."""
        return {"policy": self.model.policy.state_dict(), "statistics": normalization_of(self.env)}
