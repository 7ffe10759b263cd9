"""Fixed functions that a sum of kernels can be added to, with their slopes, for the Triton kernels.

Accurate for small arguments, finite for large ones; NaN goes through each of them.
"""

# mypy: disable-error-code="untyped-decorator"

import triton
import triton.language as tl


@triton.jit
def _exp_minus_one(x: tl.tensor) -> tl.tensor:
    near = tl.where(tl.abs(x) < 0.5, x, 0.0)
    series = 1.0
    for k in tl.static_range(13):
        series = 1.0 + series * near * (1.0 / (14 - k))
    return tl.where(tl.abs(x) < 0.5, near * series, tl.exp(x) - 1.0)


@triton.jit
def _log_one_plus(x: tl.tensor) -> tl.tensor:
    rounded = 1.0 + x
    lost = rounded - 1.0  # x as it was added
    return tl.where(lost == 0.0, x, tl.log(rounded) * x / tl.where(lost == 0.0, 1.0, lost))


@triton.jit
def _elu(s: tl.tensor, alpha: tl.constexpr) -> tuple[tl.tensor, tl.tensor]:
    below = _exp_minus_one(tl.where(s > 0, 0.0, s))
    return tl.where(s > 0, s, alpha * below), tl.where(s > 0, 1.0, alpha * (below + 1.0))


@triton.jit
def _mish(s: tl.tensor) -> tuple[tl.tensor, tl.tensor]:
    """``s n / (n + 2)`` with ``n = exp(s) (exp(s) + 2)``."""
    near = tl.where(s > 40.0, 40.0, s)
    e = tl.exp(near)
    inverse = 1.0 / (e * (e + 2.0) + 2.0)
    gate = tl.where(s > 40.0, 1.0, e * (e + 2.0) * inverse)
    return s * gate, gate + 4.0 * near * (e * inverse) * ((e + 1.0) * inverse)


@triton.jit
def _base(s: tl.tensor, function: tl.constexpr) -> tuple[tl.tensor, tl.tensor]:
    """Value and slope of the function of that name."""
    one = tl.where(s == s, 1.0, s)
    small = tl.exp(-tl.abs(s))
    above = 1.0 / (1.0 + small)
    sigmoid = tl.where(s < 0, small * above, above)
    other = tl.where(s < 0, above, small * above)  # 1 - sigmoid, to all digits
    if function == "identity":
        return s, one
    if function == "relu":
        return tl.where(s <= 0, 0.0, s), tl.where(s <= 0, 0.0, one)
    if function == "leaky_relu":
        return tl.where(s <= 0, 0.01 * s, s), tl.where(s <= 0, 0.01, one)
    if function == "sigmoid":
        return sigmoid, sigmoid * other
    if function == "tanh":
        m = _exp_minus_one(-2.0 * tl.abs(s))
        size = -m / (m + 2.0)
        return tl.where(s < 0, -size, size), 1.0 - size * size
    if function == "elu":
        return _elu(s, 1.0)
    if function == "selu":
        value, slope = _elu(s, 1.6732632423543772)
        return 1.0507009873554805 * value, 1.0507009873554805 * slope
    if function == "mish":
        return _mish(s)
    if function == "softplus":
        return tl.where(s < 0, 0.0, s) + _log_one_plus(small), sigmoid
    if function == "gelu":
        below = 0.5 * (1.0 + tl.erf(0.7071067811865476 * s))
        near = tl.where(tl.abs(s) > 40.0, 40.0, s)
        return s * below, below + 0.3989422804014327 * near * tl.exp(-0.5 * near * near)
    # silu, which is also called swish
    return s * sigmoid, sigmoid * (1.0 + s * other)


@triton.jit
def added(
    s: tl.tensor, weight: tl.tensor, function: tl.constexpr, form: tl.constexpr
) -> tuple[tl.tensor, tl.tensor, tl.tensor]:
    """What a base adds to the sum and to its slope, and the derivative by its weight. None adds nothing."""
    if function is None:
        return tl.zeros_like(s), tl.zeros_like(s), tl.zeros_like(s)
    value, slope = _base(s, function)
    if form == "residual":
        rest = 1.0 - weight
        return rest * s + weight * value, rest + weight * slope, value - s
    return weight * value, weight * slope, value
