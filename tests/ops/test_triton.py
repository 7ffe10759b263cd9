"""The Triton kernels, under Triton's interpreter on the CPU.

Triton reads from the environment on import whether it interprets, so the checks are run in another process.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="the package triton is not installed"
)

REPOSITORY = Path(__file__).parents[2]


def run(*program: str, **environment: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", *program],
        cwd=REPOSITORY,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_interpreted() -> None:
    run("tests.ops.triton_checks", TRITON_INTERPRET="1")


def test_compiler_takes_the_kernels(tmp_path: Path) -> None:
    run("tests.ops.triton_compilation", TRITON_INTERPRET="0", TRITON_CACHE_DIR=str(tmp_path))
