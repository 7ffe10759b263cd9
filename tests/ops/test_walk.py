"""How far it is from a module to the native kernel: every call on the way shows at small batches."""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch

import kafnets
from kafnets.ops import native

PACKAGE = str(Path(kafnets.__file__).parent)
MOST_CALLS, MOST_FILES = 8, 5


def walk(module: torch.nn.Module, x: torch.Tensor) -> list[tuple[str, str]]:
    """Our functions that are called from ``forward`` on, until the native kernel has been run."""
    seen: list[tuple[str, str]] = []
    arrived = False

    def note(frame: FrameType, event: str, _: Any) -> None:
        nonlocal arrived
        code = frame.f_code
        if arrived or not code.co_filename.startswith(PACKAGE):
            return
        if event == "call":
            seen.append((code.co_filename, code.co_qualname))
        elif event == "return" and code.co_qualname == "Kernels.forward":
            arrived = True

    module(x)
    sys.setprofile(note)
    try:
        module(x)
    finally:
        sys.setprofile(None)
    assert arrived
    return seen


@pytest.mark.skipif(native.kernels is None, reason="the native kernels were not built")
def test_a_kaf_is_near_its_kernel() -> None:
    calls = walk(kafnets.KAF(300), torch.randn(100, 300, requires_grad=True))
    assert calls[0][1] == "Activation.forward"
    assert calls[-1][0] == native.__file__
    assert len(calls) <= MOST_CALLS, calls
    assert len({file for file, _ in calls}) <= MOST_FILES, calls
