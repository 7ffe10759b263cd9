"""Nothing is timed that is not right: errors against float64, in units of the composite's in float32."""

import copy

import torch
from torch import Tensor

from kafnets.nn import KAF, KAF2D
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
            float((ours.detach().double() - right).abs().max())
            for ours, right in zip(found, exact, strict=True)
        ]
    names = ("output", "input gradient", "coefficient gradient")
    return {
        name: fused / plain
        for name, fused, plain in zip(names, errors["auto"], errors["composite"], strict=True)
    }


def _exact(module: KAF | KAF2D, s: Tensor, upstream: Tensor) -> tuple[Tensor, ...]:
    """By the plain formula in float64, on the same numbers."""
    exact, wide = copy.deepcopy(module).double(), s.detach().double().requires_grad_()
    with use_backend("composite"):
        output = exact(wide)
    return output.detach(), *torch.autograd.grad(output, [wide, exact.alpha], upstream.double())
