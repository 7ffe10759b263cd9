"""KAF and 2D-KAF for JAX: pure functions, and Flax NNX modules.

``kaf`` and ``kaf2d`` need JAX alone, and fit into Equinox modules or plain training loops. ``KAF`` and
``KAF2D`` are Flax NNX modules, made when they are asked for.
"""

from kafnets.packages import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
