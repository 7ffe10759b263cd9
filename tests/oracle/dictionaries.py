"""The grid a kernel expansion stands on, and the bandwidth that fits it."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray


def equispaced(dictionary_size: int, boundary: float) -> NDArray[np.float64]:
    """``dictionary_size`` values from ``-boundary`` to ``boundary``, both ends included."""
    if dictionary_size < 2:
        raise ValueError(
            f"dictionary_size must be 2 or more so that the grid has a spacing, got {dictionary_size}"
        )
    if not (math.isfinite(boundary) and boundary > 0):
        raise ValueError(f"boundary must be a positive finite number, got {boundary}")
    return np.linspace(-boundary, boundary, dictionary_size, dtype=np.float64)


def spacing(dictionary: ArrayLike) -> float:
    r"""The distance :math:`\Delta` between neighbors of an equispaced dictionary.

    A relative unevenness of 1e-6 is allowed, so that a grid that was once stored in float32 still
    counts as equispaced.
    """
    values = np.asarray(dictionary, dtype=np.float64)
    step = float(values[-1] - values[0]) / (values.size - 1)
    deviation = float(np.abs(np.diff(values) - step).max())
    if deviation > 1e-6 * max(abs(step), float(np.abs(values).max())):
        raise ValueError(
            "dictionary is not equispaced, so the rule of thumb for gamma does not apply: "
            "give an explicit gamma, for example kernel=Gaussian(gamma=1.0)"
        )
    return step


def bandwidth_rule_of_thumb(spacing: float, *, dimensions: int = 1, divisor: float = 6.0) -> float:
    r"""The paper's rule, :math:`\gamma = 1 / (6 \Delta^2)`, times :math:`\sqrt 2` in two dimensions.

    ``divisor`` is the 6. The authors' published code has 8 in its place.
    """
    if dimensions not in (1, 2):
        raise ValueError(f"dimensions must be 1 or 2, got {dimensions}")
    gamma = 1.0 / (divisor * spacing**2)
    return gamma * math.sqrt(2.0) if dimensions == 2 else gamma
