"""PPO on MuJoCo as published: names of environments and settings; needs nothing but Python."""

from typing import Any

ENVIRONMENTS = {
    "swimmer": "Swimmer-v5",
    "humanoidstandup": "HumanoidStandup-v5",
    "inverted_pendulum": "InvertedPendulum-v5",
}
"""Those of the paper, by the names it gives them: Gymnasium's present versions."""

PPO: dict[str, Any] = {
    "n_steps": 2048,
    "batch_size": 64,
    "n_epochs": 10,
    "learning_rate": 3e-4,
    "gamma": 0.99,
    "gae_lambda": 0.95,
    "clip_range": 0.2,
}
"""What Schulman et al. (2017) print for MuJoCo. All else is as Stable-Baselines3 has it: a value network of
its own, no entropy bonus, gradients cut at norm 0.5, a learning rate that stays."""

EPSILON = 1e-5
"""Adam's, Stable-Baselines3's default, which it forgets where the optimizer is given another option."""


def short_name(name: str) -> str:
    """The paper's name of an environment, if it is one of the paper's; any other as it is, if it exists."""
    known = gymnasium_name(name)
    return next((short for short, long in ENVIRONMENTS.items() if long == known), known)


def gymnasium_name(name: str) -> str:
    """What Gymnasium calls it: one of ``ENVIRONMENTS``, or a name of Gymnasium's own for a MuJoCo one."""
    known = ENVIRONMENTS.get(name, name)
    if known in ENVIRONMENTS.values():
        return known
    import gymnasium

    found = gymnasium.registry.get(known)
    if found is None or ".mujoco." not in str(found.entry_point):
        raise ValueError(
            f"environments must be {', '.join(ENVIRONMENTS)}, or Gymnasium's name of another MuJoCo "
            f"environment, such as Hopper-v5; got {name!r}"
        )
    return known
