"""The native kernels of every instruction set, and memory that shows what is not written."""

import math

import pytest
import torch

from kafnets.ops import native
from tests.ops.cases import RUNNABLE


@pytest.fixture(params=RUNNABLE)
def kernels(request: pytest.FixtureRequest) -> native.Kernels:
    module = native.load(request.param).module
    assert module is not None
    return native.Kernels(module)


@pytest.fixture
def poisoned_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fresh memory holds NaN, so that a value that is not written is seen."""
    empty, empty_like = torch.empty, torch.empty_like
    monkeypatch.setattr(torch, "empty", lambda *a, **k: empty(*a, **k).fill_(math.nan))
    monkeypatch.setattr(torch, "empty_like", lambda *a, **k: empty_like(*a, **k).fill_(math.nan))
