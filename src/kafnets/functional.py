"""KAFs as functions, for code that manages its own parameters.

::

    import torch
    from kafnets import functional

    x, alpha = torch.randn(100, 300), torch.randn(300, 20, requires_grad=True)
    y = functional.kaf(x, alpha)

They use the same kernels as the modules. The fixed part of the functions is an :class:`kafnets.Expansion`;
None: the paper's, with a dictionary of alpha's size.
"""

import torch
from torch import Tensor
from torch.nn.functional import linear

from kafnets.arguments import check_expansion, checked_call
from kafnets.expansion import Expansion
from kafnets.kernels import Gaussian
from kafnets.ops.dispatch import apply
from kafnets.ops.kaf2d import formula_of
from kafnets.ops.kernel_values import kernel_values
from kafnets.ops.layout import in_groups

EDGEWISE_KERNEL = Gaussian(divisor=1.0)
"""The paper's rule of thumb, six times less, is for longer dictionaries: with the few elements that a
connection has, its terms are so wide that all functions are alike."""


def kaf(
    x: Tensor,
    alpha: Tensor,
    expansion: Expansion | None = None,
    dim: int = 1,
    *,
    weight: Tensor | None = None,
    gamma: Tensor | None = None,
) -> Tensor:
    r"""A kernel expansion for each channel: :math:`\sum_i \alpha_{n,i} \, \kappa(x, d_i)`.

    >>> kafnets.functional.kaf(torch.randn(5, 3), alpha=torch.randn(3, 20)).shape
    torch.Size([5, 3])

    Args:
        x: any shape, with N channels along ``dim``.
        alpha: ``(N, D)``; or ``(G, D)``, with G a divisor of N, for functions that N / G neighboring
            channels share, ``(1, D)`` for one function for all.
        expansion: kernel and dictionary. None: the paper's, with D elements from -3 to 3.
        dim: the channel axis.
        weight: the weights of the expansion's base, one per function, if it has weights.
        gamma: the current value of a learned bandwidth, ``()`` or one per function; for expansions whose
            kernel has ``learn_gamma``.

    Returns:
        The shape, dtype and memory layout of ``x``. Half precision is computed in float32.
    """
    expansion, sharing = _checked(1, x, alpha, expansion, dim, gamma, weight)
    formula = formula_of(expansion)
    table = formula.table(alpha, weight, gamma)
    if sharing == 1:
        return apply(formula, x, table, dim)
    return in_groups(lambda s, axis: apply(formula, s, table, axis), x, len(alpha), dim)


def kaf2d(
    x: Tensor,
    alpha: Tensor,
    expansion: Expansion | None = None,
    dim: int = 1,
    *,
    gamma: Tensor | None = None,
) -> Tensor:
    """Like :func:`kaf`, for pairs of channels: ``alpha`` is ``(P, D, D)``, and 2 P channels become P."""
    expansion, sharing = _checked(2, x, alpha, expansion, dim, gamma)
    formula = formula_of(expansion)
    table = formula.table(alpha, None, gamma)
    return apply(formula, x, table if sharing == 1 else table.repeat_interleave(sharing, 0), dim)


def edgewise(x: Tensor, alpha: Tensor, expansion: Expansion | None = None) -> Tensor:
    r"""An expansion for each connection: :math:`y_o = \sum_i \sum_k \alpha_{o,i,k} \, \kappa(x_i, d_k)`.

    Args:
        x: ``(..., in_features)``.
        alpha: ``(out_features, in_features, D)``.
        expansion: kernel and dictionary. None: D elements from -3 to 3, and a Gaussian kernel of bandwidth
            :math:`1 / \Delta^2` for a spacing of :math:`\Delta`.

    Returns:
        ``(..., out_features)`` in the dtype of ``x``. Half precision is computed in float32.
    """
    if alpha.dim() != 3 or x.shape[-1:] != alpha.shape[1:2]:
        raise ValueError(
            "alpha must have the shape (out_features, in_features, D) for an x of shape (..., in_features), "
            f"got {tuple(alpha.shape)} for {tuple(x.shape)}"
        )
    _check_floating(x)
    if expansion is None:
        expansion = Expansion.of(dictionary_size=alpha.shape[2], kernel=EDGEWISE_KERNEL)
    check_expansion(expansion, 1)
    if expansion.learn_gamma:
        raise ValueError("kernel must have a fixed gamma here, got learn_gamma: omit it")
    if expansion.base is not None:
        raise ValueError("base is for functions of neurons: connections have a linear part instead")
    if alpha.shape[2:] != expansion.shape:
        raise ValueError(
            "alpha must have the shape (out_features, in_features, D) with a dictionary of "
            f"D = {expansion.dictionary.size} elements, got {tuple(alpha.shape)}"
        )
    dtype = torch.promote_types(torch.promote_types(x.dtype, alpha.dtype), torch.float32)
    values = kernel_values(expansion, x.to(dtype))
    return linear(values.flatten(-2), alpha.to(dtype).flatten(1)).to(x.dtype)


def _checked(
    dimensions: int,
    x: Tensor,
    alpha: Tensor,
    expansion: Expansion | None,
    dim: int,
    gamma: Tensor | None,
    weight: Tensor | None = None,
) -> tuple[Expansion, int]:
    _check_floating(x)
    shapes = (None if each is None else each.shape for each in (gamma, weight))
    checked = checked_call(dimensions, x.shape, alpha.shape, expansion, dim, *shapes)
    if alpha.device != x.device:
        raise ValueError(f"x is on {x.device} but alpha is on {alpha.device}: move one of them")
    return checked


def _check_floating(x: Tensor) -> None:
    if not x.is_floating_point():
        raise TypeError(
            f"x must be a floating-point tensor, got {x.dtype}: convert it, for example with .float()"
        )
