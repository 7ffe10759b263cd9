"""Policies of Stable-Baselines3 with any registered activation.

Stable-Baselines3 calls ``activation_fn()`` without the number of features, but most learned activations have
parameters for each feature. These policies know the widths, and are used like the usual ones::

    PPO(kafnets.rl.MlpPolicy, env, policy_kwargs={"activation": "kaf"})

Name and options are stored with the model, so ``save`` and ``load`` work as usual.
"""

from functools import cached_property
from typing import Any

from gymnasium.spaces import Box
from stable_baselines3.common.distributions import DiagGaussianDistribution
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import FlattenExtractor, MlpExtractor
from stable_baselines3.dqn.policies import DQNPolicy as PlainDQNPolicy
from stable_baselines3.sac.policies import SACPolicy as PlainSACPolicy
from stable_baselines3.td3.policies import TD3Policy as PlainTD3Policy
from torch import nn

from kafnets.networks import Activation, hidden_layers
from kafnets.registry import find
from kafnets.rl.gaussian import UncheckedGaussian

ALONG = {"dim": -1}
"""Features are on the last axis."""


class Unsized(nn.Module):
    """A placeholder for an activation until the width is known."""


class _Activated:
    """What all policies here have in common: which activation, and that it is stored with the policy."""

    def __init__(
        self,
        *args: Any,
        activation: str = "kaf",
        activation_options: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(activation, str):
            raise TypeError(
                f"activation must be a registered name, got {activation!r}: only a name can be saved with "
                "the model; give your own one a name with kafnets.register"
            )
        find(activation)
        if kwargs.pop("activation_fn", Unsized) is not Unsized:
            raise TypeError(
                "activation_fn is not supported by this policy: give activation='kaf' or another name"
            )
        self.activation = activation
        self.activation_options = dict(activation_options or {})
        super().__init__(*args, activation_fn=Unsized, **kwargs)  # type: ignore[call-arg]

    def _get_constructor_parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = super()._get_constructor_parameters()  # type: ignore[misc]
        del parameters["activation_fn"]
        return parameters | {
            "activation": self.activation,
            "activation_options": self.activation_options,
        }

    def set_training_mode(self, mode: bool) -> None:
        """Where it is not set already: Stable-Baselines3 asks for it at every step, of every module."""
        if self.training is not mode:  # type: ignore[attr-defined]
            super().set_training_mode(mode)  # type: ignore[misc]

    def _sized(self, network: Any) -> Any:
        """The network with an activation wherever one belongs, as wide as the linear map before it."""
        for sequence in (each for each in network.modules() if isinstance(each, nn.Sequential)):
            for place, (before, here) in enumerate(zip(sequence, list(sequence)[1:], strict=False), 1):
                if isinstance(here, Unsized):
                    assert isinstance(before, nn.Linear)
                    sequence[place] = self._one(before.out_features).to(before.weight.device)
        return network

    def _one(self, width: int) -> nn.Module:
        made, comes_out = hidden_layers(
            width, [width], self.activation, nn.Linear, ALONG, self.activation_options
        )
        if len(made) != 2 or comes_out != width:
            raise ValueError(
                f"{type(self).__name__} supports only activations that keep the width and contain no linear "
                f"map, and {self.activation!r} is not one: use it with kafnets.rl.MlpPolicy (PPO, A2C)"
            )
        return made[1]


class MlpPolicy(_Activated, ActorCriticPolicy):
    """For PPO and A2C: an actor and a critic with separate hidden layers.

    Takes all arguments of ``ActorCriticPolicy`` except ``activation_fn``, and:

    * ``activation``: a registered name, such as "kaf"; see ``kafnets.names()``. Activations that change the
      width are followed by linear maps of matching width: with 2D-KAFs ``net_arch=[64, 64]`` is 64-32-64-32.
    * ``activation_options``: for the activation, such as ``{"dictionary_size": 30}``.
    """

    def _build_mlp_extractor(self) -> None:
        if type(self.action_dist) is DiagGaussianDistribution:
            self.action_dist = UncheckedGaussian(self.action_dist.action_dim)
        self.mlp_extractor = _Extractor(
            self.features_dim, self.net_arch, self.activation, self.activation_options
        ).to(self.device)

    def extract_features(self, obs: Any, features_extractor: Any = None) -> Any:
        """What is a row of numbers already takes no detour, which acting in one environment would feel."""
        if features_extractor is None and self._takes_rows:
            return obs.float()
        return super().extract_features(obs, features_extractor)

    @cached_property
    def _takes_rows(self) -> bool:
        extractor, space = self.features_extractor, self.observation_space
        plain = type(extractor) is FlattenExtractor and self.share_features_extractor
        return plain and isinstance(space, Box) and len(space.shape) == 1


class _Extractor(MlpExtractor):
    """Hidden layers of actor and critic."""

    def __init__(
        self,
        feature_dim: int,
        net_arch: list[int] | dict[str, list[int]],
        activation: Activation,
        options: dict[str, Any],
    ) -> None:
        super().__init__(feature_dim, net_arch=[], activation_fn=Unsized)
        widths = net_arch if isinstance(net_arch, dict) else {"pi": net_arch, "vf": net_arch}

        def stack(part: str) -> tuple[nn.Sequential, int]:
            layers, width = hidden_layers(
                feature_dim, widths.get(part, []), activation, nn.Linear, ALONG, options
            )
            return nn.Sequential(*layers), width

        self.policy_net, self.latent_dim_pi = stack("pi")
        self.value_net, self.latent_dim_vf = stack("vf")


class SACPolicy(_Activated, PlainSACPolicy):
    """For SAC; ``activation`` and ``activation_options`` as for :class:`MlpPolicy`."""

    def make_actor(self, *args: Any, **kwargs: Any) -> Any:
        return self._sized(super().make_actor(*args, **kwargs))

    def make_critic(self, *args: Any, **kwargs: Any) -> Any:
        return self._sized(super().make_critic(*args, **kwargs))


class TD3Policy(_Activated, PlainTD3Policy):
    """For TD3 and DDPG; ``activation`` and ``activation_options`` as for :class:`MlpPolicy`."""

    def make_actor(self, *args: Any, **kwargs: Any) -> Any:
        return self._sized(super().make_actor(*args, **kwargs))

    def make_critic(self, *args: Any, **kwargs: Any) -> Any:
        return self._sized(super().make_critic(*args, **kwargs))


class DQNPolicy(_Activated, PlainDQNPolicy):
    """For DQN; ``activation`` and ``activation_options`` as for :class:`MlpPolicy`."""

    def make_q_net(self) -> Any:
        return self._sized(super().make_q_net())
