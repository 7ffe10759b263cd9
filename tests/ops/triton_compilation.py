"""What test_triton.py runs in a process of its own: ``python -m tests.ops.triton_compilation``."""

import itertools
from collections.abc import Callable
from typing import Any

import torch
import triton
from torch import Tensor
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from kafnets import Base, Expansion
from kafnets.fixed_functions import FUNCTIONS
from kafnets.ops import formula_of, triton_kaf, triton_kaf2d
from tests.ops.triton_checks import BOTH, RUNNER, coefficients, gaussian, normal, setting

KERNELS = [
    (triton_kaf, "forward"),
    (triton_kaf, "backward"),
    (triton_kaf2d, "forward"),
    (triton_kaf2d, "input_gradient"),
    (triton_kaf2d, "coefficient_gradient"),
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
    for module, name in KERNELS:
        setattr(module, name, _Compiled(getattr(module, name)))
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
    compile_outside()
    with setting("WIDE", 0):
        for dimensions in (1, 2):
            x, alpha = normal(50, 40), coefficients(dimensions, 40, 7, torch.float32)
            upstream = RUNNER.forward(gaussian(7, dimensions), x, alpha, 1)
            RUNNER.backward(gaussian(7, dimensions), upstream, x, alpha, 1, BOTH)


def compile_outside() -> None:
    """Tails, and every base."""
    forms = itertools.cycle([("linear", "fixed"), ("constant", "weighted"), ("zero", "residual")])
    for name, (tails, form) in zip(FUNCTIONS, forms, strict=False):
        for dtype in (torch.float32, torch.float64):
            base: Any = Base(name, form)  # type: ignore[arg-type]
            formula = formula_of(Expansion.of(dictionary_size=7, tails=tails, base=base))  # type: ignore[arg-type]
            table = coefficients(1, 40, 7 + base.learned, dtype)
            x = normal(50, 40, dtype=dtype)
            RUNNER.backward(formula, RUNNER.forward(formula, x, table, 1), x, table, 1, BOTH)


if __name__ == "__main__":
    torch.manual_seed(0)
    check_compilation()
