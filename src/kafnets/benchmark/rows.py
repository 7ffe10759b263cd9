"""What is compared: torch's activations, ours in their implementations, peers that are installed."""

import contextlib
import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from kafnets.nn import KAF, KAF2D
from kafnets.ops import use_backend


@dataclass(frozen=True)
class Row:
    """One activation, to be built for a number of channels."""

    name: str
    build: Callable[[int], nn.Module]
    backend: str = "auto"
    compiled: bool = False
    halves: bool = False


def torch_rows() -> list[Row]:
    """Those of torch itself."""
    return [
        Row("nn.ReLU", lambda n: nn.ReLU()),
        Row("nn.ELU", lambda n: nn.ELU()),
        Row("nn.Tanh", lambda n: nn.Tanh()),
        Row("nn.PReLU", lambda n: nn.PReLU(n)),
    ]


def kaf_row(dictionary_size: int = 20, backend: str = "auto", *, compiled: bool = False) -> Row:
    """A KAF, by one of its implementations."""
    name = _name("KAF", dictionary_size, backend, compiled)
    return Row(name, lambda n: KAF(n, dictionary_size=dictionary_size), backend, compiled)


def kaf2d_row(dictionary_size: int = 10, backend: str = "auto") -> Row:
    """A 2D-KAF, by one of its implementations."""
    name = _name("2D-KAF", dictionary_size, backend, False)
    return Row(name, lambda n: KAF2D(n, dictionary_size=dictionary_size), backend, halves=True)


def peer_rows() -> list[Row]:
    """Trainable activations of other packages, where those are installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of optional parts of its own that it misses
            peers: Any = importlib.import_module("torch_activation")
    except ImportError:
        return []
    return [
        Row("PAU (torch-activation)", lambda n: peers.PAU()),
        Row("MeLU, k=8 (torch-activation)", lambda n: peers.MeLU(k=8)),
    ]


def _name(kind: str, size: int, backend: str, compiled: bool) -> str:
    how = "fused" if backend == "auto" else backend
    return f"{kind}, D={size}, {how}{' + torch.compile' if compiled else ''}"


def step(row: Row, shape: tuple[int, ...]) -> Callable[[], None]:
    """Forward and backward on fixed random input, ready to be called."""
    channels = shape[1]
    module = row.build(channels)
    if row.compiled:
        module = torch.compile(module, fullgraph=True)  # type: ignore[assignment]
    s = torch.randn(shape, requires_grad=True)
    out_shape = (shape[0], channels // 2, *shape[2:]) if row.halves else shape
    upstream = torch.randn(out_shape)

    def run() -> None:
        s.grad = None
        module.zero_grad(set_to_none=True)
        with use_backend(row.backend) if row.backend != "auto" else contextlib.nullcontext():
            result: Tensor = module(s)
            result.backward(upstream)

    return run
