"""Real data that ships with the package, so that nothing has to be downloaded to try it."""

from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray


def sensorless_sample() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """5,500 rows of Sensorless Drive Diagnosis, 500 for each of its 11 classes, in random order.

    Features ``(5500, 48)`` as measured, labels 0 to 10. A sample of the 58,509 rows of UCI data
    set 325 by M. Bator (https://doi.org/10.24432/C5VP5F), licensed CC BY 4.0; drawn by
    ``scripts/make_sensorless_sample.py``.
    """
    with as_file(files("kafnets.data") / "sensorless_sample.npz") as path, np.load(path) as stored:
        return stored["X"], stored["y"].astype(np.int64)
