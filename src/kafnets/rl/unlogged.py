"""PPO and DQN of Stable-Baselines3 that learn the same, to the last bit, without measuring it for a log.

With small networks and batches, most of an update is the calls that it consists of, so none is made in vain.
"""

from typing import Any

import torch
from gymnasium.spaces import Box
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.buffers import ReplayBuffer
from torch import Tensor
from torch.nn.functional import mse_loss, smooth_l1_loss
from torch.nn.utils import clip_grad_norm_

from kafnets.rl.policies import MlpPolicy

FUSED = {"fused": True}
"""For an optimizer: one call for all parameters. Adam's steps then round differently, no more."""


class UnloggedPPO(PPO):
    """For continuous actions, normalized advantages, and neither an entropy bonus nor further clipping."""

    policy: MlpPolicy

    def train(self) -> None:
        left_out = self.ent_coef or self.clip_range_vf is not None or self.target_kl is not None
        if left_out or not self.normalize_advantage or not isinstance(self.action_space, Box):
            raise ValueError(
                "UnloggedPPO supports continuous actions and normalized advantages, without ent_coef, "
                "clip_range_vf and target_kl: use PPO"
            )
        optimizer, parameters = self.policy.optimizer, list(self.policy.parameters())
        self.policy.set_training_mode(True)
        self._update_learning_rate(optimizer)
        clip_range = self.clip_range(self._current_progress_remaining)  # type: ignore[operator]
        for _ in range(self.n_epochs):
            for batch in self.rollout_buffer.get(self.batch_size):
                optimizer.zero_grad()
                self._loss(batch, clip_range).backward()
                clip_grad_norm_(parameters, self.max_grad_norm, foreach=True)
                optimizer.step()
            self._n_updates += 1

    def _loss(self, batch: Any, clip_range: float) -> Tensor:
        policy = self.policy
        of_actor, of_critic = policy.mlp_extractor(policy.extract_features(batch.observations))
        log_prob = policy._get_action_dist_from_latent(of_actor).log_prob(batch.actions)
        advantages = batch.advantages
        if len(advantages) > 1:
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        ratio = torch.exp(log_prob - batch.old_log_prob)
        clipped = torch.clamp(ratio, 1 - clip_range, 1 + clip_range)
        loss = -torch.min(advantages * ratio, advantages * clipped).mean()
        return loss + self.vf_coef * mse_loss(batch.returns, policy.value_net(of_critic).flatten())


class UnloggedDQN(DQN):
    """For steps of one transition."""

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        optimizer, parameters = self.policy.optimizer, list(self.q_net.parameters())
        assert isinstance(self.replay_buffer, ReplayBuffer)
        self.policy.set_training_mode(True)
        self._update_learning_rate(optimizer)
        for _ in range(gradient_steps):
            batch = self.replay_buffer.sample(batch_size, env=self._vec_normalize_env)
            with torch.no_grad():
                best = self.q_net_target(batch.next_observations).max(dim=1)[0].reshape(-1, 1)
                target = batch.rewards + (1 - batch.dones) * self.gamma * best
            chosen = torch.gather(self.q_net(batch.observations), dim=1, index=batch.actions.long())
            optimizer.zero_grad()
            smooth_l1_loss(chosen, target).backward()
            clip_grad_norm_(parameters, self.max_grad_norm, foreach=True)
            optimizer.step()
        self._n_updates += gradient_steps
