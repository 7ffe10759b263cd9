"""Learned activations in reinforcement learning, on Gymnasium and Stable-Baselines3."""

try:
    from kafnets.rl.policies import DQNPolicy as DQNPolicy
    from kafnets.rl.policies import MlpPolicy as MlpPolicy
    from kafnets.rl.policies import SACPolicy as SACPolicy
    from kafnets.rl.policies import TD3Policy as TD3Policy
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"kafnets.rl needs {error.name}: pip install 'kafnets[rl]'", name=error.name
    ) from None
