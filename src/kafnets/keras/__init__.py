"""KAF and 2D-KAF as Keras 3 layers, on TensorFlow, JAX and torch."""

import os

from kafnets.coexistence import make_room_for_tensorflow

if (os.environ.get("KERAS_BACKEND") or "tensorflow") == "tensorflow":
    make_room_for_tensorflow()

try:
    import keras  # noqa: F401
except ModuleNotFoundError as error:
    if error.name == "keras":
        raise ModuleNotFoundError(
            "kafnets.keras needs keras: pip install 'kafnets[keras]'", name=error.name
        ) from None
    raise ModuleNotFoundError(
        f"Keras runs on {error.name} here, which is not installed: pip install {error.name}, or choose "
        "another before Keras is imported, with the environment variable KERAS_BACKEND=jax or "
        "KERAS_BACKEND=torch (torch is there, since kafnets needs it)",
        name=error.name,
    ) from None

from kafnets.keras.layers import KAF as KAF
from kafnets.keras.layers import KAF2D as KAF2D
from kafnets.keras.layers import from_torch as from_torch
from kafnets.keras.layers import to_torch as to_torch
from kafnets.kernels import Gaussian as Gaussian
from kafnets.kernels import Periodic as Periodic
from kafnets.kernels import Polynomial as Polynomial
from kafnets.kernels import ReLUKernel as ReLUKernel
from kafnets.kernels import Softplus as Softplus
from kafnets.nn.initializers import Normal as Normal
from kafnets.nn.initializers import Ridge as Ridge
