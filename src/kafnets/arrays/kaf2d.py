r"""2D-KAFs: :math:`g_p(s) = \sum_{i,j} \alpha_{p,i,j} \, \kappa((s_{2p}, s_{2p+1}), (d_i, d_j))`.

The same functions as in :mod:`kafnets.arrays.kaf`, for pairs of neighbors; see :mod:`kafnets.arrays`.
"""

from collections.abc import Callable
from typing import Any

from kafnets.arrays.factors import Factors, Segments, over_rows, segments_of
from kafnets.arrays.library import Library
from kafnets.expansion import Expansion
from kafnets.kernels import Gaussian

Array = Any


def pair(s: Array) -> tuple[Array, Array]:
    """First and second values of neighbors."""
    return s[..., 0::2], s[..., 1::2]


def value(xp: Library, expansion: Expansion, s: Array, alpha: Array) -> Array:
    """The expansion."""
    kernel = expansion.kernel
    if expansion.factored:

        def inner(first: Factors, second: Factors, rows: list[list[Array]]) -> tuple[Array, ...]:
            return (first.horner([second.envelope * second.horner(row) for row in rows]),)

        return _factored(xp, expansion, s, alpha, inner, 1)[0]
    if kernel.separable:
        return _bilinear(xp, expansion, s, alpha, kernel.value, kernel.value)
    return _one_by_one(xp, expansion, s, alpha, lambda *places: (kernel.value2d(xp, *places),), 1)[0]


def slope(xp: Library, expansion: Expansion, s: Array, alpha: Array) -> Array:
    """Its derivative by each input."""
    kernel = expansion.kernel
    if expansion.factored:

        def inner(first: Factors, second: Factors, rows: list[list[Array]]) -> tuple[Array, ...]:
            values = [second.envelope * second.horner(row) for row in rows]
            slopes = [second.envelope * second.horner(second.steep(row)) for row in rows]
            return first.horner(first.steep(values)), first.horner(slopes)

        factor = segments_of(expansion, xp.is_double(s)).slope
        slopes = [factor * each for each in _factored(xp, expansion, s, alpha, inner, 2)]
    elif kernel.separable:
        slopes = [
            _bilinear(xp, expansion, s, alpha, kernel.slope, kernel.value),
            _bilinear(xp, expansion, s, alpha, kernel.value, kernel.slope),
        ]
    else:
        slopes = [*_one_by_one(xp, expansion, s, alpha, lambda *places: kernel.slopes2d(xp, *places), 2)]
    return xp.reshape(xp.stack(slopes, axis=-1), xp.shape(s))


def by_gamma(xp: Library, expansion: Expansion, s: Array, alpha: Array) -> Array:
    """The derivative of each output by its bandwidth, which only the Gaussian has."""
    kernel = expansion.kernel
    assert isinstance(kernel, Gaussian)
    first = _bilinear(xp, expansion, s, alpha, kernel.by_gamma, kernel.value)
    return first + _bilinear(xp, expansion, s, alpha, kernel.value, kernel.by_gamma)


def by_input(xp: Library, upstream: Array, slopes: Array) -> Array:
    """The derivative of ``sum(upstream * output)`` by the input."""
    # The axis counted from 0: autograd's derivative of ``repeat`` is wrong for negative ones.
    return slopes * xp.repeat(upstream, 2, axis=len(upstream.shape) - 1)


def pushed(tangent: Array) -> Array:
    """The change of the outputs, from slopes times the change of the inputs."""
    first, second = pair(tangent)
    return first + second


def by_coefficients(xp: Library, expansion: Expansion, upstream: Array, s: Array) -> Array:
    """The derivative of ``sum(upstream * output)`` by alpha."""
    size = expansion.dictionary.size
    s1, s2 = pair(s)
    if not expansion.factored:
        kernel, elements = expansion.kernel, expansion.dictionary.values
        kept = xp.keeps_terms and kernel.separable
        along = [[kernel.value(xp, axis, d) for d in elements] for axis in (s1, s2)] if kept else None

        def cell(number: Any) -> Array:
            if along:
                return over_rows(xp, upstream * (along[0][number // size] * along[1][number % size]))
            d1, d2 = (xp.element(elements, i, s) for i in (number // size, number % size))
            return over_rows(xp, upstream * kernel.value2d(xp, s1, s2, d1, d2))

        return xp.transpose(xp.reshape(xp.collect(size**2, cell), (size, size, -1)), (2, 0, 1))
    segments = segments_of(expansion, xp.is_double(s))
    count, length, weights = segments.count, segments.length, segments.weights

    def cells(number: Any) -> Array:
        first, second = _factors(xp, segments, number, s)
        sums = {}
        # Envelope and powers of one axis before those of the other: both together may leave all range.
        for i, along in first.powers(upstream * first.envelope):
            for j, term in second.powers(along * second.envelope):
                sums[i, j] = (weights[i] * weights[j]) * over_rows(xp, term)
        return xp.stack([sums[key] for key in sorted(sums)])

    by_pair = xp.reshape(xp.collect(count**2, cells), (count, count, length, length, -1))
    whole = count * length
    flat = xp.reshape(xp.transpose(by_pair, (4, 0, 2, 1, 3)), (-1, whole, whole))
    return flat[:, :size, :size]


def _one_by_one(
    xp: Library, expansion: Expansion, s: Array, alpha: Array, terms: Callable[..., Any], outputs: int
) -> tuple[Array, ...]:
    """One sum for each of the ``outputs`` that ``terms`` gives for a grid point."""
    s1, s2 = pair(s)

    def add_row(i: Any, totals: tuple[Array, ...]) -> tuple[Array, ...]:
        d1 = xp.element(expansion.dictionary.values, i, s)
        for j, d2 in enumerate(expansion.dictionary.values):
            found = terms(s1, s2, d1, d2)
            totals = tuple(
                xp.multiply_add(alpha[:, i, j], term, total)
                for term, total in zip(found, totals, strict=True)
            )
        return totals

    return xp.accumulate(expansion.dictionary.size, add_row, (xp.zeros_like(s1),) * outputs)


def _bilinear(
    xp: Library,
    expansion: Expansion,
    s: Array,
    alpha: Array,
    first: Callable[..., Array],
    second: Callable[..., Array],
) -> Array:
    """The sum where terms are products of a function of each axis, as for a kernel that separates."""
    s1, s2 = pair(s)
    elements = expansion.dictionary.values
    kept = [second(xp, s2, d) for d in elements] if xp.keeps_terms else None

    def add(i: Any, total: Array) -> Array:
        row = xp.zeros_like(s1)
        for j, d in enumerate(elements):
            row = xp.multiply_add(alpha[:, i, j], kept[j] if kept else second(xp, s2, d), row)
        return xp.multiply_add(first(xp, s1, xp.element(elements, i, s)), row, total)

    return xp.accumulate(len(elements), add, xp.zeros_like(s1))


def _factors(xp: Library, segments: Segments, number: Any, s: Array) -> tuple[Factors, Factors]:
    """Of a pair of segments, counted row by row."""
    s1, s2 = pair(s)
    return (
        Factors.of(xp, segments, number // segments.count, s1),
        Factors.of(xp, segments, number % segments.count, s2),
    )


def _factored(
    xp: Library, expansion: Expansion, s: Array, alpha: Array, inner: Callable[..., Any], outputs: int
) -> tuple[Array, ...]:
    """One sum for each of the ``outputs`` that ``inner`` gives for a pair of segments."""
    segments = segments_of(expansion, xp.is_double(s))
    square, weights = segments.padded(xp, alpha), segments.weights

    def add(number: Any, totals: tuple[Array, ...]) -> tuple[Array, ...]:
        first, second = _factors(xp, segments, number, s)
        rows = [
            [square[:, number, i, j] * (weights[i] * weights[j]) for j in range(segments.length)]
            for i in range(segments.length)
        ]
        found = inner(first, second, rows)
        return tuple(
            xp.multiply_add(first.envelope, each, total) for each, total in zip(found, totals, strict=True)
        )

    return xp.accumulate(segments.count**2, add, (xp.zeros_like(s[..., 0::2]),) * outputs)
