"""KAFs in Stable-Baselines3: its own policies with ``activation_fn``, and policies that know the widths."""

from typing import Any

from stable_baselines3 import PPO

import kafnets


def main(steps: int = 128) -> dict[str, Any]:
    """The activations of both policies."""
    settings: dict[str, Any] = {"n_steps": 64, "batch_size": 32, "n_epochs": 1, "device": "cpu", "seed": 0}
    # Stable-Baselines3 calls activation_fn() without a width: one function for all neurons of a layer.
    shared = PPO("MlpPolicy", "Pendulum-v1", policy_kwargs={"activation_fn": kafnets.KAF}, **settings)
    # One function per neuron.
    own = PPO(kafnets.rl.MlpPolicy, "Pendulum-v1", policy_kwargs={"activation": "kaf"}, **settings)
    shapes = {}
    for name, agent in (("shared", shared), ("own", own)):
        agent.learn(steps)
        kafs = [each for each in agent.policy.modules() if isinstance(each, kafnets.KAF)]
        shapes[name] = [tuple(each.alpha.shape) for each in kafs]
    return shapes


if __name__ == "__main__":
    for name, shapes in main().items():
        print(f"{name}: coefficients {shapes}")
