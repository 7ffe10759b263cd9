"""What every front end must agree with: the oracle, and torch."""

import copy
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import kafnets
from kafnets.benchmark.adapters import Adapter, Found, Module, Torch
from kafnets.fixed_functions import FUNCTIONS
from kafnets.frontends.exchange import arrays_of
from tests import oracle
from tests.oracle.outside import kaf_outside

KERNELS_1D: dict[str, kafnets.Kernel] = {
    "rule of thumb": kafnets.Gaussian(),
    "fixed": kafnets.Gaussian(gamma=0.7),
    "narrow": kafnets.Gaussian(gamma=40.0),
    "learned": kafnets.Gaussian(learn_gamma=True),
    "learned per neuron": kafnets.Gaussian(learn_gamma="neuron"),
    "polynomial": kafnets.Polynomial(3),
    "relu": kafnets.ReLUKernel(),
    "softplus": kafnets.Softplus(),
    "periodic": kafnets.Periodic(),
}
KERNELS_2D = {name: KERNELS_1D[name] for name in KERNELS_1D if name not in ("relu", "softplus")}
DICTIONARIES: dict[str, dict[str, Any]] = {
    "usual": {},
    "long": {"dictionary_size": 33},
    "short": {"dictionary_size": 2},
    "uneven": {"dictionary": [-2.0, -0.5, 0.1, 0.9, 3.0], "kernel": kafnets.Gaussian(gamma=1.3)},
}
SHAPES = {"vector": ((6,), 0), "rows": ((40, 6), -1), "images": ((5, 6, 3, 4), 1)}
TOLERANCE = {np.float64: 1e-12, np.float32: 4e-6}
"""Of the largest value. In float32, 30 roundings."""


@dataclass(frozen=True)
class Case:
    """An activation, with its channels along its ``dim``, and what it is fed."""

    module: Module
    x: NDArray[np.float64]
    upstream: NDArray[np.float64]

    def in_precision(self, dtype: Any) -> "Case":
        """All numbers rounded, so that what is compared starts from the same ones."""
        rounded = copy.deepcopy(self.module).to(torch.from_numpy(np.zeros(0, dtype)).dtype)
        return replace(self, module=rounded, x=self.x.astype(dtype), upstream=self.upstream.astype(dtype))


def case(
    dimensions: int,
    *,
    kernel: kafnets.Kernel | None = None,
    shape: tuple[int, ...] = (40, 6),
    dim: int = -1,
    **options: Any,
) -> Case:
    """Random coefficients, and activations that also leave the dictionary."""
    generator = np.random.default_rng(7)
    options.setdefault("kernel", kernel)
    channels = shape[dim]
    cls = kafnets.KAF if dimensions == 1 else kafnets.KAF2D
    if dimensions == 2:
        options.setdefault("dictionary_size", 7)
    module = cls(options.pop("num_features", channels), dim=dim, dtype=torch.float64, **options)
    with torch.no_grad():
        module.alpha.copy_(torch.from_numpy(generator.normal(size=module.alpha.shape)))
        if module.base_weight is not None:
            module.base_weight.copy_(torch.from_numpy(generator.normal(size=module.base_weight.shape)))
        if module.log_gamma is not None:
            module.log_gamma.add_(torch.as_tensor(0.3 * generator.normal(size=module.log_gamma.shape)))
    x = 2 * generator.normal(size=shape)
    output = list(shape)
    output[dim] = channels // dimensions
    return Case(module, x, generator.normal(size=output))


def exact(case: Case) -> Found:
    """By the oracle, in float64."""
    module, expansion = case.module, case.module.expansion
    x, upstream = (np.moveaxis(each.astype(np.float64), module.dim, -1) for each in (case.x, case.upstream))
    arrays = arrays_of(module)
    sharing = x.shape[-1] // (expansion.dimensions * module.groups)
    alpha, log_gamma = np.repeat(arrays["alpha"], sharing, 0), arrays.get("log_gamma")
    kernel = oracle.twin(expansion.kernel)
    if log_gamma is not None:
        apart = np.repeat(np.exp(log_gamma), sharing) if log_gamma.ndim else np.exp(log_gamma)
        kernel = oracle.twin(
            expansion.kernel,
            apart.reshape(apart.shape + (1,) * expansion.dimensions if apart.ndim else ()),
        )
    if expansion.tails != "zero" or expansion.base is not None:
        return _exact_outside(module, x, upstream, alpha, kernel, sharing)
    value, slopes = (
        (oracle.kaf, oracle.kaf_gradients)
        if expansion.dimensions == 1
        else (oracle.kaf2d, oracle.kaf2d_gradients)
    )
    arguments = (x, alpha, expansion.dictionary.elements, kernel)
    found = slopes(*arguments, upstream)
    by_log_gamma = None
    if log_gamma is not None:
        assert found.gamma is not None
        by_group = found.gamma.reshape(module.groups, -1).sum(1)
        by_log_gamma = np.asarray(by_group if log_gamma.ndim else by_group.sum()) * np.exp(log_gamma)
    return Found(
        np.moveaxis(value(*arguments), -1, module.dim),
        np.moveaxis(found.s, -1, module.dim),
        found.alpha.reshape(module.groups, sharing, *expansion.shape).sum(1),
        by_log_gamma=by_log_gamma,
    )


def _exact_outside(module: Module, x: Any, upstream: Any, alpha: Any, kernel: Any, sharing: int) -> Found:
    """With tails and a base; bandwidths are fixed."""
    expansion, base, weight = module.expansion, module.expansion.base, arrays_of(module).get("base_weight")
    found = kaf_outside(
        x,
        alpha,
        expansion.dictionary.elements,
        kernel,
        upstream,
        tails=expansion.tails,
        function=None if base is None else base.function,
        form="fixed" if base is None else base.form,
        weight=None if weight is None else np.repeat(weight, sharing),
    )
    value, by_input = (np.moveaxis(each, -1, module.dim) for each in (found.value, found.s))
    by_alpha = found.alpha.reshape(module.groups, sharing, -1).sum(1)
    by_weight = None if found.weight is None else found.weight.reshape(module.groups, sharing).sum(1)
    return Found(value, by_input, by_alpha, by_weight)


@dataclass(frozen=True)
class Laplacian(kafnets.Kernel):
    """A kernel as users write their own: no derivative is given."""

    scale: float = 1.3

    def value(self, xp: Any, s: Any, d: Any) -> Any:
        return xp.exp(-xp.abs(s - d) / self.scale)


_FORMS: list[Any] = [("fixed", "linear"), ("weighted", "zero"), ("residual", "constant")]
OUTSIDE: dict[str, dict[str, Any]] = {
    f"{form} {function}": {"base": kafnets.Base(function, form), "tails": tails}
    for function, (form, tails) in [*zip(FUNCTIONS, _FORMS * 4, strict=True), *product(["silu"], _FORMS)]
}
OUTSIDE |= {tails: {"tails": tails} for tails in ("constant", "linear")}
OUTSIDE |= {
    "groups": {"base": kafnets.Base("silu", "residual"), "groups": 3},
    "one for all": {"base": kafnets.Base("mish", "weighted"), "num_features": 1, "tails": "linear"},
    "another kernel": {"base": kafnets.Base("gelu", "residual"), "kernel": kafnets.Softplus()},
}
LEARNED = kafnets.Gaussian(gamma=1.0, learn_gamma=True)


def assert_own_kernel_agrees(adapter: Adapter, dimensions: int, dtype: Any) -> None:
    """Values and gradients of :class:`Laplacian` within tolerance of its formula in float64."""
    given = case(dimensions, kernel=Laplacian()).in_precision(dtype)
    found = adapter.gradients(given.module, given.x, given.upstream)
    x, upstream = given.x.astype(np.float64), given.upstream.astype(np.float64)
    alpha, d = arrays_of(given.module)["alpha"], given.module.expansion.dictionary.elements
    difference = x[..., None] - d  # (rows, channels, D)
    terms = np.exp(-np.abs(difference) / 1.3)
    steep = -np.sign(difference) / 1.3 * terms
    if dimensions == 1:
        value = (terms * alpha).sum(-1)
        by_input = upstream * (steep * alpha).sum(-1)
        by_coefficients = np.einsum("bn,bnd->nd", upstream, terms)
    else:
        one, two = (terms[:, k::2] for k in (0, 1))
        value = np.einsum("bpi,pij,bpj->bp", one, alpha, two)
        by_coefficients = np.einsum("bp,bpi,bpj->pij", upstream, one, two)
        by_one = np.einsum("bp,bpi,pij,bpj->bp", upstream, steep[:, 0::2], alpha, two)
        by_two = np.einsum("bp,bpi,pij,bpj->bp", upstream, one, alpha, steep[:, 1::2])
        by_input = np.stack([by_one, by_two], -1).reshape(x.shape)
    for ours, right in zip(found, (value, by_input, by_coefficients), strict=False):
        assert ours is not None
        np.testing.assert_allclose(ours, right, rtol=0, atol=2 * TOLERANCE[dtype] * np.abs(right).max())


def assert_agrees(adapter: Adapter, case: Case, dtype: Any, *, with_torch: bool = True) -> None:
    """Values and gradients within tolerance of the oracle, and of torch."""
    rounded = case.in_precision(dtype)
    found = adapter.gradients(rounded.module, rounded.x, rounded.upstream)
    right = exact(rounded)
    others = [right]
    if with_torch:
        others.append(Torch().gradients(rounded.module, rounded.x, rounded.upstream))
    for other in others:
        for name, ours, theirs in zip(Found._fields, found, other, strict=True):
            if theirs is None:
                assert ours is None
                continue
            assert ours is not None
            assert ours.dtype == dtype, name
            scale = np.abs(theirs).max()
            worst = np.abs(np.asarray(ours, dtype=np.float64) - theirs).max()
            assert worst <= 2 * TOLERANCE[dtype] * scale, f"{name}: {worst / scale:.1e} of the largest value"


every_kernel = pytest.mark.parametrize(
    ("dimensions", "kernel"),
    [(1, kernel) for kernel in KERNELS_1D.values()] + [(2, kernel) for kernel in KERNELS_2D.values()],
    ids=[f"KAF, {name}" for name in KERNELS_1D] + [f"2D-KAF, {name}" for name in KERNELS_2D],
)
every_shape = pytest.mark.parametrize(("shape", "dim"), SHAPES.values(), ids=SHAPES)
every_dictionary = pytest.mark.parametrize("options", DICTIONARIES.values(), ids=DICTIONARIES)
SHARED: dict[str, dict[str, Any]] = {
    "groups": {"groups": 3},
    "one for all": {"groups": 1},
    "of any width": {"num_features": 1},
    "groups with their bandwidths": {"groups": 3, "kernel": kafnets.Gaussian(learn_gamma="neuron")},
    "groups with one bandwidth": {"groups": 3, "kernel": kafnets.Gaussian(learn_gamma="shared")},
}
every_base = pytest.mark.parametrize("options", OUTSIDE.values(), ids=OUTSIDE)
every_sharing = pytest.mark.parametrize("options", SHARED.values(), ids=SHARED)
both_precisions = pytest.mark.parametrize("dtype", [np.float64, np.float32])
both_dimensions = pytest.mark.parametrize("dimensions", [1, 2])
