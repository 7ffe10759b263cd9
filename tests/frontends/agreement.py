"""What every front end must agree with: the reference, and torch."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import kafnets
from kafnets import reference
from kafnets.benchmark.adapters import Adapter, Found, Torch
from kafnets.frontends.exchange import Trained

KERNELS_1D: dict[str, kafnets.Kernel] = {
    "rule of thumb": kafnets.Gaussian(),
    "fixed": kafnets.Gaussian(gamma=0.7),
    "narrow": kafnets.Gaussian(gamma=40.0),
    "learned": kafnets.Gaussian(learn_gamma=True),
    "learned by neuron": kafnets.Gaussian(learn_gamma="neuron"),
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
    """An activation, what it is fed, and along which axis."""

    trained: Trained
    x: NDArray[np.float64]
    upstream: NDArray[np.float64]
    axis: int

    def in_precision(self, dtype: Any) -> "Case":
        """All numbers rounded, so that what is compared starts from the same ones."""
        arrays = {
            name: values.astype(dtype).astype(np.float64) for name, values in self.trained.arrays.items()
        }
        trained = Trained(self.trained.dimensions, self.trained.kernel, self.trained.dictionary, arrays)
        return Case(trained, self.x.astype(dtype), self.upstream.astype(dtype), self.axis)


def case(
    dimensions: int,
    *,
    kernel: kafnets.Kernel | None = None,
    shape: tuple[int, ...] = (40, 6),
    axis: int = -1,
    **options: Any,
) -> Case:
    """Random coefficients, and activations that also leave the dictionary."""
    generator = np.random.default_rng(7)
    options.setdefault("kernel", kernel)
    channels = shape[axis]
    cls = kafnets.KAF if dimensions == 1 else kafnets.KAF2D
    if dimensions == 2:
        options.setdefault("dictionary_size", 7)
    trained = Trained.of(cls(channels, **options))
    alpha = generator.normal(size=trained.arrays["alpha"].shape)
    arrays = {"alpha": alpha}
    if "log_gamma" in trained.arrays:
        arrays["log_gamma"] = trained.arrays["log_gamma"] + 0.3 * generator.normal(
            size=trained.arrays["log_gamma"].shape
        )
    x = 2 * generator.normal(size=shape)
    output = list(shape)
    output[axis] = channels // dimensions
    return Case(
        Trained(dimensions, trained.kernel, trained.dictionary, arrays),
        x,
        generator.normal(size=output),
        axis,
    )


def exact(case: Case) -> Found:
    """By the reference, in float64."""
    trained = case.trained
    x, upstream = (np.moveaxis(each.astype(np.float64), case.axis, -1) for each in (case.x, case.upstream))
    log_gamma = trained.arrays.get("log_gamma")
    gamma = getattr(trained.kernel, "gamma", None)
    kernel: Any = trained.kernel.reference(gamma)
    if log_gamma is not None:
        apart = np.exp(log_gamma)
        kernel = reference.Gaussian(
            apart.reshape(apart.shape + (1,) * trained.dimensions if apart.ndim else ())
        )
    value, slopes = (
        (reference.kaf, reference.kaf_gradients)
        if trained.dimensions == 1
        else (reference.kaf2d, reference.kaf2d_gradients)
    )
    arguments = (x, trained.arrays["alpha"], np.asarray(trained.dictionary), kernel)
    found = slopes(*arguments, upstream)
    by_log_gamma = None
    if log_gamma is not None:
        assert found.gamma is not None
        by_log_gamma = np.asarray(found.gamma if log_gamma.ndim else found.gamma.sum()) * np.exp(log_gamma)
    return Found(
        np.moveaxis(value(*arguments), -1, case.axis),
        np.moveaxis(found.s, -1, case.axis),
        found.alpha,
        by_log_gamma,
    )


def assert_agrees(adapter: Adapter, case: Case, dtype: Any, *, with_torch: bool = True) -> None:
    """Values and gradients within tolerance of the reference, and of torch."""
    rounded = case.in_precision(dtype)
    found = adapter.gradients(rounded.trained, rounded.x, rounded.upstream, rounded.axis)
    right = exact(rounded)
    others = [right]
    if with_torch:
        others.append(Torch().gradients(rounded.trained, rounded.x, rounded.upstream, rounded.axis))
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
every_shape = pytest.mark.parametrize(("shape", "axis"), SHAPES.values(), ids=SHAPES)
every_dictionary = pytest.mark.parametrize("options", DICTIONARIES.values(), ids=DICTIONARIES)
both_precisions = pytest.mark.parametrize("dtype", [np.float64, np.float32])
both_dimensions = pytest.mark.parametrize("dimensions", [1, 2])
