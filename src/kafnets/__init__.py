"""Neural networks whose activation functions are learned.

The public names are in ``__init__.pyi``. They are imported when they are first asked for, so that
``import kafnets.jax`` does not import torch.
"""

from kafnets.coexistence import keep_triton_out
from kafnets.packages import lazy

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy(__name__, __file__)

keep_triton_out()
