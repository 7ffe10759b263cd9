"""Every framework beside the plain formula in float64, and beside its own PReLU and ELU.

Each is measured in a process of its own: Keras has one backend a process, and TensorFlow is better kept
apart.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import numpy as np

from kafnets.benchmark.adapters import ADAPTERS, Adapter, Module, Torch
from kafnets.comparison.table import Table
from kafnets.nn import KAF, KAF2D
from kafnets.ops import use_backend
from kafnets.provenance import provenance

PARTS = ("forward", "input gradient", "coefficient gradient")
KINDS = ("KAF", "2D-KAF")
TOLERANCE = {"float64": 1e-12, "float32": 4e-6}
"""Of the largest value."""
JAX_OVER_TORCH = 1.2
"""A KAF's time with JAX, which runs the same native kernels, at most."""

ROWS, CHANNELS = 1024, 256
"""What is timed."""


def run(*, quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """Errors and times by framework; one that is not installed says so."""
    result: dict[str, Any] = {"provenance": provenance(), "profile": "quick" if quick else "full"}
    result["shape"] = [ROWS, CHANNELS]
    result["frameworks"] = {}
    for name, (_, variables, packages) in ADAPTERS.items():
        missing = [package for package in packages if find_spec(package) is None]
        if missing:
            result["frameworks"][name] = {"missing": missing}
            continue
        say(name)
        command = [sys.executable, "-m", "kafnets.benchmark.frameworks", name, "quick" if quick else "full"]
        done = subprocess.run(
            command, env=os.environ | variables, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{name} failed: {done.stderr.strip().splitlines()[-1]}")
        result["frameworks"][name] = json.loads(done.stdout.splitlines()[-1])
        result["frameworks"][name]["versions"] = {each: _version(each) for each in packages}
    result["bars"] = bars(result)
    return result


def measure(name: str, *, quick: bool) -> dict[str, Any]:
    """One framework, in this process."""
    import torch

    from kafnets.timing import interleaved

    torch.set_num_threads(1)  # a process of its own: nobody else is affected
    adapter = ADAPTERS[name][0]()
    generator = np.random.default_rng(0)
    errors = {
        kind: {dtype: _errors(adapter, kind, np.dtype(dtype), generator) for dtype in TOLERANCE}
        for kind in KINDS
    }
    for kind, by_type in errors.items():
        for dtype, by_part in by_type.items():
            if not max(by_part.values()) < TOLERANCE[dtype]:
                raise AssertionError(f"{name}, {kind}, {dtype}: {by_part} is more than {TOLERANCE[dtype]}")
    modules = {kind: _module(kind, CHANNELS, seed=0) for kind in KINDS}
    x = generator.normal(size=(ROWS, CHANNELS)).astype(np.float32)
    timings = interleaved(adapter.steps(modules, x), seconds_a_run=1 if quick else 8)
    return {
        "errors": errors,
        "times": {step: timing.as_dict() for step, timing in timings.items()},
    }


def _stay_on_one_core() -> None:
    """Not every framework can be told how many threads to take, but all count the cores that they may use."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def _module(kind: str, channels: int, seed: int) -> Module:
    """Of the paper's size, channels last."""
    import torch

    cls = KAF if kind == "KAF" else KAF2D
    return cls(channels, dim=-1, generator=torch.Generator().manual_seed(seed))


def _errors(adapter: Adapter, kind: str, dtype: Any, generator: np.random.Generator) -> dict[str, float]:
    """The largest ones, over the largest value, on 500 rows of activations that also leave the dictionary."""
    module = _module(kind, 6 if kind == "KAF" else 12, seed=1)
    x = (2 * generator.normal(size=(500, module.num_features))).astype(dtype)
    upstream = generator.normal(size=(500, 6)).astype(dtype)
    found = adapter.gradients(module, x, upstream)
    with use_backend("composite"):
        exact = Torch().gradients(module, x.astype(np.float64), upstream.astype(np.float64))
    return {
        part: float(np.abs(ours.astype(np.float64) - right).max() / np.abs(right).max())
        for part, ours, right in zip(PARTS, found[:3], exact[:3], strict=True)
    }


def bars(result: dict[str, Any]) -> list[dict[str, Any]]:
    """What was asked for: everything within tolerance, and native kernels as fast through JAX."""
    worst = {
        dtype: max(
            error
            for each in result["frameworks"].values()
            for by_type in each.get("errors", {}).values()
            for error in by_type[dtype].values()
        )
        for dtype in TOLERANCE
    }
    found = [
        {
            "what": f"largest error in {dtype}, over the largest value",
            "measured": worst[dtype],
            "bar": f"< {limit:g}",
            "met": worst[dtype] < limit,
        }
        for dtype, limit in TOLERANCE.items()
    ]
    times = {
        name: each["times"]["KAF"]["median"] for name, each in result["frameworks"].items() if "times" in each
    }
    if {"JAX", "torch"} <= set(times):
        ratio, bound = times["JAX"] / times["torch"], JAX_OVER_TORCH
        about = {"what": "KAF with JAX / with torch", "measured": ratio, "bar": f"≤ {bound:g}"}
        found.append(about | {"met": ratio <= bound})
    return found


def tables(result: dict[str, Any]) -> list[Table]:
    """Errors, then times."""
    errors, times = [], []
    rows, columns = result["shape"]
    ratios = [(kind, own) for kind in KINDS for own in ("PReLU", "ELU")]
    parts = [(part, dtype) for dtype in TOLERANCE for part in PARTS]
    for name, found in result["frameworks"].items():
        if "missing" in found:
            continue
        for kind, by_type in found["errors"].items():
            errors.append((name, kind, *(f"{by_type[dtype][part]:.0e}" for part, dtype in parts)))
        median = {step: timing["median"] for step, timing in found["times"].items()}
        times.append((name, *(f"{median[kind] / median[own]:.2f}" for kind, own in ratios)))
    missing = [
        f"{name} needs {', '.join(found['missing'])}"
        for name, found in result["frameworks"].items()
        if "missing" in found
    ]
    return [
        Table(
            "largest errors against the plain formula in float64, over the largest value",
            ("framework", "", *(f"{part}, {dtype}" for part, dtype in parts)),
            tuple(errors),
            "; ".join(missing),
        ),
        Table(
            f"forward + backward on {rows:,} x {columns}, one thread, over the framework's own",
            ("framework", *(f"{kind} / {own}" for kind, own in ratios)),
            tuple(times),
        ),
    ]


def _version(package: str) -> str:
    for name in (package, f"{package}-cpu"):  # TensorFlow's build without CUDA has another name
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return "unknown"


if __name__ == "__main__":
    _stay_on_one_core()
    # TensorFlow must not come before Triton, so the package that sees to it comes first.
    print(json.dumps(measure(sys.argv[1], quick=sys.argv[2] == "quick")))
