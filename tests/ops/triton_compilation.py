"""What test_triton.py runs in a process of its own: ``python -m tests.ops.triton_compilation``."""

import itertools
from collections.abc import Callable
from typing import Any

import torch
import triton
from torch import Tensor
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from kafnets.ops import triton_kernels
from tests.ops.triton_checks import BOTH, RUNNER, coefficients, gaussian, normal, setting

KERNELS = [
    "forward_1d",
    "backward_1d",
    "forward_2d",
    "input_gradient_2d",
    "coefficient_gradient_2d",
]


class _Compiled:
    """Stands in for a kernel: what would be launched is compiled for an NVIDIA GPU instead."""

    count = 0

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def __getitem__(self, programs: tuple[int]) -> Callable[..., None]:
        return self.compile

    def compile(self, *args: Any, **kwargs: Any) -> None:
        names = self.kernel.arg_names
        arguments = dict(zip(names, args, strict=False)) | kwargs
        options = {name: arguments.pop(name) for name in list(arguments) if name not in names}
        types = {torch.float32: "*fp32", torch.float64: "*fp64", torch.bfloat16: "*bf16", int: "i32"}
        types |= {torch.float16: "*fp16"}
        constants = [parameter.name for parameter in self.kernel.params if parameter.is_constexpr]
        signature = {}
        for name, value in arguments.items():
            kind = value.dtype if isinstance(value, Tensor) else type(value)
            # A size of 1 counts as a constant for Triton, and so does None.
            fixed = name in constants or value is None or (kind is int and value == 1)
            signature[name] = "constexpr" if fixed else types[kind]
        fixed_values = {name: arguments[name] for name, kind in signature.items() if kind == "constexpr"}
        source = ASTSource(self.kernel, signature, fixed_values)
        compiled = triton.compile(source, target=GPUTarget("cuda", 80, 32), options=options)
        assert "atom." not in compiled.asm["ptx"]
        assert compiled.asm["cubin"]
        _Compiled.count += 1


def check_compilation() -> None:
    """The real compiler takes the kernels: it is stricter than the interpreter, and needs no GPU."""
    for name in KERNELS:
        setattr(triton_kernels, name, _Compiled(getattr(triton_kernels, name)))
    cases = [
        (torch.float32, (50, 40), BOTH),
        (torch.float32, (3, 4, 50), BOTH),
        (torch.float32, (1, 2), BOTH),
        (torch.float32, (50, 40), (True, False)),
        (torch.float32, (50, 40), (False, True)),
        (torch.float64, (50, 40), BOTH),
        (torch.bfloat16, (50, 40), BOTH),
        (torch.float16, (50, 40), BOTH),
    ]
    for dimensions, (dtype, shape, wanted) in itertools.product([1, 2], cases):
        x, alpha = normal(*shape, dtype=dtype), coefficients(dimensions, shape[1], 7, dtype)
        upstream = RUNNER.forward(gaussian(7, dimensions), x, alpha, 1)
        RUNNER.backward(gaussian(7, dimensions), upstream, x, alpha, 1, wanted)
    assert _Compiled.count == 8 * 2 + 8 * 3 - 2
    with setting("WIDE", 0):
        for dimensions in (1, 2):
            x, alpha = normal(50, 40), coefficients(dimensions, 40, 7, torch.float32)
            upstream = RUNNER.forward(gaussian(7, dimensions), x, alpha, 1)
            RUNNER.backward(gaussian(7, dimensions), upstream, x, alpha, 1, BOTH)


if __name__ == "__main__":
    torch.manual_seed(0)
    check_compilation()
