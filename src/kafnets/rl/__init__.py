"""Learned activations in reinforcement learning, on Gymnasium and Stable-Baselines3."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafnets.rl.policies import DQNPolicy as DQNPolicy
    from kafnets.rl.policies import MlpPolicy as MlpPolicy
    from kafnets.rl.policies import SACPolicy as SACPolicy
    from kafnets.rl.policies import TD3Policy as TD3Policy
else:

    def __getattr__(name: str) -> object:
        """Policies need Stable-Baselines3; what the papers have published does not."""
        if name not in ("DQNPolicy", "MlpPolicy", "SACPolicy", "TD3Policy"):
            raise AttributeError(f"module 'kafnets.rl' has no attribute {name!r}")
        try:
            from kafnets.rl import policies
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"kafnets.rl needs {error.name}: pip install 'kafnets[rl]'", name=error.name
            ) from None
        return getattr(policies, name)
