"""KAF and 2D-KAF as Keras 3 layers, on TensorFlow, JAX and torch."""

import os

from kafnets.coexistence import make_room_for_tensorflow
from kafnets.packages import missing

if (os.environ.get("KERAS_BACKEND") or "tensorflow") == "tensorflow":
    make_room_for_tensorflow()

try:
    import keras  # noqa: F401
except ModuleNotFoundError as error:
    error.msg = missing("kafnets.keras", error.name)
    if error.name != "keras":
        error.msg += (
            f". Keras runs on {error.name} here; choose another backend before Keras is imported, with the "
            "environment variable KERAS_BACKEND=jax or KERAS_BACKEND=torch"
        )
    raise

from kafnets.frontends.exchange import to_torch as to_torch
from kafnets.keras.layers import KAF as KAF
from kafnets.keras.layers import KAF2D as KAF2D
from kafnets.keras.layers import from_torch as from_torch
