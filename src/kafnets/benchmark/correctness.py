"""Nothing is timed that is not right: errors against the float64 reference, in units of the composite's."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from kafnets import reference
from kafnets.nn.expansions import KAF, KAF2D
from kafnets.ops import use_backend


def error_ratios(dimensions: int, dictionary_size: int) -> dict[str, float]:
    """The largest error of the fused float32 kernels over that of the composite float32 formula.

    For output, input gradient and coefficient gradient, on 2,000 rows of normal activations.
    """
    generator = torch.Generator().manual_seed(0)
    channels = 32
    cls = KAF if dimensions == 1 else KAF2D
    module = cls(channels, dictionary_size=dictionary_size, generator=generator)
    s = torch.randn(2000, channels, generator=generator, requires_grad=True)
    upstream = torch.randn(2000, channels // dimensions, generator=generator)
    exact = _exact(module, s, upstream)
    errors = {}
    for backend in ("composite", "auto"):
        with use_backend(backend):
            output = module(s)
        found = (output, *torch.autograd.grad(output, [s, module.alpha], upstream))
        errors[backend] = [
            np.abs(ours.detach().double().numpy() - right).max()
            for ours, right in zip(found, exact, strict=True)
        ]
    names = ("output", "input gradient", "coefficient gradient")
    return {
        name: float(fused / plain)
        for name, fused, plain in zip(names, errors["auto"], errors["composite"], strict=True)
    }


def _exact(module: Any, s: Tensor, upstream: Tensor) -> tuple[Any, ...]:
    arrays = (
        s.detach().double().numpy(),
        module.alpha.detach().double().numpy(),
        reference.equispaced(module.dictionary_size, 3.0),
        reference.Gaussian(module.gamma),
    )
    value, slopes = (
        (reference.kaf, reference.kaf_gradients)
        if module.alpha.dim() == 2
        else (reference.kaf2d, reference.kaf2d_gradients)
    )
    gradients = slopes(*arrays, upstream.double().numpy())
    return value(*arrays), gradients.s, gradients.alpha
