"""The native kernels in many threads: their own, torch's, Python's, and those of a forked child."""

import multiprocessing
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor

from kafnets.ops import native
from tests.ops.cases import GAMMA, RUNNABLE, check, gaussian

pytestmark = [
    pytest.mark.skipif(not RUNNABLE, reason="the native kernels were not built"),
    pytest.mark.usefixtures("poisoned_memory"),
]


@pytest.fixture(params=["torch's threads", "own threads"])
def many_threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    modules = [module for name in RUNNABLE if (module := native.load(name).module) is not None]
    before = torch.get_num_threads()
    monkeypatch.setattr(native, "TERMS_PER_THREAD", 1)
    torch.set_num_threads(3)
    for module in modules:
        module.use_openmp(request.param == "torch's threads")
    yield
    torch.set_num_threads(before)
    for module in modules:
        module.use_openmp(True)


@pytest.mark.usefixtures("many_threads")
@pytest.mark.parametrize("shape", [(1, 40), (2, 40), (50, 40), (7, 3, 20), (7, 1, 20), (1, 1, 100)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_threads(kernels: native.Kernels, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    check(kernels, torch.randn(shape, dtype=dtype), torch.randn(shape[1], 20, dtype=dtype), GAMMA)
    pairs = torch.randn(shape[0], 2 * shape[1], *shape[2:], dtype=dtype)
    check(kernels, pairs, torch.randn(shape[1], 7, 7, dtype=dtype), 0.8)


@pytest.mark.usefixtures("many_threads")
def test_several_python_threads_at_once(kernels: native.Kernels) -> None:
    s, alpha = torch.randn(200, 64), torch.randn(64, 20)
    expected = kernels.forward(gaussian(20, GAMMA), s, alpha, 1)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: kernels.forward(gaussian(20, GAMMA), s, alpha, 1), range(200)))
    assert all(torch.equal(result, expected) for result in results)


def test_python_goes_on_meanwhile(kernels: native.Kernels) -> None:
    s, alpha = torch.randn(3000, 1000), torch.randn(1000, 20)
    started, finished = threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        for _ in range(5):
            kernels.forward(gaussian(20, GAMMA), s, alpha, 1)
        finished.set()

    thread = threading.Thread(target=work)
    thread.start()
    started.wait()
    steps = 0
    while not finished.is_set():
        steps += 1
    thread.join()
    assert steps > 1000  # a held lock would let through about one per call


def _in_child(queue: Any, s: Tensor, alpha: Tensor, name: str) -> None:
    torch.set_num_threads(3)
    module = native.load(name).module
    assert module is not None
    queue.put(native.Kernels(module).forward(gaussian(20, GAMMA), s, alpha, 1).sum().item())


@pytest.mark.usefixtures("many_threads")
@pytest.mark.parametrize("name", RUNNABLE)
def test_a_forked_child_has_threads_of_its_own(name: str) -> None:
    module = native.load(name).module
    assert module is not None
    s, alpha = torch.randn(200, 64), torch.randn(64, 20)
    expected = native.Kernels(module).forward(gaussian(20, GAMMA), s, alpha, 1).sum().item()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(queue, s, alpha, name))
    child.start()
    result = queue.get(timeout=60)
    child.join(timeout=60)
    assert child.exitcode == 0
    assert result == pytest.approx(expected, rel=1e-6)
