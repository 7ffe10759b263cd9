"""Learned activations in reinforcement learning, on Gymnasium and Stable-Baselines3.

Policies need Stable-Baselines3; what the papers have published does not.
"""

from kafnets.packages import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
