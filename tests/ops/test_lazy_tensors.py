"""Tensors whose memory does not hold their values: negated views, and zeros without memory."""

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import kafnets
from kafnets.ops import native

NAMES = ["kaf", "kaf2d", "srelu", "apl", "paf", "hermite", "saf"]
BUILDS: dict[str, Callable[[], nn.Module]] = {
    **{name: partial(kafnets.create, name, 4) for name in NAMES},
    "kaf, learned": lambda: kafnets.KAF(4, kernel=kafnets.Gaussian(learn_gamma="neuron")),
}
BACKENDS = ["cpu", "portable"] if native.kernels is not None else ["portable"]

every = pytest.mark.parametrize("name", BUILDS)
each_backend = pytest.mark.parametrize("backend", BACKENDS)


def negated(values: Tensor) -> Tensor:
    """The same values, as torch keeps the imaginary part of a conjugate."""
    lazy = torch._neg_view(-values.detach())
    assert lazy.is_neg()
    return lazy


def imaginary(values: Tensor) -> Tensor:
    """Likewise, and with strides."""
    lazy = torch.complex(torch.full_like(values, 7.0), -values.detach()).conj().imag
    assert lazy.is_neg()
    return lazy


lazily = pytest.mark.parametrize("lazy", [negated, imaginary])


def run(module: nn.Module, s: Tensor, upstream: Tensor, parameters: dict[str, Tensor]) -> list[Tensor]:
    """Output and gradients, of input and parameters."""
    leaves = {key: value.requires_grad_() for key, value in parameters.items()}
    result: Any = torch.func.functional_call(module, leaves, (s.requires_grad_(),))
    return [result, *torch.autograd.grad(result, [s, *leaves.values()], upstream)]


@every
@each_backend
@lazily
@pytest.mark.parametrize("shape", [(5, 4), (2, 4, 3)])
@pytest.mark.parametrize("what", ["input", "parameters", "upstream", "all"])
def test_negated_views(
    name: str, backend: str, lazy: Callable[[Tensor], Tensor], shape: tuple[int, ...], what: str
) -> None:
    module, s = BUILDS[name](), torch.randn(shape)
    own = {key: value.detach() for key, value in module.named_parameters()}
    upstream = torch.randn_like(module(s))
    with kafnets.use_backend(backend):
        expected = run(module, s.clone(), upstream, {key: value.clone() for key, value in own.items()})
        found = run(
            module,
            lazy(s) if what in ("input", "all") else s.clone(),
            lazy(upstream) if what in ("upstream", "all") else upstream,
            {
                key: lazy(value) if what in ("parameters", "all") else value.clone()
                for key, value in own.items()
            },
        )
        with torch.no_grad():
            torch.testing.assert_close(module(lazy(s)), expected[0])
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


ZEROS = """
import torch, kafnets
kernel = kafnets.Gaussian(learn_gamma=True)
modules = [kafnets.create(name, 4) for name in {names}] + [kafnets.KAF(4, kernel=kernel)]
for backend in {backends}:
    with kafnets.use_backend(backend):
        for module in modules:
            nothing = torch._efficientzerotensor((3, 4))
            with torch.no_grad():
                torch.testing.assert_close(module(nothing), module(torch.zeros(3, 4)))
            s = torch.randn(3, 4, requires_grad=True)
            result = module(s)
            zeros = torch._efficientzerotensor(result.shape)
            for found in torch.autograd.grad(result, [s, *module.parameters()], zeros):
                assert not found.any()
            leaf = torch._efficientzerotensor((3, 4)).requires_grad_()
            result = module(leaf)
            for found in torch.autograd.grad(result.sum(), [leaf, *module.parameters()]):
                assert found.isfinite().all()
"""


def test_zeros_without_memory() -> None:
    """In a process of its own: reading memory that is not there would end it."""
    program = ZEROS.format(names=NAMES, backends=BACKENDS)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
