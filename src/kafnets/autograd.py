"""KAF and 2D-KAF for HIPS autograd: functions of NumPy arrays with their gradients registered."""

import operator
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, SupportsIndex

import numpy

try:
    import autograd.numpy as anp
    from autograd.extend import defjvp, defvjp, primitive
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"kafnets.autograd needs {error.name}: pip install 'kafnets[autograd]'", name=error.name
    ) from None

from kafnets.frontends import direct, formulas
from kafnets.frontends.exchange import Trained, parameters_of
from kafnets.frontends.library import Library
from kafnets.frontends.plan import Expansion, Plan, checked, twin
from kafnets.kernels import Gaussian as Gaussian
from kafnets.kernels import Kernel
from kafnets.kernels import Periodic as Periodic
from kafnets.kernels import Polynomial as Polynomial
from kafnets.kernels import ReLUKernel as ReLUKernel
from kafnets.kernels import Softplus as Softplus
from kafnets.nn.initializers import Normal as Normal
from kafnets.nn.initializers import Ridge as Ridge

Array = Any

_PLAIN, _TRACED = Library(numpy), Library(anp)


def kaf(
    x: Array,
    alpha: Array,
    *,
    boundary: float | None = None,
    dictionary: Sequence[float] | None = None,
    kernel: Kernel | None = None,
    gamma: float | Array | None = None,
    axis: int = -1,
    preset: str = "paper",
) -> Array:
    r"""A kernel expansion for each channel: :math:`\sum_i \alpha_{n,i} \, \kappa(x, d_i)`.

    Differentiable in both modes and more than once, by ``x``, ``alpha`` and an array ``gamma``.

    Args:
        x: any shape, with N channels along ``axis``.
        alpha: ``(N, D)``: coefficients, and with them the length of the dictionary.
        boundary: the dictionary reaches from ``-boundary`` to ``boundary``, evenly; None: 3, as the paper.
        dictionary: strictly increasing numbers to use in place of the even ones.
        kernel: None: ``Gaussian()`` with the paper's rule of thumb for its bandwidth.
        gamma: the Gaussian's bandwidth: a number, or to learn it an array ``()`` or ``(N,)``.
        axis: that of the channels.
        preset: "paper", or "authors_code" for the defaults of the authors' published code.

    Returns:
        The shape of ``x``, in its dtype.
    """
    return _call(1, x, alpha, boundary, dictionary, kernel, gamma, axis, preset)


def kaf2d(
    x: Array,
    alpha: Array,
    *,
    boundary: float | None = None,
    dictionary: Sequence[float] | None = None,
    kernel: Kernel | None = None,
    gamma: float | Array | None = None,
    axis: int = -1,
    preset: str = "paper",
) -> Array:
    """As :func:`kaf` for pairs of neighbours: ``alpha`` is ``(P, D, D)``, 2 P channels become P."""
    return _call(2, x, alpha, boundary, dictionary, kernel, gamma, axis, preset)


def coefficients(neurons: int, *, dimensions: int = 1, seed: SupportsIndex = 0, **options: Any) -> Array:
    """First values of alpha: ``(neurons, D)``, or ``(neurons, D, D)`` for two dimensions, in float64.

    Args:
        neurons: how many functions.
        dimensions: 2 for a 2D-KAF.
        seed: of random ones.
        options: ``dictionary_size``, ``boundary``, ``kernel``, ``init``, ``dictionary`` and ``preset``, as
            the torch modules take them: ``init="tanh"`` follows tanh.
    """
    return parameters_of(twin(dimensions, neurons, options, operator.index(seed)))["alpha"]


def from_torch(module: Expansion) -> tuple[dict[str, Array], dict[str, Any]]:
    """The parameters of a torch module, and the options with which the functions here do what it does.

    Where the bandwidth is learned, its logarithm is among the parameters: give ``gamma=np.exp(log_gamma)``.
    """
    trained = Trained.of(module)
    options: dict[str, Any] = {"dictionary": trained.dictionary}
    if "log_gamma" not in trained.arrays:
        options["kernel"] = trained.kernel
    return dict(trained.arrays), options


def to_torch(
    parameters: dict[str, Array],
    *,
    dictionary: Sequence[float],
    kernel: Kernel | None = None,
    dim: int = -1,
) -> Expansion:
    """A torch module with these parameters; arguments as :func:`from_torch` gives them.

    Args:
        parameters: ``alpha``, and ``log_gamma`` if it is learned.
        dictionary: its elements.
        kernel: the kernel; None for a Gaussian.
        dim: the axis of the module's channels.
    """
    kernel = Gaussian() if kernel is None else kernel
    if "log_gamma" in parameters:
        kernel = Gaussian(learn_gamma="neuron" if numpy.ndim(parameters["log_gamma"]) else "shared")
    dimensions = numpy.ndim(parameters["alpha"]) - 1
    return Trained(dimensions, kernel, tuple(map(float, dictionary)), parameters).to_torch(dim)


def _call(
    dimensions: int,
    x: Array,
    alpha: Array,
    boundary: float | None,
    dictionary: Sequence[float] | None,
    kernel: Kernel | None,
    gamma: float | Array | None,
    axis: int,
    preset: str,
) -> Array:
    x, alpha = (anp.array(each) if isinstance(each, list | tuple | float) else each for each in (x, alpha))
    if gamma is not None and not isinstance(gamma, Real):
        gamma = anp.array(gamma)  # also where autograd differentiates by a plain number
    if x.dtype.kind != "f":
        raise TypeError(f"x must be a floating-point array, got {x.dtype}: convert it with .astype")
    call = checked(
        dimensions,
        x.shape,
        alpha.shape,
        boundary=boundary,
        dictionary=dictionary,
        kernel=kernel,
        gamma=gamma,
        axis=axis,
        preset=preset,
    )
    learned = None if call.plan.gamma is not None else gamma
    # Half precision is computed in float32, and coefficients in the precision of x.
    dtype = x.dtype if x.dtype.itemsize >= 4 else numpy.dtype(numpy.float32)
    s, alpha = (each if each.dtype == dtype else each.astype(dtype) for each in (x, alpha))
    result = _expand(anp.moveaxis(s, call.axis, -1), alpha, learned, call.plan)
    result = anp.moveaxis(result, -1, call.axis)
    return result if x.dtype == dtype else result.astype(x.dtype)


def _double(s: Array) -> bool:
    return bool(s.dtype == numpy.float64)


@primitive  # type: ignore[untyped-decorator]
def _expand(s: Array, alpha: Array, gamma: Array | None, plan: Plan) -> Array:
    return formulas.expand(_PLAIN, plan, s, alpha, gamma, _double(s)).astype(s.dtype, copy=False)


def _slopes(s: Array, alpha: Array, gamma: Array | None, plan: Plan) -> Array:
    return formulas.slope(_TRACED, plan, s, alpha, gamma, _double(s))


def _back_to_input(
    answer: Array, s: Array, alpha: Array, gamma: Array | None, plan: Plan
) -> Callable[[Array], Array]:
    return lambda upstream: formulas.by_input(_TRACED, plan, upstream, _slopes(s, alpha, gamma, plan))


def _back_to_coefficients(
    answer: Array, s: Array, alpha: Array, gamma: Array | None, plan: Plan
) -> Callable[[Array], Array]:
    return lambda upstream: formulas.by_coefficients(_TRACED, plan, upstream, s, gamma, _double(s))


def _back_to_gamma(
    answer: Array, s: Array, alpha: Array, gamma: Array, plan: Plan
) -> Callable[[Array], Array]:
    return lambda upstream: formulas.by_gamma(_TRACED, plan, upstream, s, alpha, gamma)


def _on_from_input(
    moved: Array, answer: Array, s: Array, alpha: Array, gamma: Array | None, plan: Plan
) -> Array:
    changed = moved * _slopes(s, alpha, gamma, plan)
    return changed if plan.dimensions == 1 else sum(direct.pair(changed))


def _on_from_coefficients(
    moved: Array, answer: Array, s: Array, alpha: Array, gamma: Array | None, plan: Plan
) -> Array:
    return _expand(s, moved, gamma, plan)


def _on_from_gamma(moved: Array, answer: Array, s: Array, alpha: Array, gamma: Array, plan: Plan) -> Array:
    return moved * direct.by_gamma(_TRACED, plan, s, alpha, gamma)


defvjp(_expand, _back_to_input, _back_to_coefficients, _back_to_gamma, argnums=(0, 1, 2))
defjvp(_expand, _on_from_input, _on_from_coefficients, _on_from_gamma, argnums=(0, 1, 2))
