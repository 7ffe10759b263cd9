"""Nothing is timed that is not right: errors against float64, in units of the composite's in float32."""

import copy
from typing import Any

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
    s = torch.randn(2000, channels, generator=generator)
    upstream = torch.randn(2000, channels // dimensions, generator=generator)
    exact = _run("composite", copy.deepcopy(module).double(), s.double(), upstream.double())
    errors = {
        backend: [
            (ours.double() - right).abs().max().item()
            for ours, right in zip(_run(backend, module, s, upstream), exact, strict=True)
        ]
        for backend in ("composite", "auto")
    }
    names = ("output", "input gradient", "coefficient gradient")
    return {
        name: fused / plain
        for name, fused, plain in zip(names, errors["auto"], errors["composite"], strict=True)
    }


def _run(backend: str, module: Any, s: Tensor, upstream: Tensor) -> tuple[Tensor, ...]:
    """Output, input gradient and coefficient gradient."""
    leaf = s.detach().requires_grad_()
    with use_backend(backend):
        output = module(leaf)
    return output.detach(), *torch.autograd.grad(output, [leaf, module.alpha], upstream)
