"""Dictionaries from data, chosen by quantiles or by novelty.

::

    import numpy as np
    import kafnets

    values = np.random.default_rng(0).normal(0, 2, 1000)
    dictionary = kafnets.dictionaries.by_quantiles(values, 20)
    kaf = kafnets.KAF(64, dictionary=dictionary.values, kernel=kafnets.Gaussian(gamma=1.0))

Such dictionaries are not equispaced, so a Gaussian kernel needs an explicit bandwidth: see
:func:`rule_of_thumb`.
"""

import math
from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kafnets.arrays.library import NUMPY
from kafnets.checks import check_integer
from kafnets.expansion import DEFAULT_SIZE, LONGEST, Dictionary
from kafnets.kernels import Gaussian, Kernel

Array = NDArray[np.float64]

Criterion = Literal["coherence", "linear_dependence"]
THRESHOLDS: dict[Criterion, float] = {"coherence": math.exp(-1 / 6), "linear_dependence": 1e-2}
"""The default of each criterion. For coherence it is the kernel value of two elements that are one spacing
apart, by the rule of thumb for the bandwidth."""

APART = 1e-6
"""Elements closer than this share of the range count as one: in float32 they would be hard to tell apart."""


def by_quantiles(values: ArrayLike, size: int) -> Dictionary:
    """A dictionary at quantiles of the given values.

    >>> import numpy as np
    >>> kafnets.dictionaries.by_quantiles(np.arange(9.0) ** 2, 5).values
    (0.0, 4.0, 16.0, 36.0, 64.0)

    Its elements are ``size`` equispaced quantiles, including the minimum and the maximum. If values repeat,
    so that quantiles coincide, the widest gaps are halved until there are ``size`` elements.

    Args:
        values: finite values, at least two of them different.
        size: the number of elements.
    """
    check_integer("size", size, 2)
    flat = _flat(values)
    return _filled(np.quantile(flat, np.linspace(0, 1, size)), size)


def by_novelty(
    values: ArrayLike,
    size: int | None = None,
    kernel: Kernel | None = None,
    threshold: float | None = None,
    *,
    criterion: Criterion = "coherence",
) -> Dictionary:
    r"""A dictionary from a stream of values: a value is added if it is sufficiently new.

    With ``criterion="coherence"`` a value s is added if
    :math:`\max_i |\kappa(s, d_i)| / \sqrt{\kappa(s, s) \, \kappa(d_i, d_i)}` is below the threshold
    :math:`\mu_0`: no two elements are more similar than that (Richard, Bermudez and Honeine, "Online
    prediction of time series data with kernels", IEEE Transactions on Signal Processing, 2009). With a
    Gaussian kernel, this is a minimum distance between elements.

    With ``criterion="linear_dependence"`` it is added if the squared distance of its feature vector from the
    span of the others, :math:`\kappa(s, s) - k^\top K^{-1} k`, is above the threshold :math:`\nu`, as a share
    of :math:`\kappa(s, s)`: approximate linear dependence (Engel, Mannor and Meir, "The kernel recursive
    least-squares algorithm", IEEE Transactions on Signal Processing, 2004).

    Args:
        values: finite values in the order of the stream; the first one is always added.
        size: None: as many elements as the threshold allows. Without a threshold: exactly this number, with
            the threshold that accepts most of them, and the widest gaps halved to obtain the rest. With a
            threshold: the maximum number.
        kernel: the kernel to compare with, which must be positive semi-definite. None: a Gaussian with the
            paper's rule of thumb for ``size`` elements, or 20, over the range of the values.
        threshold: from 0 to 1. None: ``exp(-1 / 6)`` for coherence, which is the kernel value of elements one
            spacing apart under the rule of thumb; 0.01 for linear dependence.
        criterion: "coherence" or "linear_dependence".

    Returns:
        The elements in increasing order.
    """
    if criterion not in THRESHOLDS:
        raise ValueError(f"criterion must be one of {', '.join(map(repr, THRESHOLDS))}, got {criterion!r}")
    if size is not None:
        check_integer("size", size, 2)
    if threshold is not None and not 0 < threshold < 1:
        raise ValueError(f"threshold must be between 0 and 1, got {threshold!r}")
    flat = _flat(values)
    kernel = _comparing(kernel, flat, size)
    joining = _coherent if criterion == "coherence" else _independent
    if size is not None and threshold is None:
        return _filled(_most(flat, kernel, size, joining), size)
    chosen = THRESHOLDS[criterion] if threshold is None else threshold
    elements = _joined(joining(flat, kernel, chosen), LONGEST if size is None else size)
    if elements.size < 2:
        raise ValueError(
            f"threshold={chosen:g} accepts only one of the values: give "
            f"{'a larger' if criterion == 'coherence' else 'a smaller'} one"
        )
    return Dictionary.of(np.sort(elements))


def rule_of_thumb(dictionary: Dictionary, dimensions: int = 1) -> float:
    r"""A Gaussian bandwidth for any dictionary: the paper's :math:`1 / (6 \Delta^2)`.

    :math:`\Delta` is the median distance between neighbors, which for an equispaced dictionary is the
    spacing. In two dimensions it is multiplied by :math:`\sqrt 2`, as for :class:`kafnets.Gaussian`.
    """
    fitted = Gaussian().fitted(typical_spacing(dictionary), dimensions).gamma
    assert fitted is not None
    return fitted


def typical_spacing(dictionary: Dictionary) -> float:
    """The spacing of an equispaced dictionary, or the median distance between neighbors."""
    spacing = dictionary.spacing
    return float(np.median(np.diff(dictionary.elements))) if spacing is None else spacing


def _flat(values: ArrayLike) -> Array:
    if hasattr(values, "detach"):
        values = values.detach().cpu().double().numpy()
    flat = np.asarray(values, dtype=np.float64).ravel()
    if not np.isfinite(flat).all():
        raise ValueError(f"values must be finite, got {int((~np.isfinite(flat)).sum())} that are not")
    if flat.size < 2 or flat.min() == flat.max():
        raise ValueError(f"values must hold two different values or more, got {flat.size}, all the same")
    return flat


def _comparing(kernel: Kernel | None, flat: Array, size: int | None) -> Kernel:
    spacing = float(np.ptp(flat)) / ((size or DEFAULT_SIZE[1]) - 1)
    if kernel is None:
        kernel = Gaussian()
    if not isinstance(kernel, Kernel) or not kernel.positive_definite:
        raise ValueError(
            f"kernel must be positive semi-definite, such as kafnets.Gaussian(gamma=1.0), got {kernel!r}"
        )
    return kernel.fitted(spacing, 1)


def _filled(elements: Array, size: int) -> Dictionary:
    """Without those that coincide, and with the widest gaps halved in their place."""
    elements = np.sort(elements)
    nearest = APART * (elements[-1] - elements[0])
    kept = [float(elements[0])]
    for element in elements[1:-1].tolist():
        if element - kept[-1] > nearest and elements[-1] - element > nearest:
            kept.append(element)
    kept.append(float(elements[-1]))
    while len(kept) < size:
        widest = int(np.argmax(np.diff(kept)))
        kept.insert(widest + 1, (kept[widest] + kept[widest + 1]) / 2)
    return Dictionary.of(kept)


Joining = Callable[[Array, Kernel, float], Iterator[float]]


def _joined(elements: Iterator[float], most: int) -> Array:
    return np.array([element for element, _ in zip(elements, range(most), strict=False)])


def _most(flat: Array, kernel: Kernel, size: int, joining: Joining) -> Array:
    """The longest dictionary of at most ``size`` elements, and at least two, that bisection finds."""
    best = np.array([flat.min(), flat.max()])
    # Coherence lets more join at a larger threshold, linear dependence at a smaller one.
    low, high = (-12.0, 0.0) if joining is _independent else (-6.0, -1e-9)
    for _ in range(40):
        middle = (low + high) / 2
        elements = _joined(joining(flat, kernel, 10.0**middle), size + 1)
        if best.size < elements.size <= size:
            best = elements
        if elements.size == size:
            break
        if (elements.size > size) is (joining is _independent):
            low = middle
        else:
            high = middle
    return best


def _coherent(flat: Array, kernel: Kernel, threshold: float) -> Iterator[float]:
    """One after the other. All values are looked at once per element, which is quicker than in turn."""
    norms = np.sqrt(kernel.value(NUMPY, flat, flat))
    alike, place = np.zeros(flat.size), 0
    while True:
        yield float(flat[place])
        values = np.abs(kernel.value(NUMPY, flat, flat[place])) / (norms * norms[place])
        alike = np.maximum(alike, values)
        later = np.flatnonzero(alike[place + 1 :] < threshold)
        if not later.size:
            return
        place += 1 + int(later[0])


def _independent(flat: Array, kernel: Kernel, threshold: float) -> Iterator[float]:
    """By a Cholesky decomposition that grows by a row per element."""
    own = np.asarray(kernel.value(NUMPY, flat, flat))
    residual, place = own.copy(), 0
    rows: list[Array] = []
    while True:
        yield float(flat[place])
        row = np.asarray(kernel.value(NUMPY, flat, flat[place]), dtype=np.float64)
        for earlier in rows:
            row = row - earlier[place] * earlier
        row = row / math.sqrt(residual[place])
        rows.append(row)
        residual = residual - row * row
        later = np.flatnonzero(residual[place + 1 :] > threshold * own[place + 1 :])
        if not later.size:
            return
        place += 1 + int(later[0])
